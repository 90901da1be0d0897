//! A lane: a queue of jobs, and the threads that take batches from it and compute them.
//!
//! A thread that is free takes the next group ([`FairQueue::next`]) that is ready: it has a full
//! batch, or its oldest job has waited for the longest delay. While all threads compute, jobs
//! gather in the queue, so batches grow with the load.
//!
//! If no job waits and none should wait for others, the submitting thread computes a job of a few
//! operations itself, on engines for which that takes less time than waking another thread
//! ([`CallSizes::at_once`](crate::CallSizes::at_once)).

use ctru_kem::Parameters;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{fmt, io};

use crate::engine::LaneEngine;
use crate::fault::Fault;
use crate::job::{Job, Kind, Shared};
use crate::lock;
use crate::queue::{FairQueue, Waiting};

/// The options of a lane.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Options {
    /// The name of the lane, for threads and metrics.
    pub(crate) name: &'static str,
    /// The number of threads.
    pub(crate) threads: usize,
    /// The largest number of operations of a batch. A larger job is a batch of its own.
    pub(crate) max_batch: usize,
    /// How long a job waits for others to join it.
    pub(crate) max_delay: Duration,
    /// The largest number of operations of calls that wait.
    pub(crate) capacity: usize,
}

/// A lane. Dropping it closes it.
pub(crate) struct Lane {
    inner: Arc<Inner>,
    threads: Vec<JoinHandle<()>>,
}

struct Inner {
    options: Options,
    engine: Arc<LaneEngine>,
    shared: Arc<Shared>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    queue: FairQueue<Group, Job>,
    is_closed: bool,
    /// When dead jobs may be removed again.
    next_sweep: Instant,
}

/// The group of a job. Jobs of the same group can be computed together.
type Group = (Kind, Parameters);

/// How often a queue is searched at most for dead jobs, when there is no room.
const SWEEP: Duration = Duration::from_millis(10);

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane").field("options", &self.inner.options).finish_non_exhaustive()
    }
}

impl Lane {
    /// Starts the threads.
    ///
    /// # Errors
    /// If the system does not start them.
    pub(crate) fn start(
        options: Options,
        engine: Arc<LaneEngine>,
        shared: Arc<Shared>,
    ) -> io::Result<Self> {
        let queue = FairQueue::new(options.capacity);
        let state = State { queue, is_closed: false, next_sweep: Instant::now() };
        let inner = Arc::new(Inner {
            options,
            engine,
            shared,
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        let mut lane = Self { inner, threads: Vec::new() };
        for number in 0..options.threads {
            let inner = Arc::clone(&lane.inner);
            let builder = thread::Builder::new().name(format!("{}-{number}", options.name));
            lane.threads.push(builder.spawn(move || inner.work())?);
        }
        Ok(lane)
    }

    /// Refuses further jobs. The threads end when they have computed all waiting jobs.
    pub(crate) fn close(&self) {
        lock(&self.inner.state).is_closed = true;
        self.inner.changed.notify_all();
    }

    /// Returns whether all threads have ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Returns the engine.
    pub(crate) fn engine(&self) -> &LaneEngine {
        &self.inner.engine
    }

    /// Returns the number of operations that wait.
    pub(crate) fn waiting(&self) -> usize {
        lock(&self.inner.state).queue.weight()
    }

    /// Adds a job, or computes it at once. If there is no room for a call, or if the engine is
    /// lost, answers the job with a fault.
    pub(crate) fn submit(&self, job: Job) {
        let Inner { shared, changed, .. } = &*self.inner;
        if shared.is_lost() {
            return job.refuse(Fault::Lost);
        }
        let now = Instant::now();
        let (group, share, count) = ((job.work.kind(), job.scheme), job.share, job.count);
        let mut state = lock(&self.inner.state);
        if state.is_closed {
            drop(state);
            return job.refuse(Fault::Leaving);
        }
        if state.queue.is_empty() && self.inner.is_done_at_once(&job) {
            drop(state);
            return self.inner.compute(group, [(job, now)]);
        }
        if job.is_message {
            state.queue.push_message(group, share, job, count, now);
            return changed.notify_one();
        }
        let mut refused = state.queue.push(group, share, job, count, now).err();
        let mut dead = Vec::new();
        if refused.is_some() && now >= state.next_sweep {
            dead = state.queue.remove_if(|job| job.is_dead(now));
            // However many messages wait, the lock is free for most of the time.
            state.next_sweep = Instant::now() + SWEEP.max(9 * now.elapsed());
            refused = refused.and_then(|job| state.queue.push(group, share, job, count, now).err());
        }
        drop(state);
        dead.into_iter().for_each(|job| job.refuse(Fault::Expired));
        match refused {
            None => changed.notify_one(),
            Some(job) => {
                shared.metrics.refused.inc();
                job.refuse(Fault::QueueFull);
            }
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.close();
    }
}

impl Inner {
    /// Returns whether the submitting thread computes a job itself if no other job waits.
    fn is_done_at_once(&self, job: &Job) -> bool {
        let most = self.engine.calls().at_once;
        let is_short = matches!(job.work.kind(), Kind::Encapsulate | Kind::Decapsulate);
        // Even a job without operations may be the first one of its set, which takes a GPU seconds.
        most > 0 && is_short && job.count <= most && self.options.max_delay.is_zero()
    }

    fn work(&self) {
        while let Some((group, waiting)) = self.next() {
            self.compute(group, waiting.into_iter().map(|Waiting { job, since, .. }| (job, since)));
        }
    }

    /// Computes jobs of a group, which came at the times beside them, and answers all of them.
    fn compute(&self, (kind, scheme): Group, waiting: impl IntoIterator<Item = (Job, Instant)>) {
        let now = Instant::now();
        let mut jobs = Vec::new();
        let is_lost = self.shared.is_lost();
        for (job, since) in waiting {
            self.shared.metrics.waited(self.options.name, now.saturating_duration_since(since));
            if is_lost {
                job.refuse(Fault::Lost);
            } else if job.is_dead(now) || !job.claim.take() {
                job.refuse(Fault::Expired);
            } else {
                jobs.push(job);
            }
        }
        if jobs.is_empty() {
            return;
        }
        // A panic drops the senders of the answers, which the receivers take for a failure.
        let run = AssertUnwindSafe(|| self.engine.run(kind, scheme, jobs, &self.shared));
        if catch_unwind(run).is_err() {
            tracing::error!(kind = kind.name(), %scheme, "a batch has panicked");
        }
    }

    /// Waits for a batch. Returns `None` when the lane is closed and empty.
    fn next(&self) -> Option<(Group, Vec<Waiting<Job>>)> {
        let Options { max_batch, max_delay, .. } = self.options;
        let mut state = lock(&self.state);
        loop {
            let (now, is_closed) = (Instant::now(), state.is_closed);
            let left = |since| max_delay.saturating_sub(now.saturating_duration_since(since));
            let is_ready =
                |since, weight| weight >= max_batch || left(since).is_zero() || is_closed;
            let Some((group, since, weight)) = state.queue.next(is_ready) else {
                if is_closed {
                    return None;
                }
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            if is_ready(since, weight) {
                let batch = state.queue.take(group, max_batch, now, |job| job.is_dead(now));
                if !state.queue.is_empty() {
                    self.changed.notify_one();
                }
                return Some((group, batch));
            }
            let (next, _) = self
                .changed
                .wait_timeout(state, left(since))
                .unwrap_or_else(PoisonError::into_inner);
            state = next;
        }
    }
}
