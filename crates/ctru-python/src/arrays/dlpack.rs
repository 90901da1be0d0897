//! Tensors on the host, through DLPack.
//!
//! Source of the layouts: DLPack 1.1, `dlpack.h`, and "Python Specification for DLPack".
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::slice;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyCapsule, PyCapsuleMethods};

use super::view::{Access, Shape, View};
use crate::errors::{type_error, value_error};

/// The host, `kDLCPU`.
const HOST: i32 = 1;
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

/// A structure that was taken out of a capsule. Its deleter frees it.
struct Taken<T> {
    managed: NonNull<T>,
    deleter: Option<unsafe extern "C" fn(*mut T)>,
}

impl<T> Taken<T> {
    /// Takes the structure out of a capsule, so that nobody else takes or frees it.
    ///
    /// # Safety
    /// `managed` is the content of the capsule, which its producer has not freed, and `deleter` is
    /// its deleter.
    unsafe fn new(
        capsule: &Bound<'_, PyCapsule>,
        managed: NonNull<T>,
        deleter: Option<unsafe extern "C" fn(*mut T)>,
        name_of_used: &'static CStr,
    ) -> PyResult<Self> {
        // SAFETY: the pointer is that of a live capsule, this thread is attached, and the name
        // lives as long as the program.
        match unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), name_of_used.as_ptr()) } {
            0 => Ok(Self { managed, deleter }),
            _ => Err(PyErr::fetch(capsule.py())),
        }
    }
}

impl<T> Drop for Taken<T> {
    fn drop(&mut self) {
        if let Some(deleter) = self.deleter {
            // SAFETY: this is the deleter of the structure, which nobody else frees, because its
            // capsule says that it is used.
            unsafe { deleter(self.managed.as_ptr()) }
        }
    }
}

/// Returns the memory of the argument `name`, or `None` if it is no DLPack tensor.
///
/// # Errors
/// `TypeError` if its elements are not unsigned bytes. `ValueError` if it is not contiguous or not
/// on the host.
pub(super) fn view<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<View<'py>>> {
    let export = object.getattr_opt("__dlpack__")?;
    let (Some(export), Some(device)) = (export, object.getattr_opt("__dlpack_device__")?) else {
        return Ok(None);
    };
    let (device, number): (i32, i32) = device.call0()?.extract()?;
    check_device(name, device, number)?;
    let py = object.py();
    let capsule = match export.call((), Some(&[("max_version", (MAJOR, 1))].into_py_dict(py)?)) {
        // Producers before DLPack 1.0 do not know the argument.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => export.call0()?,
        capsule => capsule?,
    };
    let capsule = capsule.cast_into::<PyCapsule>()?;
    if !capsule.is_valid_checked(Some(c"dltensor_versioned")) {
        let managed = capsule.pointer_checked(Some(c"dltensor"))?.cast::<Managed>();
        // SAFETY: a capsule with this name holds this structure, until its name is changed.
        let taken =
            unsafe { Taken::new(&capsule, managed, managed.as_ref().deleter, c"used_dltensor")? };
        let access = Access::Read(
            "comes with a version of DLPack before 1.0, which does not say whether a tensor may be \
             written; pass a numpy array over its memory",
        );
        // SAFETY: `taken` holds the structure that the tensor is copied from.
        return unsafe { of_tensor(name, managed.as_ref().tensor, access, taken) }.map(Some);
    }
    let managed = capsule.pointer_checked(Some(c"dltensor_versioned"))?.cast::<Versioned>();
    // SAFETY: a capsule with this name holds this structure, until its name is changed. These two
    // fields are the first ones in every version.
    let (major, minor) = unsafe { ((*managed.as_ptr()).major, (*managed.as_ptr()).minor) };
    if major != MAJOR {
        // The capsule frees what it holds.
        return Err(value_error(format!(
            "{name} has version {major}.{minor} of DLPack, not {MAJOR}"
        )));
    }
    // SAFETY: the structure has the layout of this version.
    let (flags, deleter) = unsafe { (managed.as_ref().flags, managed.as_ref().deleter) };
    // SAFETY: this is the content of the capsule, with its deleter.
    let taken = unsafe { Taken::new(&capsule, managed, deleter, c"used_dltensor_versioned")? };
    let access = if flags & READ_ONLY != 0 {
        Access::READ_ONLY
    } else if flags & IS_COPIED != 0 {
        Access::Read("is a tensor that its library copies for each exchange, so results are lost")
    } else {
        Access::Write
    };
    // SAFETY: `taken` holds the structure that the tensor is copied from.
    unsafe { of_tensor(name, managed.as_ref().tensor, access, taken) }.map(Some)
}

/// Checks that the argument `name` is on the host.
///
/// # Errors
/// `ValueError` if it is not.
fn check_device(name: &str, device: i32, number: i32) -> PyResult<()> {
    if device == HOST || device == PINNED_HOST {
        return Ok(());
    }
    Err(value_error(format!(
        "{name} is on the DLPack device ({device}, {number}), and this engine takes arrays on the \
         host"
    )))
}

/// Returns the view of a tensor. The tensor is a copy, because `taken` frees the original if this
/// fails.
///
/// # Errors
/// `TypeError` if its elements are not unsigned bytes. `ValueError` if it is not contiguous, not on
/// the host, or not complete.
///
/// # Safety
/// The fields of the tensor are true, and its elements, lengths and strides stay where they are as
/// long as `taken` is not dropped.
unsafe fn of_tensor<'py, T: 'py>(
    name: &str,
    tensor: Tensor,
    access: Access,
    taken: Taken<T>,
) -> PyResult<View<'py>> {
    check_device(name, tensor.device_type, tensor.device_id)?;
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
    let lengths = |values: *const i64| match values.is_null() || count == 0 {
        true => &[][..],
        // SAFETY: the tensor has one length, and one stride, for each dimension. They stay as long
        // as `taken` is not dropped, and nothing uses the slice after that.
        false => unsafe { slice::from_raw_parts(values, count) },
    };
    let shape = lengths(tensor.shape).iter().map(|&length| usize::try_from(length));
    let shape: Vec<usize> = shape.collect::<Result<_, _>>().map_err(|_| {
        value_error(format!("{name} is a tensor with a negative length in its shape"))
    })?;
    let mut length = 1usize;
    let mut is_contiguous = true;
    // Without strides, a tensor is contiguous.
    let mut strides = lengths(tensor.strides).iter().rev();
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
    // SAFETY: a contiguous tensor has its elements at `data + byte_offset`, as long as `taken`
    // holds it. They may be written unless `access` forbids it.
    Ok(unsafe { View::new(address, length, Shape::Dimensions(shape), access, taken) })
}
