//! Tensors on the host or on the engine's GPU, through DLPack.
//!
//! A capsule has no way to prove what it says. If its fields are not true, or if its deleter does
//! something else than to free the tensor, the program has undefined behaviour, with this package
//! as with each consumer. This module checks all that can be seen: the name and the version, the
//! device (twice), the type, the shape, the strides, and pointers that are null.
//!
//! Source of the layouts: DLPack 1.1, `dlpack.h`, and "Python Specification for DLPack".
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyCapsuleMethods, PyDict, PyInt};

use super::capsule::take_alone;
use super::in_use::described;
use super::view::{Access, Shape, View};
use crate::calls;
use crate::errors::{caused_by, type_error, value_error};
use crate::gpu::Gpu;
use crate::part::Place;

/// The host, `kDLCPU`.
const HOST: i32 = 1;
/// An NVIDIA GPU, `kDLCUDA`.
const CUDA: i32 = 2;
/// Memory of the host that CUDA has pinned, `kDLCUDAHost`.
const PINNED_HOST: i32 = 3;
/// Unsigned integers, `kDLUInt`.
const UNSIGNED: u8 = 1;
/// The bit of `flags` for tensors that must not be written.
const READ_ONLY: u64 = 1;
/// The bit of `flags` for tensors that the producer has copied for this exchange.
const IS_COPIED: u64 = 2;
/// The major version of the layout of `Versioned`.
const MAJOR: u32 = 1;

#[repr(C)]
#[derive(Copy, Clone)]
struct Tensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    dimensions: i32,
    type_code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

/// `DLManagedTensor`, the layout before DLPack 1.0.
#[repr(C)]
struct Managed {
    tensor: Tensor,
    manager: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

/// `DLManagedTensorVersioned`. A structure of another major version has the same first four fields.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    manager: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Self)>,
    flags: u64,
    tensor: Tensor,
}

/// The function that frees a structure.
type Deleter<T> = Option<unsafe extern "C" fn(*mut T)>;

/// A structure that was taken out of a capsule. Its deleter frees it.
struct Taken<T> {
    managed: NonNull<T>,
    deleter: Deleter<T>,
}

impl<T> Taken<T> {
    /// Takes the structure out of the capsule of the argument `name`, which has the first of two
    /// names, and gives it the second one, so that nobody else takes or frees the structure.
    ///
    /// `deleter` returns the deleter of the structure, or an error, which leaves it in the capsule.
    ///
    /// # Errors
    /// `ValueError` if the capsule has another name, and the error of `deleter`.
    ///
    /// # Safety
    /// A capsule with the first name holds a `T`, until its name is changed. `deleter` runs no code
    /// of Python's.
    unsafe fn new(
        name: &str,
        capsule: &Bound<'_, PyCapsule>,
        [unused, used]: [&'static CStr; 2],
        deleter: impl FnOnce(NonNull<T>) -> PyResult<Deleter<T>>,
    ) -> PyResult<Self> {
        take_alone(capsule.py(), || {
            // This call raises no exception. Exceptions of other functions take memory, which can
            // start the garbage collector and so run code of Python.
            if !capsule.is_valid_checked(Some(unused)) {
                return Err(value_error(format!(
                    "the PyCapsule of {name} is no DLPack tensor, or has been used"
                )));
            }
            // As nobody has taken the structure, and no other call of this module takes it now, its
            // producer has not freed it.
            let managed = capsule.pointer_checked(Some(unused))?.cast::<T>();
            let deleter = deleter(managed)?;
            // SAFETY: the pointer is that of a live capsule, this thread is attached, and the name
            // lives as long as the program.
            match unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } {
                0 => Ok(Self { managed, deleter }),
                _ => Err(PyErr::fetch(capsule.py())),
            }
        })
    }
}

impl<T> Drop for Taken<T> {
    fn drop(&mut self) {
        if let Some(deleter) = self.deleter {
            // SAFETY: this is the deleter of the structure, which nobody else frees, because its
            // capsule says that it is used.
            unsafe { calls::run1(deleter, self.managed.as_ptr()) }
        }
    }
}

/// Returns the place of a device, which the argument `name` is on, for a call that takes tensors on
/// the host and maybe on a GPU.
///
/// # Errors
/// `ValueError` if the call takes no tensors there.
fn place_of(name: &str, gpu: Option<&Gpu>, device: i32, number: i32) -> PyResult<Place> {
    match (device, gpu) {
        (HOST | PINNED_HOST, _) => Ok(Place::Host),
        (CUDA, Some(gpu)) if u32::try_from(number) == Ok(gpu.number()) => Ok(gpu.place()),
        (_, gpu) => {
            let and_gpu = gpu.map_or_else(String::new, |gpu| {
                format!(" and on the DLPack device ({CUDA}, {})", gpu.number())
            });
            Err(value_error(format!(
                "{name} is on the DLPack device ({device}, {number}), and this call takes arrays \
                 on the host{and_gpu}"
            )))
        }
    }
}

/// Calls `__dlpack__` for a capsule of a known version, or, if the producer knows none, without
/// one. For a tensor on the GPU, the stream of the engine waits for what has been issued to its
/// producer's stream. Producers take the current stream of the current device, and some refuse
/// tensors of another one, so the GPU is the current device meanwhile.
///
/// # Errors
/// `ValueError` with the producer's exception as its cause, or `DeviceError`.
fn capsule_of<'py>(
    export: &Bound<'py, PyAny>,
    name: &str,
    place: Place,
    gpu: Option<&Gpu>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let options = PyDict::new(export.py());
    match (place, gpu) {
        (Place::Gpu(_), Some(gpu)) => {
            options.set_item("stream", gpu.stream())?;
            gpu.within(|| exported(export, name, &options))
        }
        _ => exported(export, name, &options),
    }
}

/// Calls `__dlpack__` with these options and a version, or without the version.
fn exported<'py>(
    export: &Bound<'py, PyAny>,
    name: &str,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let py = export.py();
    let versioned = options.copy()?;
    versioned.set_item("max_version", (MAJOR, 1))?;
    let capsule = match calls::call(export, (), Some(&versioned)) {
        // Producers before DLPack 1.0 do not know the argument.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            calls::call(export, (), Some(options))
        }
        capsule => capsule,
    };
    let capsule = capsule.map_err(|error| {
        let text = calls::text_of(py, &error);
        let named = value_error(format!("{name} cannot be exported by DLPack: {text}"));
        caused_by(py, named, error)
    })?;
    Ok(capsule.cast_into::<PyCapsule>()?)
}

/// Returns whether an array on a GPU says by the CUDA array interface that its memory begins at
/// this address and may be written.
fn says_writable(object: &Bound<'_, PyAny>, address: usize) -> bool {
    let said = || {
        let all = calls::attribute(object, "__cuda_array_interface__")?;
        let data = calls::method(&all, "__getitem__", ("data",))?;
        let (start, is_read_only): (Bound<'_, PyInt>, Bound<'_, PyBool>) = data.extract()?;
        PyResult::Ok((start.extract::<usize>()?, is_read_only.is_true()))
    };
    said().is_ok_and(|said| said == (address, false))
}

/// Returns the memory of the argument `name`, or `None` if it is no DLPack tensor.
///
/// # Errors
/// `TypeError` if its elements are not unsigned bytes. `ValueError` if it is not contiguous or
/// neither on the host nor on `gpu`.
pub(super) fn view<'py>(
    object: &Bound<'py, PyAny>,
    name: &str,
    gpu: Option<&Gpu>,
) -> PyResult<Option<View<'py>>> {
    let export = calls::attribute_if_any(object, "__dlpack__")?;
    let (Some(export), Some(device)) =
        (export, calls::attribute_if_any(object, "__dlpack_device__")?)
    else {
        return Ok(None);
    };
    let (device, number): (Bound<'py, PyAny>, Bound<'py, PyAny>) =
        calls::call(&device, (), None)?.extract()?;
    let number_of = |value| calls::integer(value)?.extract::<i32>();
    let (device, number) = (number_of(&device)?, number_of(&number)?);
    let place = place_of(name, gpu, device, number)?;
    let py = object.py();
    let capsule = capsule_of(&export, name, place, gpu)?;
    if !capsule.is_valid_checked(Some(c"dltensor_versioned")) {
        let names = [c"dltensor", c"used_dltensor"];
        // SAFETY: the structure is there when this is called.
        let deleter = |managed: NonNull<Managed>| Ok(unsafe { managed.as_ref().deleter });
        // SAFETY: a capsule with this name holds this structure, until its name is changed.
        let taken = unsafe { Taken::new(name, &capsule, names, deleter)? };
        // SAFETY: `taken` holds the structure that the tensor is copied from.
        let tensor = unsafe { taken.managed.as_ref().tensor };
        let start = tensor.data.expose_provenance().wrapping_add(tensor.byte_offset as usize);
        let access = if place.gpu().is_some() && says_writable(object, start) {
            Access::Write
        } else {
            Access::Read(match place {
                Place::Host => {
                    "comes with a version of DLPack before 1.0, which does not say whether a \
                     tensor may be written; pass a numpy array over its memory"
                }
                Place::Gpu(_) => {
                    "comes with a version of DLPack before 1.0, which does not say whether a \
                     tensor may be written, and its __cuda_array_interface__ does not say so \
                     either; pass an array of CuPy over its memory"
                }
            })
        };
        // SAFETY: the tensor is that of `taken`, and the producer says that its fields are true.
        return unsafe { of_tensor(py, (name, place), gpu, tensor, access, taken) }.map(Some);
    }
    let deleter = |managed: NonNull<Versioned>| {
        // SAFETY: the structure is there when this is called, and these two fields are the first
        // ones in every version.
        let (major, minor) = unsafe { ((*managed.as_ptr()).major, (*managed.as_ptr()).minor) };
        if major != MAJOR {
            // The capsule frees what it holds.
            return Err(value_error(format!(
                "{name} has version {major}.{minor} of DLPack, not {MAJOR}"
            )));
        }
        // SAFETY: the structure has the layout of this version.
        Ok(unsafe { managed.as_ref().deleter })
    };
    let names = [c"dltensor_versioned", c"used_dltensor_versioned"];
    // SAFETY: a capsule with this name holds this structure, until its name is changed. Only an
    // error that has been returned becomes an exception of Python's.
    let taken = unsafe { Taken::new(name, &capsule, names, deleter)? };
    // SAFETY: `taken` holds the structure that the flags and the tensor are copied from, which has
    // the layout of this version.
    let Versioned { flags, tensor, .. } = *unsafe { taken.managed.as_ref() };
    let access = if flags & READ_ONLY != 0 {
        Access::READ_ONLY
    } else if flags & IS_COPIED != 0 {
        Access::Read("is a tensor that its library copies for each exchange, so results are lost")
    } else {
        Access::Write
    };
    // SAFETY: the tensor is that of `taken`, and the producer says that its fields are true.
    unsafe { of_tensor(py, (name, place), gpu, tensor, access, taken) }.map(Some)
}

/// Returns the view of a tensor. The tensor is a copy, because `taken` frees the original if this
/// fails.
///
/// # Errors
/// `TypeError` if its elements are not unsigned bytes. `ValueError` if it is not contiguous, not at
/// its place, or not complete.
///
/// # Safety
/// The fields of the tensor are true, and its elements, lengths and strides stay where they are as
/// long as `taken` is not dropped. Elements in the memory of a GPU are mapped at their addresses,
/// and accessible in the GPU's primary context, as those of libraries on the CUDA runtime are.
unsafe fn of_tensor<'py, T: 'py>(
    py: Python<'py>,
    (name, place): (&str, Place),
    gpu: Option<&Gpu>,
    tensor: Tensor,
    access: Access,
    taken: Taken<T>,
) -> PyResult<View<'py>> {
    if place_of(name, gpu, tensor.device_type, tensor.device_id)?.gpu() != place.gpu() {
        return Err(value_error(format!("{name} is not on the device that it names")));
    }
    if (tensor.type_code, tensor.bits, tensor.lanes) != (UNSIGNED, 8, 1) {
        return Err(type_error(format!("{name} has elements of another type than uint8")));
    }
    let dimensions = tensor.dimensions;
    let Some(count) = usize::try_from(dimensions).ok().filter(|count| *count <= 2) else {
        return Err(value_error(format!(
            "{name} has {dimensions} dimensions, and the shape of rows is [count, size]"
        )));
    };
    if count > 0 && tensor.shape.is_null() {
        return Err(value_error(format!("{name} is a tensor without its shape")));
    }
    // SAFETY: the tensor has one length for each dimension, which stay as long as `taken` is not
    // dropped.
    let shape = unsafe { numbers(py, name, tensor.shape, count)? };
    let shape = shape.iter().map(|&length| usize::try_from(length));
    let shape: Vec<usize> = shape.collect::<Result<_, _>>().map_err(|_| {
        value_error(format!("{name} is a tensor with a negative length in its shape"))
    })?;
    // Without strides, a tensor is contiguous.
    let strides = match tensor.strides.is_null() {
        true => Vec::new(),
        // SAFETY: strides that are not null are one for each dimension, which stay as long as
        // `taken` is not dropped.
        false => unsafe { numbers(py, name, tensor.strides, count)? },
    };
    let mut strides = strides.iter().rev();
    let mut length = 1usize;
    let mut is_contiguous = true;
    for &of_dimension in shape.iter().rev() {
        let stride = strides.next().map_or(Ok(length), |&stride| usize::try_from(stride));
        is_contiguous &= of_dimension <= 1 || stride == Ok(length);
        length = length
            .checked_mul(of_dimension)
            .ok_or_else(|| value_error(format!("{name} is too large")))?;
    }
    if !is_contiguous && length > 0 {
        return Err(value_error(format!("{name} is not contiguous")));
    }
    if tensor.data.is_null() && length > 0 {
        return Err(value_error(format!("{name} is a tensor without data")));
    }
    let address = tensor.data.cast::<u8>().wrapping_add(tensor.byte_offset as usize);
    let shape = Shape::Dimensions(shape);
    // SAFETY: a contiguous tensor has its elements in one range of addresses from
    // `data + byte_offset` on, as long as `taken` holds it. They may be written unless `access`
    // forbids it. The caller promises that the primary context of a GPU can access them.
    Ok(unsafe { View::new((address, length), place, shape, access, taken) })
}

/// Returns a copy of `count` numbers of a tensor.
///
/// # Safety
/// There are so many numbers at this address during the call.
unsafe fn numbers(
    py: Python<'_>,
    name: &str,
    values: *const i64,
    count: usize,
) -> PyResult<Vec<i64>> {
    // SAFETY: the caller promises that so many numbers are at this address during the call.
    let bytes = unsafe { described(py, name, values.cast(), 8 * count)? };
    Ok(bytes.as_chunks::<8>().0.iter().map(|&number| i64::from_ne_bytes(number)).collect())
}
