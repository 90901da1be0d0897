//! A flag in pinned memory, which a stream raises when its operations are done.
//!
//! A thread that looks at the flag does not enter the driver, where it would disturb threads that
//! issue operations.
#![allow(unsafe_code)]

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use cust::sys::{CU_MEMHOSTALLOC_PORTABLE, CUdeviceptr, CUstream};

use super::device::Current;
use super::driver;
use crate::error::RuntimeError;

/// How long a thread looks at the flag before it asks the driver, which knows of failures.
const PATIENCE: Duration = Duration::from_millis(1);

/// The number of looks between two looks at the clock.
const LOOKS: usize = 64;

/// A number in pinned memory.
pub(super) struct Flag {
    number: NonNull<AtomicU32>,
    /// The last number that the stream has been told to write.
    last: Mutex<u32>,
}

// SAFETY: the value owns the memory, and any thread may use it.
unsafe impl Send for Flag {}
// SAFETY: threads only read the number, and it is atomic.
unsafe impl Sync for Flag {}

impl Flag {
    /// Allocates a flag. The device is current.
    pub(super) fn new(_: &Current) -> Result<Self, RuntimeError> {
        let bytes = size_of::<AtomicU32>();
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` may be written, and a device is current.
        unsafe { driver::cuMemHostAlloc(&raw mut raw, bytes, CU_MEMHOSTALLOC_PORTABLE) }?;
        let number = NonNull::new(raw.cast::<AtomicU32>())
            .ok_or(RuntimeError::OutOfHostMemory { requested: bytes })?;
        // SAFETY: the memory has these bytes, and nothing else refers to it.
        unsafe { number.write(AtomicU32::new(0)) };
        Ok(Self { number, last: Mutex::new(0) })
    }

    /// Makes `stream` raise the flag after all operations that have been issued to it, and looks at
    /// the flag until then. Returns whether the stream has raised it. If it has not, the driver
    /// refuses to write flags, an operation has failed, or the operations take long.
    ///
    /// # Safety
    /// `stream` belongs to the current device, and finishes all operations before this value is
    /// freed. No other stream is used with this value.
    pub(super) unsafe fn wait(&self, stream: CUstream) -> bool {
        let expected = {
            // The lock lasts until the write is issued, so that the number never becomes smaller.
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            let pointer = self.number.as_ptr().expose_provenance() as CUdeviceptr;
            let next = last.wrapping_add(1);
            // SAFETY: a device sees pinned memory of the host at the address that the host uses.
            // The memory exists until the stream has written the number.
            if unsafe { driver::cuStreamWriteValue32(stream, pointer, next) }.is_err() {
                return false;
            }
            *last = next;
            next
        };
        // SAFETY: the memory exists as long as `self`, and holds a number that was initialised.
        let number = unsafe { self.number.as_ref() };
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            for _ in 0..LOOKS {
                // `Acquire`: whatever the operations have written is visible after this look. The
                // number may already be that of a later wait.
                if number.load(Ordering::Acquire).wrapping_sub(expected) < u32::MAX / 2 {
                    return true;
                }
                core::hint::spin_loop();
            }
        }
        false
    }

    /// Frees the memory.
    ///
    /// # Safety
    /// The stream has finished all operations, and the device is current.
    pub(super) unsafe fn free(self, _: &Current) {
        // SAFETY: the memory holds a number.
        unsafe { self.number.as_ref() }.store(0, Ordering::Relaxed);
        // SAFETY: the driver allocated the memory, and nothing uses it after this call.
        let _ = unsafe { driver::cuMemFreeHost(self.number.as_ptr().cast()) };
    }
}
