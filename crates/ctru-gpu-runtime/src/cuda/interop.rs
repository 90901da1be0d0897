//! Devices and queues for contexts and streams of the crate [`cust`].
#![allow(unsafe_code)]

use core::ptr;
use std::sync::Arc;

use ctru_simt::ptx::Module;
use cust::context::Context;

use super::device::{CudaDevice, Current};
use super::driver;
use super::queue::CudaQueue;
use super::stream::Stream;
use super::sys::CUcontext;
use crate::error::RuntimeError;

impl CudaDevice {
    /// Opens the GPU of a context of `cust` for the kernels of `module`, as [`open`](Self::open)
    /// does. The device and the context share the GPU's primary context, so each can use memory of
    /// the other. The context may be dropped before the device.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn of_context(context: &Context, module: &'static Module) -> Result<Self, RuntimeError> {
        let (raw, mut gpu) = (context.as_raw().cast(), 0);
        {
            let _current = Current::enter(raw)?;
            // SAFETY: `gpu` may be written, and a context is current.
            unsafe { driver::cuCtxGetDevice(&raw mut gpu) }?;
        }
        // The driver uses the number of a GPU as its handle, which its documentation does not say.
        let device = Self::open(gpu.unsigned_abs(), module)?;
        match device.has_context(raw) {
            true => Ok(device),
            false => Err(RuntimeError::Foreign { what: "the context", owner: "device" }),
        }
    }
}

impl CudaQueue {
    /// Returns a queue for a stream of `cust`, so that operations of both have one order. The queue
    /// shares the ownership: the stream is destroyed after the last clone of the queue and of the
    /// `Arc`.
    ///
    /// Operations that `cust` issues to the stream may use memory of this crate only as the
    /// documentation of the function that returned its address allows, such as
    /// [`CudaMemory::address`](super::CudaMemory::address).
    ///
    /// # Errors
    /// [`RuntimeError::Foreign`] if the stream does not belong to the primary context of the
    /// device, for example because it was created in a context of [`cust::context::legacy`];
    /// [`RuntimeError::Driver`] if the driver does not answer.
    ///
    /// # Safety
    /// During each call with the queue, when a scope ends in which it has issued copies, and when
    /// the last of its clones and of the memory that was used with it is dropped, no code captures
    /// a graph from the stream. `cust` has no function that does so.
    pub unsafe fn of_stream(
        device: CudaDevice,
        stream: Arc<cust::stream::Stream>,
    ) -> Result<Self, RuntimeError> {
        let raw = stream.as_inner().cast();
        let mut context: CUcontext = ptr::null_mut();
        // SAFETY: `context` may be written, and the stream exists.
        unsafe { driver::cuStreamGetCtx(raw, &raw mut context) }?;
        if !device.has_context(context) {
            return Err(RuntimeError::Foreign { what: "the stream", owner: "context" });
        }
        // SAFETY: the stream belongs to the device's primary context and is destroyed after the
        // value that owns it. The caller promises the rest.
        Ok(Self(Arc::new(unsafe { Stream::lent(device, raw, Box::new(stream)) }?)))
    }
}
