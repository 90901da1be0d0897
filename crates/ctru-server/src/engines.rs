//! The engine of each scheme, made when a call first needs it, and wiped when none needs it.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ctru_kem::engine::{CpuEngine, Engine, EngineError};
use ctru_kem::{ParameterSet, Parameters, known_answer_test, with_parameters};

use crate::checked::{Checked, Comparison};
use crate::compute::{Compute, Typed};
use crate::fault::Fault;
use crate::job::{Job, Kind, Shared};
use crate::scheme;

/// Makes the engine of each parameter set.
pub trait EngineFactory: Send + Sync + 'static {
    /// The engine of one parameter set.
    type For<P: ParameterSet>: Engine<
            P,
            EncapsulationKeys: Send + Sync + 'static,
            DecapsulationKeys: Send + Sync + 'static,
        > + 'static;

    /// The least number of operations for which a key gets a call of the engine of its own, which
    /// decodes the key once. Keys with fewer operations share a call, which decodes a key for each
    /// operation.
    const OWN_CALL: usize = 8;

    /// The largest call, in operations, that the submitting thread computes itself if no job waits.
    /// With 0, other threads compute all calls.
    const AT_ONCE: usize = 0;

    /// Makes the engine of one parameter set.
    ///
    /// # Errors
    /// [`EngineError`] if the device or the host has too little memory, or if the device fails.
    fn engine<P: ParameterSet>(&self) -> Result<Self::For<P>, EngineError>;
}

impl EngineFactory for CpuEngine {
    type For<P: ParameterSet> = Self;

    // With n = 761, they take 14 to 28 us. The threads of the asynchronous runtime should not
    // compute for much longer.
    const AT_ONCE: usize = 8;

    fn engine<P: ParameterSet>(&self) -> Result<Self, EngineError> {
        Ok(self.clone())
    }
}

type Made = Result<Arc<dyn Compute>, EngineError>;

/// How long an unused engine keeps secrets of its last batches.
const IDLE: Duration = Duration::from_secs(1);
/// How long an engine in constant use keeps old secrets. Its next batches may be smaller, and then
/// they do not overwrite them.
const BUSY: Duration = Duration::from_secs(60);

/// The engines of all schemes. A lane of calls uses one of these.
pub struct Engines {
    at_once: usize,
    make: Box<dyn Fn(Parameters) -> Made + Send + Sync>,
    made: [Mutex<Option<Arc<dyn Compute>>>; scheme::COUNT],
    uses: [Mutex<Use>; scheme::COUNT],
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
        let now = Instant::now();
        state.last = Some(now);
        // What the call has left behind while the engine was wiped.
        state.first.get_or_insert(now);
    }
}

impl fmt::Debug for Engines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engines").finish_non_exhaustive()
    }
}

/// Makes the engine of one parameter set, after a test of this machine with known answers.
fn make<P: ParameterSet, F: EngineFactory>(factory: &F, comparison: Option<Comparison>) -> Made {
    known_answer_test::<P>().map_err(|_| EngineError::Wrong("the known-answer test"))?;
    let engine = Checked::new(factory.engine::<P>()?, comparison);
    Ok(Arc::new(Typed::<P, Checked<F::For<P>>>::new(engine, F::OWN_CALL)))
}

impl Engines {
    /// Returns the engines that a factory makes. Each key pair that they generate encapsulates and
    /// decapsulates once before it is given away.
    pub fn new<F: EngineFactory>(factory: F) -> Self {
        Self::of_factory(factory, None)
    }

    /// Returns the engines that a factory makes. The CPU computes one in `one_in` of their
    /// operations again: the first one of each scheme, and then random ones. An engine with a wrong
    /// result counts as lost.
    ///
    /// # Errors
    /// [`EngineError::Threads`] if the system does not start threads.
    pub fn compared<F: EngineFactory>(factory: F, one_in: NonZeroU64) -> Result<Self, EngineError> {
        // The thread of each batch computes its samples.
        let cpu = CpuEngine::with_threads(1)?;
        Ok(Self::of_factory(factory, Some(Comparison { cpu, one_in })))
    }

    fn of_factory<F: EngineFactory>(factory: F, comparison: Option<Comparison>) -> Self {
        let make = move |scheme: Parameters| {
            let comparison = comparison.clone();
            with_parameters!(scheme, P => make::<P, F>(&factory, comparison))
        };
        let (made, uses) = Default::default();
        Self { at_once: F::AT_ONCE, make: Box::new(make), made, uses }
    }

    /// Returns the largest call, in operations, that the submitting thread computes itself.
    pub(crate) fn at_once(&self) -> usize {
        self.at_once
    }

    /// Computes jobs of one kind, and answers all of them.
    pub(crate) fn run(&self, kind: Kind, scheme: Parameters, jobs: Vec<Job>, shared: &Shared) {
        match self.of(scheme) {
            Ok(engine) => {
                let _using = Using::begin(&self.uses[scheme::index(scheme)]);
                engine.run(kind, jobs, shared);
            }
            Err(fault) => {
                if fault == Fault::Lost {
                    shared.lose();
                }
                jobs.into_iter().for_each(|job| job.work.refuse(fault.clone()));
            }
        }
    }

    /// Returns the engine of a scheme, and makes it if it is not there yet.
    ///
    /// # Errors
    /// `Fault::DeviceMemory` or [`Fault::Lost`] if it cannot be made. A later call tries again.
    fn of(&self, scheme: Parameters) -> Result<Arc<dyn Compute>, Fault> {
        let mut made = lock(&self.made[scheme::index(scheme)]);
        match &*made {
            Some(engine) => Ok(Arc::clone(engine)),
            None => {
                let engine = (self.make)(scheme).map_err(|error| Fault::of_engine(&error))?;
                Ok(Arc::clone(made.insert(engine)))
            }
        }
    }

    /// Notes that keys of a scheme were unloaded.
    pub(crate) fn unloaded(&self, scheme: Parameters) {
        lock(&self.uses[scheme::index(scheme)]).is_unloaded = true;
    }

    /// Wipes the engines that are due, or with `all` each engine that was used. Calls go on: an
    /// engine is wiped slot by slot, and a call waits for one slot at most.
    pub(crate) fn wipe(&self, all: bool, shared: &Shared) {
        for (in_use, made) in self.uses.iter().zip(&self.made) {
            let mut state = lock(in_use);
            if state.first.is_none() || !(all || state.is_due(Instant::now())) {
                continue;
            }
            // Calls that are under way may leave secrets behind the wiping.
            state.first = (state.calls > 0).then(Instant::now);
            state.is_unloaded = false;
            drop(state);
            let engine = lock(made).clone();
            if let Some(engine) = engine {
                engine.wipe(shared);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
