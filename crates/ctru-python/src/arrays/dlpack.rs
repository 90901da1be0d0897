//! Tensors on the host, through DLPack.
//!
//! Source of the layouts: DLPack 1.1, `dlpack.h`, and "Python Specification for DLPack". The
//! capsule is borrowed, not consumed, so its own destructor frees the tensor.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::slice;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyCapsule, PyCapsuleMethods};

use super::view::{Owner, Shape, View};
use crate::errors::{type_error, value_error};

/// The host, `kDLCPU`.
const HOST: i32 = 1;
/// Memory of the host that CUDA has pinned, `kDLCUDAHost`.
const PINNED_HOST: i32 = 3;
/// Unsigned integers, `kDLUInt`.
const UNSIGNED: u8 = 1;
/// The bit of `flags` for tensors that must not be written.
const READ_ONLY: u64 = 1;

#[repr(C)]
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

#[repr(C)]
struct Managed {
    tensor: Tensor,
    manager: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    manager: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Self)>,
    flags: u64,
    tensor: Tensor,
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
    if device != HOST && device != PINNED_HOST {
        return Err(value_error(format!(
            "{name} is on the DLPack device ({device}, {number}), and this engine takes arrays on \
             the host"
        )));
    }
    let py = object.py();
    let capsule = match export.call((), Some(&[("max_version", (1, 1))].into_py_dict(py)?)) {
        // Producers before DLPack 1.0 do not know the argument.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => export.call0()?,
        capsule => capsule?,
    };
    let capsule = capsule.cast_into::<PyCapsule>()?;
    let (tensor, is_writable) = if capsule.is_valid_checked(Some(c"dltensor_versioned")) {
        let managed = capsule.pointer_checked(Some(c"dltensor_versioned"))?.cast::<Versioned>();
        // SAFETY: a capsule with this name holds this structure as long as nobody renames it. The
        // fields before `flags` are the same in every version.
        let managed = unsafe { managed.as_ref() };
        if managed.major != 1 {
            let Versioned { major, minor, .. } = managed;
            return Err(value_error(format!(
                "{name} has version {major}.{minor} of DLPack, not 1"
            )));
        }
        (&managed.tensor, managed.flags & READ_ONLY == 0)
    } else {
        let managed = capsule.pointer_checked(Some(c"dltensor"))?.cast::<Managed>();
        // SAFETY: a capsule with this name holds this structure as long as nobody renames it.
        (unsafe { &managed.as_ref().tensor }, true)
    };
    if (tensor.type_code, tensor.bits, tensor.lanes) != (UNSIGNED, 8, 1) {
        return Err(type_error(format!("{name} has elements of another type than uint8")));
    }
    let dimensions = usize::try_from(tensor.dimensions).map_err(value_error)?;
    let lengths = |values: *const i64| -> &[i64] {
        if dimensions == 0 || values.is_null() {
            return &[];
        }
        // SAFETY: the tensor has one length, and one stride, for each dimension.
        unsafe { slice::from_raw_parts(values, dimensions) }
    };
    let shape = lengths(tensor.shape).iter().map(|&length| usize::try_from(length));
    let shape: Vec<usize> = shape.collect::<Result<_, _>>().map_err(value_error)?;
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
    let address = tensor.data.cast::<u8>().wrapping_add(tensor.byte_offset as usize);
    if tensor.data.is_null() && length > 0 {
        return Err(value_error(format!("{name} is a tensor without data")));
    }
    let owner = Owner::Capsule { _held: capsule };
    // SAFETY: a contiguous tensor has its elements at `data + byte_offset`. They live as long as
    // the capsule, and may be written unless a flag forbids it.
    let view = unsafe { View::new(address, length, Shape::Dimensions(shape), is_writable, owner) };
    Ok(Some(view))
}
