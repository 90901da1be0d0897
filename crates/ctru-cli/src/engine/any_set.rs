//! What an engine is before the parameter set is chosen.

use std::fs;

use ctru_kem::ParameterSet;
use ctru_kem::engine::{CpuEngine, Engine};

use crate::error::Error;

/// An engine that works for every parameter set, and what records say about it.
pub trait AnySetEngine {
    /// The engine of one parameter set.
    type For<P: ParameterSet>: Engine<P>;

    /// The engine of one parameter set.
    ///
    /// # Errors
    /// [`Error::Engine`] if there is no room for it.
    fn engine<P: ParameterSet>(&self) -> Result<Self::For<P>, Error>;

    /// Its name on the command line and in records.
    fn name(&self) -> &'static str;
    /// The device that computes.
    fn device(&self) -> String;
    /// The kind of code that runs there.
    fn backend(&self) -> &'static str;
    /// How data comes to the device and back.
    fn transfers(&self) -> &'static str;
    /// Threads of the host that compute or serve the device.
    fn threads(&self) -> usize;
}

impl AnySetEngine for CpuEngine {
    type For<P: ParameterSet> = Self;

    fn engine<P: ParameterSet>(&self) -> Result<Self, Error> {
        Ok(self.clone())
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
    fn transfers(&self) -> &'static str {
        "none"
    }
    fn threads(&self) -> usize {
        self.threads()
    }
}

/// What this machine's CPU calls itself, or its architecture where it does not say.
#[must_use]
pub fn cpu_name() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == "model name");
    model.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}
