//! The engine that the user chooses at run time.

mod factory;

use clap::ValueEnum;
use ctru_kem::engine::CpuEngine;

pub(crate) use factory::EngineFactory;

use crate::error::Error;

/// An engine, or the choice of one.
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
    /// Which engine computes batches
    #[arg(long, value_enum, default_value = "cpu")]
    engine: EngineChoice,
    /// Threads of the CPU engine, one per core if 0, 4096 at most
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

/// The factory of the chosen engine.
#[derive(Debug)]
pub(crate) enum AnyFactory {
    /// The CPU engine.
    Cpu(CpuEngine),
    /// The engine on GPUs.
    #[cfg(feature = "cuda")]
    Gpu(crate::gpu::Gpu),
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
    /// Finds the chosen device.
    ///
    /// # Errors
    /// [`Error::Engine`] if there is no such device, [`Error::WithoutGpu`] if this program was
    /// built without GPUs.
    pub(crate) fn start(&self) -> Result<AnyFactory, Error> {
        let cpu = || Ok(AnyFactory::Cpu(CpuEngine::with_threads(self.threads.into())?));
        match self.engine {
            EngineChoice::Cpu => cpu(),
            #[cfg(feature = "cuda")]
            EngineChoice::Gpu => Ok(AnyFactory::Gpu(self.gpu.start()?)),
            #[cfg(feature = "cuda")]
            EngineChoice::Auto => {
                if crate::gpu::is_there() {
                    Ok(AnyFactory::Gpu(self.gpu.start()?))
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
