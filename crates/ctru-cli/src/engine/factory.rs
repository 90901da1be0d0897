//! The chosen engine before the parameter set is known: a factory, which makes engines for
//! parameter sets.

use std::time::Duration;

use ctru_kem::ParameterSet;
use ctru_kem::engine::{CpuEngine, Engine};
use ctru_measure::{HostMemory, KeyUse, Operation, Statistics, cpu_name};

use crate::error::Error;

/// Makes engines for parameter sets, and describes them for records.
pub(crate) trait EngineFactory {
    /// The engine for one parameter set.
    type For<P: ParameterSet>: Engine<P>;

    /// Makes the engine for one parameter set.
    ///
    /// # Errors
    /// [`Error::Engine`] if the device cannot run the kernels, or if the device or the host has too
    /// little memory.
    fn engine<P: ParameterSet>(&self) -> Result<Self::For<P>, Error>;

    /// Measures batches of `batch` operations whose data stays in the memory of the device.
    ///
    /// # Errors
    /// [`Error::OnDeviceWithoutDevice`] if the engine has no device, [`Error::Engine`] if the
    /// device has too little memory or fails.
    fn on_device<P: ParameterSet>(
        &self,
        engine: &Self::For<P>,
        case: (Operation, KeyUse),
        batch: usize,
        budget: Duration,
    ) -> Result<Statistics, Error>;

    /// Returns the name on the command line and in records.
    fn name(&self) -> &'static str;
    /// Returns the name of the device that computes.
    fn device(&self) -> String;
    /// Returns the kind of code that runs on the device.
    fn backend(&self) -> &'static str;
    /// Returns how data travels between the host's memory and the device.
    fn transfers(&self, memory: HostMemory) -> &'static str;
    /// Returns the number of host threads that compute or serve the device.
    fn threads(&self) -> usize;
}

impl EngineFactory for CpuEngine {
    type For<P: ParameterSet> = Self;

    fn engine<P: ParameterSet>(&self) -> Result<Self, Error> {
        Ok(self.clone())
    }
    fn on_device<P: ParameterSet>(
        &self,
        _: &Self,
        _: (Operation, KeyUse),
        _: usize,
        _: Duration,
    ) -> Result<Statistics, Error> {
        Err(Error::OnDeviceWithoutDevice)
    }
    fn name(&self) -> &'static str {
        "cpu"
    }
    fn device(&self) -> String {
        cpu_name()
    }
    fn backend(&self) -> &'static str {
        ctru_math::backend::in_use().name()
    }
    fn transfers(&self, _: HostMemory) -> &'static str {
        "none"
    }
    fn threads(&self) -> usize {
        self.threads()
    }
}
