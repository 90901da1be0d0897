//! The choice of an engine at run time.

mod factory;
#[cfg(feature = "cuda")]
mod gpu;

use clap::ValueEnum;
use ctru_kem::engine::CpuEngine;
use ctru_program::tell;

pub(crate) use factory::EngineFactory;

use crate::error::Error;

/// The engine that the user chooses.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineChoice {
    /// All cores of this machine
    Cpu,
    /// An NVIDIA GPU
    Gpu,
    /// A GPU if there is one, the CPU otherwise
    Auto,
}

/// The options of every command that runs batches.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct EngineArgs {
    /// Which engine computes batches; `auto` says which it takes
    #[arg(long, value_enum, default_value = "auto")]
    engine: EngineChoice,
    /// Threads of the CPU engine, 4096 at most; if 0, one per core or as `RAYON_NUM_THREADS` says
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
    gpu: gpu::GpuArgs,
}

/// The factory of the chosen engine.
#[derive(Debug)]
pub(crate) enum AnyFactory {
    /// The CPU engine.
    Cpu(CpuEngine),
    /// The engine on GPUs.
    #[cfg(feature = "cuda")]
    Gpu(gpu::Gpu),
}

/// Evaluates an expression in which `$engine` is a reference to the [`EngineFactory`] that the
/// [`EngineArgs`] choose.
macro_rules! with_engine {
    ($args:expr, |$engine:ident| $body:expr) => {
        match $args.start()? {
            $crate::engine::AnyFactory::Cpu(engine) => {
                let $engine = &engine;
                $body
            }
            #[cfg(feature = "cuda")]
            $crate::engine::AnyFactory::Gpu(engine) => {
                let $engine = &engine;
                $body
            }
        }
    };
}
pub(crate) use with_engine;

impl EngineArgs {
    /// Starts the chosen engine. With `auto`, writes a line to standard error that says which
    /// engine it takes and why.
    ///
    /// # Errors
    /// [`Error::Engine`] if there is no such GPU or the threads cannot be started,
    /// `Error::WithoutGpu` if this program was built without GPUs.
    pub(crate) fn start(&self) -> Result<AnyFactory, Error> {
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
                    // The log of the driver's compiler follows in further lines.
                    let reason = reason.lines().next().unwrap_or_default();
                    tell("engine", &format!("cpu ({reason})"));
                    self.start_cpu()
                }
            },
        }
    }

    fn start_cpu(&self) -> Result<AnyFactory, Error> {
        Ok(AnyFactory::Cpu(CpuEngine::with_threads(self.threads.into())?))
    }

    #[cfg(feature = "cuda")]
    fn start_gpu(&self) -> Result<AnyFactory, Error> {
        self.gpu.start().map(AnyFactory::Gpu)
    }

    /// Starts the engine on GPUs after checking that they support the kernels. Returns the engine
    /// and the name of the device.
    #[cfg(feature = "cuda")]
    fn start_usable_gpu(&self) -> Result<(AnyFactory, String), Error> {
        let gpu = self.gpu.start()?;
        gpu.open()?;
        let name = gpu.device();
        Ok((AnyFactory::Gpu(gpu), name))
    }

    #[cfg(not(feature = "cuda"))]
    fn start_gpu(&self) -> Result<AnyFactory, Error> {
        Err(Error::WithoutGpu)
    }

    #[cfg(not(feature = "cuda"))]
    fn start_usable_gpu(&self) -> Result<(AnyFactory, String), Error> {
        Err(Error::WithoutGpu)
    }
}
