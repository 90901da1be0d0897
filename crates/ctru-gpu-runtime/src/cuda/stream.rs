//! Streams of a GPU, and events in streams.
#![allow(unsafe_code)]

use core::any::Any;
use core::mem::ManuallyDrop;
use core::time::Duration;
use core::{fmt, ptr};
use std::sync::{Mutex, PoisonError};

use super::counter::Counter;
use super::device::{CudaDevice, Current};
use super::driver;
use super::graph::Graphs;
use super::sys::{
    CU_EVENT_DEFAULT, CU_EVENT_DISABLE_TIMING, CU_STREAM_NON_BLOCKING, CUevent, CUstream,
};
use crate::error::RuntimeError;

/// A stream that counts its operations on memory of the host and tracks how many of them are done.
pub(super) struct Stream {
    pub(super) device: CudaDevice,
    pub(super) raw: CUstream,
    /// The value that keeps a stream of other code alive, or `None` if this value owns the stream.
    lender: Option<Box<dyn Any + Send + Sync>>,
    /// The event that [`follow`](Self::follow) records in this stream for another stream. It is
    /// created only once, because threads that create and destroy events block one another in the
    /// driver.
    followed: CudaEvent,
    counter: Counter,
    /// Launches that have been issued together, which may be issued together again.
    pub(super) graphs: Mutex<Graphs>,
}

// SAFETY: the handle of the stream is the only field that is not `Send`, and the driver's functions
// take a stream from any thread. The handle 2 names another stream in each thread, and whoever
// lends it promises to stay on one thread.
unsafe impl Send for Stream {}
// SAFETY: the driver orders calls that several threads make on one stream at the same time. The
// handle 2 names another stream in each thread, and whoever lends it promises to stay on one
// thread.
unsafe impl Sync for Stream {}

impl Stream {
    /// Creates a stream.
    pub(super) fn new(device: CudaDevice) -> Result<Self, RuntimeError> {
        // SAFETY: the null stream is a default stream.
        let mut stream = unsafe { Self::lent(device, ptr::null_mut(), Box::new(())) }?;
        let _current = device.enter()?;
        // SAFETY: the handle may be written, and a device is current.
        unsafe { driver::cuStreamCreate(&raw mut stream.raw, CU_STREAM_NON_BLOCKING) }?;
        stream.lender = None;
        Ok(stream)
    }

    /// Wraps a stream that other code owns. `lender` is dropped after the last use of the stream.
    ///
    /// # Safety
    /// `raw` is a stream of the device's primary context, or the driver's handle of its default
    /// streams. It exists as long as this value.
    pub(super) unsafe fn lent(
        device: CudaDevice,
        raw: CUstream,
        lender: Box<dyn Any + Send + Sync>,
    ) -> Result<Self, RuntimeError> {
        let followed = CudaEvent::new(device, CU_EVENT_DISABLE_TIMING)?;
        let (counter, graphs) = (Counter::new(), Mutex::default());
        Ok(Self { device, raw, lender: Some(lender), followed, counter, graphs })
    }

    /// Makes all later operations wait for an event.
    pub(super) fn wait_for(&self, event: &CudaEvent) -> Result<(), RuntimeError> {
        let _current = self.device.enter()?;
        // SAFETY: the event and the stream exist, and the driver keeps what it needs of the event.
        unsafe { driver::cuStreamWaitEvent(self.raw, event.raw, 0) }
    }

    /// Makes all later operations wait for the operations that have been issued to `other` so far.
    pub(super) fn follow(&self, other: &Self) -> Result<(), RuntimeError> {
        // If a third stream follows `other` at the same time and records the event again, this
        // stream waits for a few more operations.
        other.followed.record(other)?;
        self.wait_for(&other.followed)
    }

    /// Records an event that happens when all operations issued so far are done, and returns it.
    pub(super) fn record(&self) -> Result<CudaEvent, RuntimeError> {
        let event = CudaEvent::new(self.device, CU_EVENT_DEFAULT)?;
        event.record(self)?;
        Ok(event)
    }

    /// Counts an operation and returns its number. The operation must already have been issued to
    /// the driver.
    pub(super) fn count(&self) -> u64 {
        self.counter.count()
    }

    /// Waits for the operations up to number `operation`, unless they are known to be done.
    pub(super) fn wait(&self, operation: u64) -> Result<(), RuntimeError> {
        if self.counter.is_done(operation) { Ok(()) } else { self.synchronise() }
    }

    /// Does the same as [`wait`](Self::wait). The caller has made the device current.
    pub(super) fn wait_in(&self, current: &Current, operation: u64) -> Result<(), RuntimeError> {
        if self.counter.is_done(operation) { Ok(()) } else { self.synchronise_in(current) }
    }

    /// Waits for all operations of the stream.
    pub(super) fn synchronise(&self) -> Result<(), RuntimeError> {
        self.synchronise_in(&self.device.enter()?)
    }

    /// Waits for all operations of the stream. The caller has made the device current.
    pub(super) fn synchronise_in(&self, _: &Current) -> Result<(), RuntimeError> {
        // SAFETY: the stream lives as long as `self`.
        self.counter.wait(|| unsafe { driver::cuStreamSynchronize(self.raw) })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let graphs = self.graphs.get_mut().unwrap_or_else(PoisonError::into_inner);
        let graphs = ManuallyDrop::new(core::mem::take(graphs));
        // Errors are dropped here. Every call that waited for an operation has returned its error.
        let Ok(current) = self.device.enter() else { return };
        if !graphs.is_empty() {
            let done = self.synchronise_in(&current);
            if done.is_err_and(|error| driver::did_not_wait(&error)) {
                // The graphs may be running, so they are kept, and so is the stream.
                core::mem::forget(self.lender.take());
                return;
            }
        }
        drop(ManuallyDrop::into_inner(graphs));
        if self.lender.is_some() {
            return;
        }
        // SAFETY: nothing else refers to the stream, and the driver finishes its operations first.
        let _ = unsafe { driver::cuStreamDestroy_v2(self.raw) };
    }
}

/// An event in a [`CudaQueue`](super::CudaQueue). It happens when all operations before it are
/// done.
pub struct CudaEvent {
    device: CudaDevice,
    raw: CUevent,
}

// SAFETY: the handle of the event is the only field that is not `Send`, and the driver's functions
// take an event from any thread.
unsafe impl Send for CudaEvent {}
// SAFETY: the driver orders calls that several threads make on one event at the same time.
unsafe impl Sync for CudaEvent {}

impl CudaEvent {
    fn new(device: CudaDevice, flags: u32) -> Result<Self, RuntimeError> {
        let _current = device.enter()?;
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` may be written, and a device is current.
        unsafe { driver::cuEventCreate(&raw mut raw, flags) }?;
        Ok(Self { device, raw })
    }

    /// Records the event in `stream`. It happens when all operations issued so far are done.
    fn record(&self, stream: &Stream) -> Result<(), RuntimeError> {
        let _current = self.device.enter()?;
        // SAFETY: the event and the stream exist.
        unsafe { driver::cuEventRecord(self.raw, stream.raw) }
    }

    /// Waits until the event has happened.
    ///
    /// # Errors
    /// Errors of the operations before the event.
    pub fn synchronise(&self) -> Result<(), RuntimeError> {
        let _current = self.device.enter()?;
        // SAFETY: the event exists.
        unsafe { driver::cuEventSynchronize(self.raw) }
    }

    /// Waits for both events and returns the time from `earlier` to this one, by the clock of the
    /// GPU, with a resolution of about half a microsecond. Returns 0 if this event happened before
    /// `earlier`, as [`Instant::duration_since`](std::time::Instant::duration_since) does.
    ///
    /// # Errors
    /// Errors of the operations before the events; [`RuntimeError::Driver`] if the events belong to
    /// different devices.
    pub fn elapsed_since(&self, earlier: &Self) -> Result<Duration, RuntimeError> {
        earlier.synchronise()?;
        self.synchronise()?;
        let _current = self.device.enter()?;
        let mut milliseconds = 0.0f32;
        // SAFETY: `milliseconds` may be written, and both events exist and have happened.
        unsafe { driver::cuEventElapsedTime(&raw mut milliseconds, earlier.raw, self.raw) }?;
        // The conversion makes 0 of a negative time.
        Ok(Duration::from_nanos((f64::from(milliseconds) * 1e6) as u64))
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        let Ok(_current) = self.device.enter() else { return };
        // SAFETY: nothing else refers to the event. If it has not happened yet, the driver keeps it
        // until then.
        let _ = unsafe { driver::cuEventDestroy_v2(self.raw) };
    }
}

impl fmt::Debug for CudaEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaEvent({:?})", self.device)
    }
}
