//! What a kernel takes of a multiprocessor.
#![allow(unsafe_code)]

use core::ffi::c_int;

use ctru_gpu_kernels::descriptor::Kernel;
use cust::sys::CUfunction_attribute;

use super::calls;
use super::device::CudaDevice;
use crate::error::RuntimeError;

/// What the driver's compiler has given to a kernel.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelResources {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of a thread's local memory, where registers are spilled to.
    pub local_bytes: u32,
    /// Bytes of shared memory of a block.
    pub shared_bytes: u32,
    /// Blocks that a multiprocessor holds at a time.
    pub blocks: u32,
}

impl CudaDevice {
    /// The resources of a kernel in blocks of its shape.
    ///
    /// # Errors
    /// [`RuntimeError::ForeignKernel`] or [`RuntimeError::UnknownKernel`] if the device has no such
    /// kernel, [`RuntimeError::Driver`] if the driver does not answer.
    pub fn resources(&self, kernel: &Kernel) -> Result<KernelResources, RuntimeError> {
        let _current = self.enter()?;
        let function = self.function(kernel)?;
        let attribute = |attribute| -> Result<u32, RuntimeError> {
            let mut value: c_int = 0;
            // SAFETY: `value` may be written, the function was found in the module, which stays loaded.
            unsafe { calls::cuFuncGetAttribute(&raw mut value, attribute, function) }?;
            Ok(value.unsigned_abs())
        };
        let shape = kernel.shape();
        let mut blocks: c_int = 0;
        // SAFETY: as above.
        unsafe {
            calls::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &raw mut blocks,
                function,
                shape.threads() as c_int,
                shape.shared_bytes() as usize,
            )
        }?;
        Ok(KernelResources {
            registers: attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local_bytes: attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            // Memory that the code declares comes on top of what the launch asks for.
            shared_bytes: attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?
                + shape.shared_bytes(),
            blocks: blocks.unsigned_abs(),
        })
    }
}
