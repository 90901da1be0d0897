//! Does what a plan says: gives each chunk to a slot, on one or several threads.

use core::fmt;
use core::ops::Range;

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::deal::Deal;
pub use super::deal::IsCancelled;
use super::plan::{Chunk, Plan};
use super::slots::{Settle, Slots, Taken};
use super::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::{Queue, RuntimeError};

/// The slots of one or several devices, and the threads that fill and empty them.
pub struct Executor<Q: Queue, S: Settle> {
    /// The slots of each device.
    slots: Vec<Slots<S>>,
    /// A queue of each device, for work outside the slots.
    queues: Vec<Q>,
    /// One thread for each slot.
    threads: ThreadPool,
    /// The number of batches so far.
    batches: AtomicUsize,
    /// The number of calls of [`cancel`](Self::cancel).
    cancellations: AtomicU64,
}

/// Why a batch has ended early, and what was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// The failure, or `None` if the batch was cancelled.
    pub failure: Option<RuntimeError>,
    /// The operations that were done, in ascending order.
    pub done: Vec<Range<usize>>,
}

impl<Q: Queue, S: Settle> fmt::Debug for Executor<Q, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("queues", &self.queues).finish_non_exhaustive()
    }
}

impl<Q: Queue, S: Settle + Send> Executor<Q, S> {
    /// Starts the threads. `slots` has the slots of each device, and `queues` a queue of each.
    ///
    /// # Errors
    /// If the system does not start them.
    pub fn new(slots: Vec<Slots<S>>, queues: Vec<Q>) -> Result<Self, ThreadPoolBuildError> {
        let threads = ThreadPoolBuilder::new()
            .num_threads(slots.iter().map(Slots::len).sum())
            .thread_name(|i| format!("ctru-slot-{i}"))
            .build()?;
        let (batches, cancellations) = (AtomicUsize::new(0), AtomicU64::new(0));
        Ok(Self { slots, queues, threads, batches, cancellations })
    }

    /// Returns the number of slots of all devices together.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.iter().map(Slots::len).sum()
    }

    /// Returns a queue of the first device.
    #[must_use]
    pub fn queue(&self) -> &Q {
        &self.queues[0]
    }

    /// Takes a slot of a device, given by its number modulo the number of devices. Waits for one if
    /// all are in use.
    #[must_use]
    pub fn take(&self, device: usize) -> Taken<'_, S> {
        self.slots[device % self.slots.len()].take()
    }

    /// Returns the number of the next batch.
    #[must_use]
    pub fn next_batch(&self) -> usize {
        self.batches.fetch_add(1, Ordering::Relaxed)
    }

    /// Calls `work` with each slot, one after the other. Waits for slots in use.
    pub fn for_each_slot(&self, mut work: impl FnMut(&mut S)) {
        self.slots.iter().for_each(|slots| slots.for_each(&mut work));
    }

    /// Makes the batches that are under way begin no further chunk.
    pub fn cancel(&self) {
        self.cancellations.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns a function that says whether a batch that begins now has been cancelled.
    pub fn cancellation(&self) -> impl Fn() -> bool + Sync {
        let before = self.cancellations.load(Ordering::Acquire);
        move || self.cancellations.load(Ordering::Acquire) != before
    }

    /// Calls `issue` for each chunk, with a slot of the chunk's device and with one element of
    /// `parts`: the parts of the caller's memory that belong to the chunk. Then calls `finish` with
    /// what it returned. After a failure, or once `is_cancelled` says so, no thread takes another
    /// chunk. When this function returns, nothing of the batch is under way.
    ///
    /// # Errors
    /// [`Stopped`] if the batch has failed or was cancelled.
    pub fn run<'env, C: Send, I>(
        &self,
        plan: &Plan<'_>,
        is_cancelled: &IsCancelled<'_>,
        parts: impl Iterator<Item = C>,
        issue: impl Fn(&Q::Scope<'env>, &mut S, Chunk, C) -> Result<I, RuntimeError> + Sync,
        finish: impl Fn(&mut S, I) -> Result<(), RuntimeError> + Sync,
    ) -> Result<(), Stopped> {
        let chunks = plan.chunks().zip(parts);
        let chunks = chunks.map(|(chunk, part)| (chunk.device, chunk.range.clone(), (chunk, part)));
        let limits = [plan.under_way, plan.together];
        let deal = Deal::new(&self.slots, is_cancelled, limits, chunks);
        // The first thread is the caller's.
        if let Some((&own, others)) = deal.servers().split_first() {
            let serve = |device: usize| {
                let done = self.queues[device].scope(|scope| {
                    let issue = |slot: &mut S, (chunk, part)| issue(scope, slot, chunk, part);
                    deal.serve(device, &issue, &finish);
                    Ok(())
                });
                if let Err(error) = done {
                    deal.note(Err(error));
                }
            };
            self.threads.in_place_scope(|scope| {
                for &device in others {
                    scope.spawn(move |_| serve(device));
                }
                serve(own);
            });
        }
        let (done, failure) = deal.end();
        let is_done = done.iter().map(Range::len).sum::<usize>() == plan.count();
        if failure.is_none() && is_done { Ok(()) } else { Err(Stopped { failure, done }) }
    }
}
