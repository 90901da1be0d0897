//! How batches are cut into chunks, and the threads that take the chunks to slots.

use core::ops::Range;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::vec::Vec;

use ctru_gpu_runtime::{Device, RuntimeError};

use super::DeviceEngine;
use super::arrays::Slot;
use super::slots::lock;
use crate::engine::EngineError;
use crate::params::ParameterSet;

/// Chunks are not made smaller than this to give all slots something to do: on an H200, two halves take longer than the whole then.
const LEAST_CHUNK: usize = 4096;

/// How a batch is cut and dealt out.
#[derive(Copy, Clone)]
pub(super) struct Plan {
    count: usize,
    /// Operations of a chunk, the last one's excepted.
    pub(super) chunk: usize,
    /// The device of the first chunk.
    first: usize,
}

/// A part of a batch.
pub(super) struct Chunk {
    pub(super) number: usize,
    pub(super) device: usize,
    pub(super) operations: Range<usize>,
}

impl<P: ParameterSet, D: Device> DeviceEngine<P, D> {
    /// How a batch is cut and dealt out. Keys that lie on the devices in chunks bind each chunk to its device.
    pub(super) fn plan(&self, count: usize, bound: bool) -> Plan {
        let first = if bound {
            0
        } else {
            self.batches.fetch_add(1, Ordering::Relaxed) % self.devices.len()
        };
        Plan { count, chunk: even_chunk(count, self.slots(), self.chunk), first }
    }

    /// Gives every chunk, with its parts of the slices, to a slot of its device.
    ///
    /// After the first failure no chunk is begun any more.
    pub(super) fn run<C: Send>(
        &self,
        plan: Plan,
        parts: impl Iterator<Item = C>,
        work: impl Fn(&mut Slot<P, D::Queue>, &Chunk, C) -> Result<(), RuntimeError> + Sync,
    ) -> Result<(), EngineError> {
        struct Progress {
            done: Vec<Range<usize>>,
            failure: Option<RuntimeError>,
        }
        let progress = Mutex::new(Progress { done: Vec::new(), failure: None });
        let before = self.cancellations.load(Ordering::Acquire);
        let goes_on = || {
            self.cancellations.load(Ordering::Acquire) == before
                && lock(&progress).failure.is_none()
        };
        let devices = self.devices.len();
        let mut queues: Vec<VecDeque<(Chunk, C)>> = (0..devices).map(|_| VecDeque::new()).collect();
        for ((number, operations), part) in ranges(plan.count, plan.chunk).enumerate().zip(parts) {
            let device = (plan.first + number) % devices;
            queues[device].push_back((Chunk { number, device, operations }, part));
        }
        // So many slots are at work on each device; the first of all is served by the caller's thread.
        let servers: Vec<usize> = queues
            .iter()
            .enumerate()
            .flat_map(|(device, queue)| {
                core::iter::repeat_n(device, queue.len().min(self.slots[device].len()))
            })
            .collect();
        let queues: Vec<_> = queues.into_iter().map(Mutex::new).collect();
        let serve = |device: usize| {
            while goes_on() {
                let next = lock(&queues[device]).pop_front();
                let Some((chunk, part)) = next else { break };
                let result = self.slots[device].take().settled(|slot| work(slot, &chunk, part));
                let mut progress = lock(&progress);
                match result {
                    Ok(()) => progress.done.push(chunk.operations),
                    Err(error) => progress.failure = progress.failure.take().or(Some(error)),
                }
            }
        };
        if let Some((&own, others)) = servers.split_first() {
            self.threads.in_place_scope(|scope| {
                for &device in others {
                    let serve = &serve;
                    scope.spawn(move |_| serve(device));
                }
                serve(own);
            });
        }
        let Progress { mut done, failure } =
            progress.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|range| range.start);
        match failure {
            Some(error) => Err(EngineError::Device { error, done }),
            None if done.iter().map(Range::len).sum::<usize>() < plan.count => {
                Err(EngineError::Cancelled { done })
            }
            None => Ok(()),
        }
    }
}

/// Operations of a chunk of a batch of `count`: at most `most`, fewer where less than half of the `slots` would get any, which hides
/// most of the transfers already, but then at least [`LEAST_CHUNK`].
fn even_chunk(count: usize, slots: usize, most: usize) -> usize {
    count.div_ceil(slots.div_ceil(2)).next_multiple_of(LEAST_CHUNK).clamp(1, most)
}

/// `0..count` in pieces of `chunk`.
fn ranges(count: usize, chunk: usize) -> impl ExactSizeIterator<Item = Range<usize>> + Send {
    (0..count.div_ceil(chunk)).map(move |i| i * chunk..count.min((i + 1) * chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_even_but_not_too_small() {
        assert_eq!(even_chunk(0, 16, 8192), 1);
        assert_eq!(even_chunk(1, 16, 8192), LEAST_CHUNK);
        assert_eq!(even_chunk(8 * LEAST_CHUNK, 16, 8192), LEAST_CHUNK);
        assert_eq!(even_chunk(8 * LEAST_CHUNK + 1, 16, 8192), 2 * LEAST_CHUNK);
        assert_eq!(even_chunk(8 * LEAST_CHUNK + 1, 16, 5000), 5000);
        assert_eq!(even_chunk(1 << 20, 16, 8192), 8192);
        assert_eq!(even_chunk(1 << 20, 16, 3), 3);
        assert_eq!(even_chunk(5, 1, 3), 3);
    }
}
