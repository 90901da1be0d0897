//! Engines chosen at run time.

pub(crate) mod any_set;

use clap::ValueEnum;
use ctru_kem::engine::CpuEngine;

pub use any_set::{AnySetEngine, cpu_name};

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
    /// Threads of the CPU engine, one for each core if 0, 4096 at most
    #[arg(
        long,
        default_value_t = 0,
        hide_default_value = true,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(..=4096)
    )]
    threads: u16,
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

impl EngineArgs {
    /// Starts the engine.
    ///
    /// # Errors
    /// [`Error::Engine`] if it cannot work here, [`Error::WithoutGpu`] if this program knows no GPU.
    pub fn start(&self) -> Result<Started, Error> {
        let cpu = || Ok(Started::Cpu(CpuEngine::with_threads(self.threads.into())?));
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
