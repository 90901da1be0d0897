//! Deals the chunks of a batch to the slots of devices.
//!
//! `tests/model` includes this file with another `super::sync`, which runs threads in every order.

use core::iter;
use core::ops::Range;
use std::collections::VecDeque;
use std::sync::PoisonError;
use std::vec::Vec;

use super::slots::{Slots, Taken, lock};
use super::sync::Mutex;
use super::sync::atomic::{AtomicU64, Ordering};

/// The number of operations per chunk is a multiple of this number, so that the blocks of kernels
/// are full.
pub(super) const MULTIPLE: usize = 256;

/// The plan of a batch: its chunks and their devices.
#[derive(Copy, Clone)]
pub(super) struct Plan {
    /// The number of operations of the batch.
    pub(super) count: usize,
    /// The number of operations of each chunk, except the last one.
    pub(super) chunk: usize,
    /// The index of the first chunk's device, modulo the number of devices.
    pub(super) first: usize,
    /// The number of chunks that one thread has under way.
    pub(super) together: usize,
}

impl Plan {
    /// Returns the operations of each chunk.
    pub(super) fn ranges(self) -> impl Iterator<Item = Range<usize>> + Send {
        let Self { count, chunk, .. } = self;
        (0..count).step_by(chunk).map(move |start| start..count.min(start + chunk))
    }
}

/// A part of a batch.
pub(super) struct Chunk {
    pub(super) number: usize,
    pub(super) device: usize,
    pub(super) operations: Range<usize>,
    /// The number of operations of the batch.
    pub(super) batch: usize,
}

/// A batch that is under way: the chunks that no slot has taken yet, and how the others went.
pub(super) struct Deal<'a, S, C, E> {
    slots: &'a [Slots<S>],
    /// For each device, the chunks that are left, each with a part of the caller's slices.
    queues: Vec<Mutex<VecDeque<(Chunk, C)>>>,
    /// The number of cancellations so far, and at the beginning of the batch.
    cancellations: (&'a AtomicU64, u64),
    /// The number of chunks that one thread has under way.
    together: usize,
    progress: Mutex<Progress<E>>,
}

struct Progress<E> {
    done: Vec<Range<usize>>,
    failure: Option<E>,
}

impl<'a, S, C, E> Deal<'a, S, C, E> {
    /// Cuts a batch into chunks. Each gets one element of `parts`. `slots` has the slots of each
    /// device.
    pub(super) fn new(
        slots: &'a [Slots<S>],
        cancellations: &'a AtomicU64,
        plan: Plan,
        parts: impl Iterator<Item = C>,
    ) -> Self {
        let devices = slots.len();
        let mut queues: Vec<VecDeque<(Chunk, C)>> = (0..devices).map(|_| VecDeque::new()).collect();
        for ((number, operations), part) in plan.ranges().enumerate().zip(parts) {
            let device = plan.first.wrapping_add(number) % devices;
            let chunk = Chunk { number, device, operations, batch: plan.count };
            queues[device].push_back((chunk, part));
        }
        Self {
            slots,
            queues: queues.into_iter().map(Mutex::new).collect(),
            cancellations: (cancellations, cancellations.load(Ordering::Acquire)),
            together: plan.together,
            progress: Mutex::new(Progress { done: Vec::new(), failure: None }),
        }
    }

    /// Returns the device for each thread that [`serve`](Self::serve) should occupy. Together they
    /// have as many chunks under way as the device has slots, or all chunks if these are fewer.
    pub(super) fn servers(&self) -> Vec<usize> {
        let devices = self.queues.iter().zip(self.slots).enumerate();
        devices
            .flat_map(|(device, (queue, slots))| {
                let chunks = lock(queue).len().min(slots.len());
                iter::repeat_n(device, chunks.div_ceil(self.together))
            })
            .collect()
    }

    /// Calls `issue` for chunks of a device, each with a free slot, and `finish` with what it
    /// returns, for one chunk after the other. Ends when there are no more chunks, a chunk has
    /// failed, or the batch has been cancelled; what has been issued is finished. If one of the two
    /// panics, slots may be given back while their queues still work on chunks of this thread.
    pub(super) fn serve<I>(
        &self,
        device: usize,
        issue: &impl Fn(&mut S, &Chunk, C) -> Result<I, E>,
        finish: &impl Fn(&mut S, I) -> Result<(), E>,
    ) {
        let mut under_way = VecDeque::with_capacity(self.together);
        loop {
            while under_way.len() < self.together && self.goes_on() {
                // Whoever has slots does not wait for others, because their owners could wait, too.
                let Some((mut slot, chunk, part)) = self.next(device, under_way.is_empty()) else {
                    break;
                };
                match issue(&mut slot, &chunk, part) {
                    Ok(issued) => under_way.push_back((slot, chunk, issued)),
                    Err(error) => self.note(Err(error)),
                }
            }
            let Some((mut slot, chunk, issued)) = under_way.pop_front() else { break };
            self.note(finish(&mut slot, issued).map(|()| chunk.operations));
        }
    }

    /// Takes the next chunk of a device and a slot for it. Returns `None` if there are no more
    /// chunks, or if no slot is free and the thread may not wait for one.
    fn next(&self, device: usize, may_wait: bool) -> Option<(Taken<'a, S>, Chunk, C)> {
        let (queue, slots) = (&self.queues[device], &self.slots[device]);
        let (chunk, part) = lock(queue).pop_front()?;
        let slot = if may_wait { Some(slots.take()) } else { slots.try_take() };
        let Some(slot) = slot else {
            // This thread has chunks under way, so it comes back for this one.
            lock(queue).push_front((chunk, part));
            return None;
        };
        Some((slot, chunk, part))
    }

    /// Notes what was done, or a failure.
    pub(super) fn note(&self, result: Result<Range<usize>, E>) {
        let mut progress = lock(&self.progress);
        match result {
            Ok(operations) => progress.done.push(operations),
            Err(error) => progress.failure = progress.failure.take().or(Some(error)),
        }
    }

    fn goes_on(&self) -> bool {
        let (cancellations, before) = self.cancellations;
        cancellations.load(Ordering::Acquire) == before && lock(&self.progress).failure.is_none()
    }

    /// Returns the operations that were done, in ascending order, and the first failure.
    pub(super) fn end(self) -> (Vec<Range<usize>>, Option<E>) {
        let Progress { mut done, failure } =
            self.progress.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|range| range.start);
        (done, failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_have_equal_size_except_for_the_last() {
        let ranges = |count, chunk| {
            Plan { count, chunk, first: 0, together: 1 }.ranges().collect::<Vec<_>>()
        };
        assert_eq!(ranges(16, 5), [0..5, 5..10, 10..15, 15..16]);
        assert_eq!(ranges(10, 5), [0..5, 5..10]);
        assert!(ranges(0, 2048).is_empty());
    }
}
