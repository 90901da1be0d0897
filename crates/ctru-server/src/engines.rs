//! The engine of each scheme, made when a call first needs it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ctru_kem::ParameterSet;
use ctru_kem::engine::{CpuEngine, Engine, EngineError};

use crate::compute::{Compute, Typed};
use crate::fault::Fault;
use crate::scheme::{Scheme, Visitor};

/// Makes the engine of each parameter set.
pub trait EngineFactory: Send + Sync + 'static {
    /// The engine of one parameter set.
    type For<P: ParameterSet>: Engine<
            P,
            EncapsulationKeys: Send + Sync + 'static,
            DecapsulationKeys: Send + Sync + 'static,
        > + 'static;

    /// From this number of operations on, a key gets a call of the engine of its own, which
    /// decodes the key once. Keys with fewer operations share a call that decodes a key for each.
    const OWN_CALL: usize = 8;

    /// The most operations of a call that the thread that brings them computes at once, if nothing
    /// waits. With 0, another thread computes all calls.
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

/// The engines of all schemes. A lane of calls uses one of these.
pub struct Engines {
    at_once: usize,
    make: Box<dyn Fn(Scheme) -> Made + Send + Sync>,
    made: [Mutex<Option<Arc<dyn Compute>>>; Scheme::COUNT],
}

impl fmt::Debug for Engines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engines").finish_non_exhaustive()
    }
}

struct Make<'a, F>(&'a F);

impl<F: EngineFactory> Visitor for Make<'_, F> {
    type Output = Made;

    fn visit<P: ParameterSet>(self) -> Made {
        Ok(Arc::new(Typed::<P, F::For<P>>::new(self.0.engine::<P>()?, F::OWN_CALL)))
    }
}

impl Engines {
    /// Returns the engines that a factory makes.
    pub fn new<F: EngineFactory>(factory: F) -> Self {
        let make = move |scheme: Scheme| scheme.accept(Make(&factory));
        Self { at_once: F::AT_ONCE, make: Box::new(make), made: Default::default() }
    }

    /// Returns the most operations that the thread that brings them computes at once.
    pub(crate) fn at_once(&self) -> usize {
        self.at_once
    }

    /// Returns the engine of a scheme, and makes it if it is not there yet.
    ///
    /// # Errors
    /// `Fault::DeviceMemory` or [`Fault::Lost`] if it cannot be made. A later call tries again.
    pub(crate) fn of(&self, scheme: Scheme) -> Result<Arc<dyn Compute>, Fault> {
        let mut made = self.made[scheme.index()].lock().unwrap_or_else(PoisonError::into_inner);
        match &*made {
            Some(engine) => Ok(Arc::clone(engine)),
            None => {
                let engine = (self.make)(scheme).map_err(|error| Fault::of_engine(&error))?;
                Ok(Arc::clone(made.insert(engine)))
            }
        }
    }
}
