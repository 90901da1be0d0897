//! The kinds of arrays, and new arrays of each kind for results.
#![allow(unsafe_code)]

use std::ops::Range;

use pyo3::exceptions::{PyImportError, PyMemoryError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};
use pyo3::{ffi, intern};
use zeroize::Zeroize;

use super::view::{Access, Shape, View};
use crate::errors::{type_error, type_name, value_error};

/// The kind of an array, which decides about the kind of the results.
pub(crate) enum Kind<'py> {
    /// `bytes`, rows one after the other.
    Bytes,
    /// `bytearray`, rows one after the other.
    ByteArray,
    /// `memoryview`, with rows as a dimension or without.
    MemoryView { has_rows: bool },
    /// `numpy.ndarray` of uint8 with the shape (count, size).
    Numpy,
    /// `pyarrow.FixedSizeBinaryArray`.
    Arrow,
    /// A tensor on the host, made from a numpy array by this function.
    Tensor(Bound<'py, PyAny>),
}

/// An array for results: the memory, and the object that the caller gets.
pub(crate) struct Output<'py> {
    view: View<'py>,
    finish: Finish<'py>,
    row_bytes: usize,
    /// The rows before this one may have results that the caller has not got.
    open_rows: usize,
    /// The process that writes the results. A fork of it can share their memory.
    process: u32,
}

/// How the object that the caller gets comes from the object that has the memory.
enum Finish<'py> {
    /// It is the same object.
    Same(Bound<'py, PyAny>),
    /// It is a memoryview of the rows.
    Rows(Bound<'py, PyAny>, (usize, usize)),
    /// It is an Arrow array over the buffer.
    Arrow(Bound<'py, PyAny>, (usize, usize)),
    /// A function makes it from a numpy array.
    Tensor(Bound<'py, PyAny>, Bound<'py, PyAny>),
}

/// Returns whether an object is a numpy array. Does not import numpy.
pub(super) fn is_numpy(object: &Bound<'_, PyAny>) -> bool {
    static NDARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = object.py();
    let find = || PyResult::Ok(loaded(py, "numpy")?.getattr("ndarray")?.unbind());
    let is_one = |ndarray: &Py<PyAny>| object.is_instance(ndarray.bind(py));
    NDARRAY.get_or_try_init(py, find).and_then(is_one).unwrap_or(false)
}

/// Returns a module that the program has imported.
fn loaded<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("sys")?.getattr("modules")?.get_item(name)
}

/// Imports a package that this one needs for some kinds of arrays only.
fn import<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|error| {
        let message = format!("arrays of this kind need the package {name}: {error}");
        PyImportError::new_err(message)
    })
}

impl<'py> Kind<'py> {
    /// Returns the kind with this name.
    ///
    /// # Errors
    /// `TypeError` if it is not a text, `ValueError` if there is no such kind.
    pub(crate) fn named(name: &Bound<'py, PyAny>) -> PyResult<Self> {
        let Ok(text) = name.cast::<PyString>() else {
            return Err(type_error(format!("kind is a {}, not a str", type_name(name))));
        };
        Ok(match &*text.to_string() {
            "numpy" => Self::Numpy,
            "arrow" => Self::Arrow,
            "bytes" => Self::Bytes,
            "bytearray" => Self::ByteArray,
            "memoryview" => Self::MemoryView { has_rows: true },
            other => {
                return Err(value_error(format!(
                    "kind is {other:?}, not one of 'numpy', 'arrow', 'bytes', 'bytearray', \
                     'memoryview'"
                )));
            }
        })
    }

    /// Returns the kind of an array.
    pub(crate) fn of(object: &Bound<'py, PyAny>, view: &View<'py>) -> PyResult<Self> {
        Ok(if object.is_instance_of::<PyBytes>() {
            Self::Bytes
        } else if object.is_instance_of::<PyByteArray>() {
            Self::ByteArray
        } else if object.is_instance_of::<PyMemoryView>() {
            Self::MemoryView { has_rows: view.has_rows() }
        } else if is_numpy(object) {
            Self::Numpy
        } else if object.hasattr(intern!(object.py(), "__arrow_c_array__"))? {
            Self::Arrow
        } else if object.hasattr(intern!(object.py(), "__dlpack__"))? {
            maker_of_tensors(object)?.map_or(Self::Numpy, Self::Tensor)
        } else {
            Self::Bytes
        })
    }

    /// Makes an array for `count` rows of results.
    ///
    /// # Errors
    /// `ValueError` or `MemoryError` if the array would be too large, `ImportError` if a package is
    /// missing.
    pub(crate) fn allocate(
        &self,
        py: Python<'py>,
        count: usize,
        row_bytes: usize,
    ) -> PyResult<Output<'py>> {
        let shape = (count, row_bytes);
        let length = count
            .checked_mul(row_bytes)
            .filter(|&length| isize::try_from(length).is_ok())
            .ok_or_else(|| PyMemoryError::new_err(format!("no memory for {count} rows")))?;
        let (content, finish) = match self {
            Self::Bytes => {
                let bytes = PyBytes::new_with(py, length, |_| Ok(()))?.into_any();
                // SAFETY: the object is `bytes`.
                let address = unsafe { ffi::PyBytes_AsString(bytes.as_ptr()) }.cast();
                let owner = bytes.clone();
                // SAFETY: the object owns its bytes. They may be written, because nobody else has
                // seen the new object yet.
                let view = unsafe { View::new(address, length, Shape::Flat, Access::Write, owner) };
                return Ok(Output::new(view, Finish::Same(bytes), row_bytes));
            }
            Self::ByteArray | Self::MemoryView { .. } => {
                let array = PyByteArray::new_with(py, length, |_| Ok(()))?.into_any();
                let finish = match self {
                    Self::MemoryView { has_rows: true } => Finish::Rows(array.clone(), shape),
                    Self::MemoryView { .. } => Finish::Same(PyMemoryView::from(&array)?.into_any()),
                    _ => Finish::Same(array.clone()),
                };
                (array, finish)
            }
            Self::Numpy | Self::Tensor(_) => {
                let array = import(py, "numpy")?.call_method1("empty", (shape, "uint8"))?;
                let finish = match self {
                    Self::Tensor(from) => Finish::Tensor(from.clone(), array.clone()),
                    _ => Finish::Same(array.clone()),
                };
                (array, finish)
            }
            Self::Arrow => {
                let buffer = import(py, "pyarrow")?.call_method1("allocate_buffer", (length,))?;
                let address: usize = buffer.getattr("address")?.extract()?;
                let address = address as *mut u8;
                let owner = buffer.clone();
                // SAFETY: pyarrow has allocated so many bytes at this address. The buffer owns
                // them, and no other object refers to it yet.
                let view = unsafe { View::new(address, length, Shape::Flat, Access::Write, owner) };
                return Ok(Output::new(view, Finish::Arrow(buffer, shape), row_bytes));
            }
        };
        Ok(Output::new(super::view(&content, "a new array")?, finish, row_bytes))
    }
}

/// Returns the function that makes a tensor of the kind of `object` from a numpy array, or `None`
/// if its package has none.
fn maker_of_tensors<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    let namespace = match object.getattr_opt("__array_namespace__")? {
        Some(namespace) => namespace.call0()?,
        None => {
            let module: String = object.get_type().getattr("__module__")?.extract()?;
            let package = module.split('.').next().unwrap_or_default();
            loaded(py, package)?
        }
    };
    namespace.getattr_opt("from_dlpack")
}

impl<'py> Output<'py> {
    fn new(view: View<'py>, finish: Finish<'py>, row_bytes: usize) -> Self {
        Self { view, finish, row_bytes, open_rows: 0, process: std::process::id() }
    }

    /// Returns an array of the caller's for `count` rows, which is the argument `name`, as the
    /// result itself.
    ///
    /// # Errors
    /// `TypeError` if it is no array of bytes. `ValueError` if it is read-only or has another
    /// shape.
    pub(crate) fn of_caller(
        object: &Bound<'py, PyAny>,
        name: &str,
        count: usize,
        row_bytes: usize,
    ) -> PyResult<Self> {
        let view = super::view(object, name)?;
        view.check_writable(name)?;
        let rows = view.rows(name, row_bytes)?;
        if rows != count {
            return Err(value_error(format!("{name} has {rows} rows, the batch has {count}")));
        }
        Ok(Self::new(view, Finish::Same(object.clone()), row_bytes))
    }

    /// Returns the memory.
    pub(crate) fn view(&self) -> &View<'py> {
        &self.view
    }

    /// Returns rows for writing.
    pub(crate) fn rows_mut(&mut self, rows: Range<usize>) -> &mut [u8] {
        self.open_rows = self.open_rows.max(rows.end);
        &mut self.view.bytes_mut()[rows.start * self.row_bytes..rows.end * self.row_bytes]
    }

    /// Returns the object that the caller gets.
    ///
    /// # Errors
    /// The exception of the package of the array.
    pub(crate) fn object(&self) -> PyResult<Bound<'py, PyAny>> {
        match &self.finish {
            Finish::Same(object) => Ok(object.clone()),
            Finish::Rows(array, (count, row_bytes)) => {
                let view = PyMemoryView::from(array)?.into_any();
                // A view of no rows has no second dimension: `cast` refuses it.
                match count {
                    0 => Ok(view),
                    _ => view.call_method1("cast", ("B", (count, row_bytes))),
                }
            }
            Finish::Arrow(buffer, (count, row_bytes)) => {
                let py = buffer.py();
                let pyarrow = import(py, "pyarrow")?;
                let of_rows = pyarrow.call_method1("binary", (row_bytes,))?;
                let buffers = [py.None(), buffer.clone().unbind()];
                let array = pyarrow.getattr("FixedSizeBinaryArray")?;
                array.call_method1("from_buffers", (of_rows, count, buffers))
            }
            Finish::Tensor(from, array) => from.call1((array,)),
        }
    }

    /// Leaves the results to the caller.
    pub(crate) fn hand_over(&mut self) {
        self.open_rows = 0;
    }

    /// Wipes the results that were written and that the caller does not get. Leaves them alone in a
    /// fork, where wiping could zero the results of the process that goes on with the batch.
    pub(crate) fn wipe(&mut self) {
        if self.open_rows > 0 && self.process == std::process::id() {
            self.view.bytes_mut()[..self.open_rows * self.row_bytes].zeroize();
        }
    }
}
