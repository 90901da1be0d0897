//! The engine of a lane: it is tested before its first use, its results are checked, and its memory
//! is wiped when no call needs it.

use std::num::NonZeroU64;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use ctru_kem::Parameters;
use ctru_kem::engine::{BatchEngine, EngineError};

use crate::checked::Checked;
use crate::compute::Computer;
use crate::fault::Fault;
use crate::job::{Job, Kind, Shared};
use crate::lock;

/// How long an unused engine keeps secrets of its last batches.
const IDLE: Duration = Duration::from_secs(1);
/// How long an engine in constant use keeps old secrets. Its next batches may be smaller, and then
/// they do not overwrite them.
const BUSY: Duration = Duration::from_secs(60);

/// The calls that suit an engine, and the threads and the queue.
#[derive(Copy, Clone, Debug)]
pub struct CallSizes {
    /// The least number of operations for which a key gets a call of the engine of its own, which
    /// decodes the key once. Keys with fewer operations share a call, which decodes a key for each
    /// operation.
    pub own_call: usize,
    /// The largest call, in operations, that the submitting thread computes itself if no job waits.
    /// With 0, other threads compute all calls.
    pub at_once: usize,
    /// The threads of each lane that call the engine, at least 1.
    pub threads: usize,
    /// The most operations that messages of streams share in one batch, if the options do not say.
    pub stream_batch: usize,
    /// The most operations that wait in each lane, if the options do not say.
    pub queue: usize,
}

impl CallSizes {
    /// Those of an engine on the CPU. With n = 761, 8 operations take 18 to 35 us on a Zen 5 with
    /// AVX-512 (record: zen5/peers.jsonl). The threads of the asynchronous runtime should not
    /// compute for much longer. The answers of larger batches of streams do not fit into the cache
    /// of a core.
    pub const CPU: Self =
        Self { own_call: 8, at_once: 8, threads: 2, stream_batch: 1 << 10, queue: 1 << 15 };
    /// Those of an engine on a GPU. However small a call is, it takes some 30 us, or 130 us to
    /// generate keys (record: h200/batches.jsonl), and decoding is cheap.
    pub const GPU: Self =
        Self { own_call: 256, at_once: 0, threads: 8, stream_batch: 1 << 13, queue: 1 << 18 };
}

/// An engine for the calls of a lane.
#[derive(Debug)]
pub struct LaneEngine {
    engine: Checked,
    calls: CallSizes,
    /// For each of [`Parameters::ALL`] that was used, whether the known-answer test has passed.
    tests: [OnceLock<bool>; Parameters::ALL.len()],
    in_use: Mutex<Use>,
}

/// The use of an engine.
#[derive(Debug, Default)]
struct Use {
    /// The calls that are under way.
    calls: usize,
    /// The start of the oldest call whose secrets the engine may still hold.
    first: Option<Instant>,
    /// The end of the last call.
    last: Option<Instant>,
    /// Whether keys were unloaded since the last wiping.
    is_unloaded: bool,
}

impl Use {
    /// Returns whether the engine should be wiped at the time `now`.
    fn is_due(&self, now: Instant) -> bool {
        let since = |time: Option<Instant>| time.map(|time| now.saturating_duration_since(time));
        let is_idle = self.calls == 0 && since(self.last).is_some_and(|time| time >= IDLE);
        let is_old = since(self.first).is_some_and(|time| time >= BUSY);
        self.first.is_some() && (is_idle || is_old || self.is_unloaded)
    }

    /// Notes that a wiping has succeeded which had begun at the time `begun`. Calls that went on
    /// since may have left secrets behind it.
    fn note_wiped(&mut self, begun: Instant) {
        let went_on = self.calls > 0 || self.last.is_some_and(|end| end >= begun);
        self.first = went_on.then_some(begun);
    }
}

/// A call of an engine that is under way.
struct Using<'a>(&'a Mutex<Use>);

impl<'a> Using<'a> {
    fn begin(in_use: &'a Mutex<Use>) -> Self {
        let mut state = lock(in_use);
        state.calls += 1;
        state.first.get_or_insert_with(Instant::now);
        Self(in_use)
    }
}

impl Drop for Using<'_> {
    fn drop(&mut self) {
        let mut state = lock(self.0);
        state.calls -= 1;
        state.last = Some(Instant::now());
    }
}

impl LaneEngine {
    /// Returns an engine for a lane. Each key pair that it generates encapsulates and decapsulates
    /// once before it is given away.
    pub fn new(engine: impl BatchEngine + 'static, calls: CallSizes) -> Self {
        Self::checked(Checked::new(engine), calls)
    }

    /// Returns an engine for devices for a lane. The CPU computes what it does not support, and one
    /// in `one_in` of its operations again: the first one of each scheme, and then random ones. An
    /// engine with a wrong result counts as lost.
    ///
    /// # Errors
    /// [`EngineError::Threads`] if the system does not start threads.
    pub fn beside_cpu(
        engine: impl BatchEngine + 'static,
        calls: CallSizes,
        one_in: Option<NonZeroU64>,
    ) -> Result<Self, EngineError> {
        Ok(Self::checked(Checked::beside_cpu(engine, one_in)?, calls))
    }

    fn checked(engine: Checked, calls: CallSizes) -> Self {
        Self { engine, calls, tests: Default::default(), in_use: Mutex::default() }
    }

    /// Returns the calls that suit the engine.
    pub(crate) fn calls(&self) -> CallSizes {
        self.calls
    }

    /// Computes jobs of one kind, and answers all of them.
    pub(crate) fn run(&self, kind: Kind, scheme: Parameters, jobs: Vec<Job>, shared: &Shared) {
        let test = || scheme.known_answer_test().is_ok();
        if !self.tests[scheme.index()].get_or_init(test) {
            tracing::error!(%scheme, "this machine computes wrongly: the known-answer test failed");
            shared.lose();
            return jobs.into_iter().for_each(|job| job.refuse(Fault::Lost));
        }
        let _using = Using::begin(&self.in_use);
        let (engine, own_call) = (&self.engine, self.calls.own_call);
        Computer { engine, own_call, scheme, shared }.run(kind, jobs);
    }

    /// Notes that keys were unloaded.
    pub(crate) fn unloaded(&self) {
        lock(&self.in_use).is_unloaded = true;
    }

    /// Wipes the engine if it is due, or with `all` if it was used. Calls go on: an engine is wiped
    /// slot by slot, and a call waits for one slot at most. An engine counts as wiped when this has
    /// succeeded.
    pub(crate) fn wipe(&self, all: bool, shared: &Shared) {
        let begun = Instant::now();
        let mut state = lock(&self.in_use);
        if state.first.is_none() || !(all || state.is_due(begun)) {
            return;
        }
        let was_unloaded = std::mem::take(&mut state.is_unloaded);
        drop(state);
        let wiped = self.engine.wipe();
        let mut state = lock(&self.in_use);
        match wiped {
            Ok(()) => state.note_wiped(begun),
            Err(error) => {
                state.is_unloaded |= was_unloaded;
                drop(state);
                if Fault::of_engine(&error) == Fault::Lost {
                    shared.lose();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_wiped_when_their_time_has_come() {
        let in_use = Mutex::new(Use::default());
        let after = |seconds| Instant::now() + Duration::from_secs(seconds);
        let is_due = |seconds| lock(&in_use).is_due(after(seconds));
        assert!(!is_due(0) && !is_due(1000));
        lock(&in_use).is_unloaded = true;
        assert!(!is_due(1), "an engine that was not used");
        lock(&in_use).is_unloaded = false;
        let (one, two) = (Using::begin(&in_use), Using::begin(&in_use));
        drop(one);
        assert!(!is_due(5), "a call is under way");
        assert!(is_due(61), "old secrets of an engine that is always in use");
        drop(two);
        assert!(!is_due(0) && is_due(1));
        lock(&in_use).is_unloaded = true;
        assert!(is_due(0), "keys were unloaded");
    }
}
