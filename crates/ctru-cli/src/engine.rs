//! Engines chosen at run time.

use std::fs;

use clap::ValueEnum;
use ctru_kem::ParameterSet;
use ctru_kem::engine::{CpuEngine, Engine};

use crate::error::Error;

/// Which engine computes batches.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineChoice {
    /// All cores of this machine.
    Cpu,
    /// An NVIDIA GPU.
    Gpu,
    /// A GPU if there is one, the CPU otherwise.
    Auto,
}

/// Options of every command that runs batches.
#[derive(Clone, Debug, clap::Args)]
pub struct EngineArgs {
    /// Which engine computes batches
    #[arg(long, value_enum, default_value = "cpu")]
    engine: EngineChoice,
    /// Threads of the CPU engine, one for each core if 0
    #[arg(long, default_value_t = 0, hide_default_value = true, value_name = "N")]
    threads: usize,
    #[cfg(feature = "cuda")]
    #[command(flatten)]
    gpu: crate::gpu::GpuArgs,
}

/// An engine that has been started; `with_engine!` makes one type of it.
#[derive(Debug)]
pub enum Started {
    /// On the CPU.
    Cpu(CpuEngine),
    /// On a GPU.
    #[cfg(feature = "cuda")]
    Gpu(crate::gpu::Gpu),
}

/// Evaluates an expression with the started engine of [`EngineArgs`] as a reference to some [`AnySetEngine`].
macro_rules! with_engine {
    ($args:expr, |$engine:ident| $body:expr) => {
        match $args.start()? {
            $crate::engine::Started::Cpu(engine) => {
                let $engine = &engine;
                $body
            }
            #[cfg(feature = "cuda")]
            $crate::engine::Started::Gpu(engine) => {
                let $engine = &engine;
                $body
            }
        }
    };
}
pub(crate) use with_engine;

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

impl EngineArgs {
    /// Starts the engine.
    ///
    /// # Errors
    /// [`Error::Engine`] if it cannot work here, [`Error::WithoutGpu`] if this program knows no GPU.
    pub fn start(&self) -> Result<Started, Error> {
        let cpu = || Ok(Started::Cpu(CpuEngine::with_threads(self.threads)?));
        match self.engine {
            EngineChoice::Cpu => cpu(),
            #[cfg(feature = "cuda")]
            EngineChoice::Gpu => Ok(Started::Gpu(self.gpu.start()?)),
            #[cfg(feature = "cuda")]
            EngineChoice::Auto => {
                if crate::gpu::is_there() {
                    Ok(Started::Gpu(self.gpu.start()?))
                } else {
                    cpu()
                }
            }
            #[cfg(not(feature = "cuda"))]
            EngineChoice::Gpu => Err(Error::WithoutGpu),
            #[cfg(not(feature = "cuda"))]
            EngineChoice::Auto => cpu(),
        }
    }
}

/// What this machine's CPU calls itself, or its architecture where it does not say.
#[must_use]
pub fn cpu_name() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        cpuinfo.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| key.trim() == "model name");
    model.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}
