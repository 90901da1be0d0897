//! Engines chosen at run time.

pub(crate) mod any_set;

use clap::ValueEnum;
use ctru_kem::engine::CpuEngine;

pub use any_set::{AnySetEngine, cpu_name};

use crate::error::Error;
use crate::tell;

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
    /// Which engine computes batches; `auto` says which it takes
    #[arg(long, value_enum, default_value = "auto")]
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

/// An engine that has been started, of one of the types that `with_engine!` tells apart.
#[derive(Debug)]
pub enum Started {
    /// On the CPU.
    Cpu(CpuEngine),
    /// On a GPU.
    #[cfg(feature = "cuda")]
    Gpu(crate::gpu::Gpu),
}

/// Starts the engine of [`EngineArgs`] and evaluates an expression with a reference to it, which is
/// some [`AnySetEngine`].
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
    /// Starts the engine. Where it is chosen automatically, a line on standard error says which one
    /// was taken and why.
    ///
    /// # Errors
    /// [`Error::Engine`] if it cannot work here, [`Error::WithoutGpu`] if this program was built
    /// without GPUs.
    pub fn start(&self) -> Result<Started, Error> {
        match self.engine {
            EngineChoice::Cpu => self.start_cpu(),
            EngineChoice::Gpu => self.start_gpu(),
            EngineChoice::Auto => match self.start_usable_gpu() {
                Ok((gpu, name)) => {
                    tell("engine", &format!("gpu ({name})"));
                    Ok(gpu)
                }
                Err(reason) => {
                    let reason = match reason {
                        Error::Engine(reason) => reason.to_string(),
                        reason => reason.to_string(),
                    };
                    // The driver's compiler explains itself in the lines that follow.
                    let reason = reason.lines().next().unwrap_or_default();
                    tell("engine", &format!("cpu ({reason})"));
                    self.start_cpu()
                }
            },
        }
    }

    fn start_cpu(&self) -> Result<Started, Error> {
        Ok(Started::Cpu(CpuEngine::with_threads(self.threads.into())?))
    }

    #[cfg(feature = "cuda")]
    fn start_gpu(&self) -> Result<Started, Error> {
        self.gpu.start().map(Started::Gpu)
    }

    /// Starts the engine on a GPU that runs the kernels, and returns it with the name of the GPU.
    #[cfg(feature = "cuda")]
    fn start_usable_gpu(&self) -> Result<(Started, String), Error> {
        let gpu = self.gpu.start()?;
        gpu.open()?;
        let name = gpu.device();
        Ok((Started::Gpu(gpu), name))
    }

    #[cfg(not(feature = "cuda"))]
    fn start_gpu(&self) -> Result<Started, Error> {
        Err(Error::WithoutGpu)
    }

    #[cfg(not(feature = "cuda"))]
    fn start_usable_gpu(&self) -> Result<(Started, String), Error> {
        Err(Error::WithoutGpu)
    }
}
