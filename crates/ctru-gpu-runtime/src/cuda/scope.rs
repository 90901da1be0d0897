//! Copies of memory that is borrowed, and the wait for them.

use core::fmt;
use core::marker::PhantomData;
use std::sync::Arc;

use super::device::{CudaDevice, Current};
use super::driver;
use super::memory::Uses;
use super::stream::Stream;
use crate::error::RuntimeError;

/// The copies of memory that is borrowed for `'env`, on any queues. Dropping this value waits for
/// them. [`Queue::scope`](crate::Queue::scope) creates it.
pub struct CudaScope<'env> {
    copies: Uses,
    device: CudaDevice,
    /// Keeps the context of `device` current, so that waiting cannot fail to enter it.
    current: Current,
    // Makes the scope invariant in `'env`. With a shorter lifetime, memory could be freed before
    // the wait.
    borrowed: PhantomData<fn(&'env ()) -> &'env ()>,
}

impl CudaScope<'_> {
    /// Begins a scope. The context of the device stays current until it ends. If a copy is on a
    /// queue of another device whose context cannot be entered at the end, the process aborts.
    pub(super) fn new(device: CudaDevice) -> Result<Self, RuntimeError> {
        let current = device.enter()?;
        Ok(Self { copies: Uses::default(), device, current, borrowed: PhantomData })
    }

    /// Records that the operation that was issued last to `stream` is a copy of this scope.
    pub(super) fn record(&self, stream: &Arc<Stream>) {
        self.copies.record(stream, stream.count());
    }

    /// Waits for the copies. Returns the first error.
    pub(super) fn wait(&self) -> Result<(), RuntimeError> {
        let mut result = Ok(());
        for (stream, operation) in self.copies.take() {
            let done = match self.device.is(&stream.device) {
                true => stream.wait_in(&self.current, operation),
                false => stream.wait(operation),
            };
            if done.as_ref().is_err_and(driver::did_not_wait) {
                // The GPU may still read or write the memory, and its owner may free it as soon as
                // the borrow ends. Only an abort prevents such an access.
                std::process::abort();
            }
            result = result.and(done);
        }
        result
    }
}

impl Drop for CudaScope<'_> {
    fn drop(&mut self) {
        let _ = self.wait();
    }
}

impl fmt::Debug for CudaScope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CudaScope")
    }
}
