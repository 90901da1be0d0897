//! Deals the chunks of a batch to the slots of devices.
//!
//! `tests/model` includes this file with another `super::sync`, which runs threads in every order.

use core::iter;
use core::ops::Range;
use std::collections::VecDeque;
use std::sync::PoisonError;
use std::vec::Vec;

use super::slots::{Settle, Slots, Taken, lock};
use super::sync::Mutex;

/// Says whether a batch has been cancelled since it began.
pub type IsCancelled<'a> = dyn Fn() -> bool + Sync + 'a;

/// The operations and the work of the chunks that are left.
type Left<C> = VecDeque<(Range<usize>, C)>;

/// A batch that is under way: the chunks that no slot has taken yet, and how the others went.
pub(super) struct Deal<'a, S: Settle, C, E> {
    slots: &'a [Slots<S>],
    /// For each device, the chunks that are left.
    queues: Vec<Mutex<Left<C>>>,
    is_cancelled: &'a IsCancelled<'a>,
    /// The largest number of chunks that are under way on each device, and how many of them one
    /// thread has.
    under_way: usize,
    together: usize,
    progress: Mutex<Progress<E>>,
}

struct Progress<E> {
    done: Vec<Range<usize>>,
    failure: Option<E>,
}

impl<'a, S: Settle, C, E> Deal<'a, S, C, E> {
    /// Begins a batch of chunks, of which `under_way` are under way on each device, and one thread
    /// has `together` of these. A chunk has a device, its operations, and its work. `slots` has the
    /// slots of each device.
    pub(super) fn new(
        slots: &'a [Slots<S>],
        is_cancelled: &'a IsCancelled<'a>,
        [under_way, together]: [usize; 2],
        chunks: impl Iterator<Item = (usize, Range<usize>, C)>,
    ) -> Self {
        let mut queues: Vec<_> = slots.iter().map(|_| VecDeque::new()).collect();
        for (device, operations, work) in chunks {
            queues[device].push_back((operations, work));
        }
        Self {
            slots,
            queues: queues.into_iter().map(Mutex::new).collect(),
            is_cancelled,
            under_way,
            together,
            progress: Mutex::new(Progress { done: Vec::new(), failure: None }),
        }
    }

    /// Returns the device for each thread that [`serve`](Self::serve) should occupy. Together they
    /// have as many chunks under way as they may, or all chunks if these are fewer.
    #[must_use]
    pub(super) fn servers(&self) -> Vec<usize> {
        let devices = self.queues.iter().enumerate();
        devices
            .flat_map(|(device, queue)| {
                let chunks = lock(queue).len().min(self.under_way);
                iter::repeat_n(device, chunks.div_ceil(self.together))
            })
            .collect()
    }

    /// Calls `issue` for chunks of a device, each with a free slot, and `finish` with what it
    /// returns, for one chunk after the other. Ends when there are no more chunks, a chunk has
    /// failed, or the batch has been cancelled; what has been issued is finished. A slot whose work
    /// has failed or panicked is settled before another chunk takes it.
    pub(super) fn serve<I>(
        &self,
        device: usize,
        issue: &impl Fn(&mut S, C) -> Result<I, E>,
        finish: &impl Fn(&mut S, I) -> Result<(), E>,
    ) {
        let mut under_way = VecDeque::with_capacity(self.together);
        loop {
            while under_way.len() < self.together && self.goes_on() {
                // Whoever has slots does not wait for others, because their owners could wait, too.
                let Some((mut slot, range, work)) = self.next(device, under_way.is_empty()) else {
                    break;
                };
                match issue(&mut slot, work) {
                    Ok(issued) => under_way.push_back((slot, range, issued)),
                    Err(error) => self.note(Err(error)),
                }
            }
            let Some((mut slot, range, issued)) = under_way.pop_front() else { break };
            let finished = finish(&mut slot, issued);
            if finished.is_ok() {
                slot.succeeded();
            }
            self.note(finished.map(|()| range));
        }
    }

    /// Takes the next chunk of a device and a slot for it. Returns `None` if there are no more
    /// chunks, or if no slot is free and the thread may not wait for one.
    fn next(&self, device: usize, may_wait: bool) -> Option<(Taken<'a, S>, Range<usize>, C)> {
        let (queue, slots) = (&self.queues[device], &self.slots[device]);
        let (range, work) = lock(queue).pop_front()?;
        let slot = if may_wait { Some(slots.take()) } else { slots.try_take() };
        let Some(slot) = slot else {
            // This thread has chunks under way, so it comes back for this one.
            lock(queue).push_front((range, work));
            return None;
        };
        Some((slot, range, work))
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
        !(self.is_cancelled)() && lock(&self.progress).failure.is_none()
    }

    /// Returns the operations that were done, in ascending order, and the first failure.
    #[must_use]
    pub(super) fn end(self) -> (Vec<Range<usize>>, Option<E>) {
        let Progress { mut done, failure } =
            self.progress.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|range| range.start);
        (done, failure)
    }
}
