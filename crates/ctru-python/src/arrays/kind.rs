//! The kinds of arrays, and new arrays of each kind for results.
#![allow(unsafe_code)]

use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyByteArray, PyBytes, PyMemoryView, PyString};

use super::arrow;
use super::output::{Finish, Output};
use super::packages::{import, is_numpy, loaded, package_of};
use super::view::{Access, Shape, View};
use crate::calls;
use crate::errors::{type_error, type_name, value_error};
use crate::gpu::Gpu;
use crate::part::Place;

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
    /// A tensor on the host, which this function makes from a numpy array.
    Tensor(Bound<'py, PyAny>),
    /// `cupy.ndarray` on the engine's GPU.
    Cupy,
    /// `torch.Tensor` on the engine's GPU.
    Torch,
    /// An array of another package on the engine's GPU.
    OnGpu,
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
            "cupy" => Self::Cupy,
            "torch" => Self::Torch,
            other => {
                return Err(value_error(format!(
                    "kind is {other:?}, not one of 'numpy', 'arrow', 'bytes', 'bytearray', \
                     'memoryview', 'cupy', 'torch'"
                )));
            }
        })
    }

    /// Returns the kind of an array.
    pub(crate) fn of(object: &Bound<'py, PyAny>, view: &View<'py>) -> PyResult<Self> {
        Ok(if let Place::Gpu(_) = view.place() {
            match package_of(object)?.as_str() {
                "cupy" => Self::Cupy,
                "torch" => Self::Torch,
                _ => Self::OnGpu,
            }
        } else if object.is_instance_of::<PyBytes>() {
            Self::Bytes
        } else if object.is_instance_of::<PyByteArray>() {
            Self::ByteArray
        } else if object.is_instance_of::<PyMemoryView>() {
            Self::MemoryView { has_rows: view.has_rows() }
        } else if is_numpy(object) {
            Self::Numpy
        } else if arrow::is_one(object)? {
            Self::Arrow
        } else if calls::attribute_if_any(object, "__dlpack__")?.is_some() {
            maker_of_tensors(object)?.map_or(Self::Numpy, Self::Tensor)
        } else {
            Self::Bytes
        })
    }

    /// Makes an array for `count` rows of results of an engine, which computes on `gpu` if there is
    /// one.
    ///
    /// # Errors
    /// `ValueError` if the engine has no arrays of this kind, `MemoryError` if the array would be
    /// too large, `ImportError` if a package is missing, or the exception of this package.
    pub(crate) fn allocate(
        &self,
        py: Python<'py>,
        gpu: Option<&Gpu>,
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
                let view = unsafe { of_new(address, length, owner) };
                return Ok(Output::new(view, Finish::Same(bytes), row_bytes));
            }
            Self::ByteArray | Self::MemoryView { .. } => {
                // Without memory, `PyByteArray_FromStringAndSize` of Python 3.11 writes a false
                // SystemError to standard error.
                let array = calls::call(py.get_type::<PyByteArray>().as_any(), (length,), None)?;
                let finish = match self {
                    Self::MemoryView { has_rows: true } => Finish::Rows(array.clone(), shape),
                    Self::MemoryView { .. } => Finish::Same(PyMemoryView::from(&array)?.into_any()),
                    _ => Finish::Same(array.clone()),
                };
                (array, finish)
            }
            Self::Numpy | Self::Tensor(_) => {
                let array = calls::method(&import(py, "numpy")?, "empty", (shape, "uint8"))?;
                let finish = match self {
                    Self::Tensor(from) => Finish::Tensor(from.clone(), array.clone()),
                    _ => Finish::Same(array.clone()),
                };
                (array, finish)
            }
            Self::Cupy | Self::Torch | Self::OnGpu => {
                let Some(gpu) = gpu else {
                    let message = "arrays of the kinds 'cupy' and 'torch' need an engine on a GPU";
                    return Err(value_error(message));
                };
                let number = gpu.number();
                // The GPU is the current device, as when the array is exported. So its memory
                // comes from the stream on which the engine waits.
                let array = match self {
                    Self::Cupy => gpu.within(|| cupy_array(py, number, shape))?,
                    Self::Torch => gpu.within(|| torch_tensor(py, number, shape))?,
                    _ => {
                        let message = "results on a GPU are arrays of CuPy or PyTorch; pass out \
                                       for those of other packages";
                        return Err(value_error(message));
                    }
                };
                (array.clone(), Finish::Same(array))
            }
            Self::Arrow => {
                let buffer = calls::method(&import(py, "pyarrow")?, "allocate_buffer", (length,))?;
                let address: usize = calls::attribute(&buffer, "address")?.extract()?;
                let address = address as *mut u8;
                let owner = buffer.clone();
                // SAFETY: pyarrow has allocated so many bytes at this address. The buffer owns
                // them, and no other object refers to it yet.
                let view = unsafe { of_new(address, length, owner) };
                return Ok(Output::new(view, Finish::Arrow(buffer, shape), row_bytes));
            }
        };
        Ok(Output::new(super::view(&content, "a new array", gpu, None)?, finish, row_bytes))
    }
}

/// Returns the view of an array on the host that nobody else has seen yet.
///
/// # Safety
/// The bytes are readable and writable as long as `owner` is not dropped.
unsafe fn of_new<'py>(address: *mut u8, length: usize, owner: Bound<'py, PyAny>) -> View<'py> {
    let bytes = (address, length);
    // SAFETY: the caller promises the same.
    unsafe { View::new(bytes, Place::Host, Shape::Flat, Access::Write, owner) }
}

/// Makes an array of uint8 on a GPU.
fn cupy_array<'py>(
    py: Python<'py>,
    number: u32,
    shape: (usize, usize),
) -> PyResult<Bound<'py, PyAny>> {
    let cupy = import(py, "cupy")?;
    let device = calls::method(&calls::attribute(&cupy, "cuda")?, "Device", (number,))?;
    calls::method(&device, "__enter__", ())?;
    let array = calls::method(&cupy, "empty", (shape, "uint8"));
    calls::method(&device, "__exit__", (py.None(), py.None(), py.None()))?;
    array
}

/// Makes a tensor of uint8 on a GPU.
fn torch_tensor<'py>(
    py: Python<'py>,
    number: u32,
    shape: (usize, usize),
) -> PyResult<Bound<'py, PyAny>> {
    let torch = import(py, "torch")?;
    let options = [
        ("dtype", calls::attribute(&torch, "uint8")?),
        ("device", PyString::new(py, &format!("cuda:{number}")).into_any()),
    ];
    calls::call(&calls::attribute(&torch, "empty")?, (shape,), Some(&options.into_py_dict(py)?))
}

/// Returns the function that makes a tensor of the kind of `object` from a numpy array, or `None`
/// if its package has none.
fn maker_of_tensors<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    let namespace = match calls::attribute_if_any(object, "__array_namespace__")? {
        Some(namespace) => calls::call(&namespace, (), None)?,
        None => match loaded(py, &package_of(object)?) {
            Ok(package) => package,
            // A type can name a package that no program has imported under this name.
            Err(_) => return Ok(None),
        },
    };
    calls::attribute_if_any(&namespace, "from_dlpack")
}
