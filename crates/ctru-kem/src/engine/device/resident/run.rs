//! Runs a batch whose data is on the device: its chunks take turns on some slots of the device, and
//! the host waits for all of them at the end.

use core::ops::Range;
use std::vec::Vec;

use ctru_gpu_runtime::{Device, Queue, RuntimeError};

use crate::engine::EngineError;
use crate::engine::device::batch::Batches;
use crate::engine::device::slot::Slot;
use crate::engine::device::slots::{Slots, Taken};

/// A chunk of a batch.
pub(super) struct Part {
    /// The number of the device in the engine.
    pub(super) device: usize,
    /// The number of the chunk in the batch.
    pub(super) number: usize,
    /// The operations of the chunk.
    pub(super) range: Range<usize>,
    /// The number of operations of the batch.
    pub(super) batch_len: usize,
}

/// The slots of a batch, and the chunk that each of them has been given last. Dropping this value
/// waits until nothing is under way in the slots, so that the caller can free the batch's memory.
struct UnderWay<'a, Q: Queue>(Vec<(Taken<'a, Slot<Q>>, Option<Part>)>);

impl<'a, Q: Queue> UnderWay<'a, Q> {
    /// Takes a slot for each chunk, at most half of the device's slots, so that other calls find
    /// free ones. Waits for a slot only if none is free.
    fn take(slots: &'a Slots<Slot<Q>>, chunks: usize) -> Self {
        let most = slots.len().div_ceil(2).min(chunks);
        let first = (most != 0).then(|| slots.take());
        let others = core::iter::from_fn(|| slots.try_take()).take(most.saturating_sub(1));
        Self(first.into_iter().chain(others).map(|slot| (slot, None)).collect())
    }
}

impl<Q: Queue> Drop for UnderWay<'_, Q> {
    fn drop(&mut self) {
        for (slot, _) in &self.0 {
            slot.device.queue.settle();
        }
    }
}

impl<D: Device> Batches<D> {
    /// Calls `issue` for each chunk of a batch with a slot of `device`, to issue the operations of
    /// the chunk without waiting. They follow those that have been issued to `after`. Calls
    /// `finish` for a chunk before its slot gets another one, and at the end. Waits for everything
    /// in any case.
    ///
    /// # Errors
    /// [`EngineError::Device`] without operations that are done, or [`EngineError::Cancelled`].
    pub(super) fn run_resident(
        &self,
        device: usize,
        after: &D::Queue,
        count: usize,
        issue: impl FnMut(&mut Slot<D::Queue>, &Part) -> Result<(), RuntimeError>,
        finish: impl FnMut(&mut Slot<D::Queue>, &Part) -> Result<(), RuntimeError>,
    ) -> Result<(), EngineError> {
        let done =
            self.issue_resident(device, after, count, issue, finish).map_err(EngineError::from)?;
        if done == count {
            return Ok(());
        }
        // No range, rather than an empty one, if nothing is done.
        let done = Some(0..done).filter(|done| !done.is_empty());
        Err(EngineError::Cancelled { done: done.into_iter().collect() })
    }

    /// Does the work of [`run_resident`](Self::run_resident). Returns the number of operations that
    /// are done.
    fn issue_resident(
        &self,
        device: usize,
        after: &D::Queue,
        count: usize,
        mut issue: impl FnMut(&mut Slot<D::Queue>, &Part) -> Result<(), RuntimeError>,
        mut finish: impl FnMut(&mut Slot<D::Queue>, &Part) -> Result<(), RuntimeError>,
    ) -> Result<usize, RuntimeError> {
        let before = self.cancellations();
        let plan = self.loaded_plan(count);
        let mut under_way = UnderWay::take(self.slots_of(device), plan.ranges().count());
        let slots = under_way.0.len();
        for (slot, _) in &under_way.0 {
            slot.device.queue.follow(after)?;
        }
        let mut done = 0;
        for (number, range) in plan.ranges().enumerate() {
            if self.cancellations() != before {
                break;
            }
            let (slot, last) = &mut under_way.0[number % slots];
            if let Some(last) = last.take() {
                finish(slot, &last)?;
            }
            done = range.end;
            let part = Part { device, number, range, batch_len: count };
            issue(slot, &part)?;
            *last = Some(part);
        }
        for (slot, last) in &mut under_way.0 {
            if let Some(last) = last.take() {
                finish(slot, &last)?;
            }
            slot.device.queue.synchronise()?;
        }
        // Everything is done.
        under_way.0.clear();
        Ok(done)
    }
}
