//! The choice of an engine at run time.

#[cfg(feature = "cuda")]
mod gpu;

use std::time::Duration;

use clap::ValueEnum;
use ctru_kem::Parameters;
#[cfg(feature = "cuda")]
use ctru_kem::engine::cuda::{CudaDevice, CudaEngine};
use ctru_kem::engine::{BatchEngine, CpuEngine};
#[cfg(feature = "cuda")]
use ctru_measure::ResidentWorkload;
use ctru_measure::{KeyUse, Operation, Statistics, cpu_name};
use ctru_program::tell;

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

/// The chosen engine, before it is opened.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The name on the command line and in records.
    pub(crate) name: &'static str,
    /// The name of the device that computes.
    pub(crate) device: String,
    /// The kind of code that runs on the device.
    pub(crate) backend: &'static str,
    /// The number of devices whose memory can hold data.
    pub(crate) devices: usize,
    /// The number of host threads that compute or serve the device.
    pub(crate) threads: usize,
    engine: Unopened,
}

#[derive(Debug)]
enum Unopened {
    Cpu(CpuEngine),
    #[cfg(feature = "cuda")]
    Gpu(gpu::Gpu),
}

/// An open engine. An engine on GPUs keeps memory for each parameter set that it was used with.
pub(crate) enum Opened {
    /// The CPU engine.
    Cpu(CpuEngine),
    /// The engine on GPUs, and the first of them, which has the memory for measurements.
    #[cfg(feature = "cuda")]
    Gpu { engine: Box<CudaEngine>, first: CudaDevice },
}

impl Chosen {
    /// Opens the engine.
    ///
    /// # Errors
    /// [`Error::Engine`] if the device cannot run the kernels.
    pub(crate) fn open(&self) -> Result<Opened, Error> {
        Ok(match &self.engine {
            Unopened::Cpu(engine) => Opened::Cpu(engine.clone()),
            #[cfg(feature = "cuda")]
            Unopened::Gpu(gpu) => gpu.open_engine()?,
        })
    }
}

impl Opened {
    /// Returns the engine.
    pub(crate) fn engine(&self) -> &dyn BatchEngine {
        match self {
            Self::Cpu(engine) => engine,
            #[cfg(feature = "cuda")]
            Self::Gpu { engine, .. } => &**engine,
        }
    }

    /// Measures batches of `batch` operations whose data stays in the memory of the device.
    ///
    /// # Errors
    /// [`Error::OnDeviceWithoutDevice`] if the engine has no device, [`Error::Engine`] if the
    /// device has too little memory or fails.
    #[cfg_attr(not(feature = "cuda"), expect(unused_variables, reason = "for GPUs alone"))]
    pub(crate) fn on_device(
        &self,
        parameters: Parameters,
        (operation, keys): (Operation, KeyUse),
        batch: usize,
        budget: Duration,
    ) -> Result<Statistics, Error> {
        match self {
            Self::Cpu(_) => Err(Error::OnDeviceWithoutDevice),
            #[cfg(feature = "cuda")]
            Self::Gpu { engine, first } => {
                let workload = ResidentWorkload::new(engine, parameters, first, batch)?;
                Ok(workload.batch(operation, keys, budget)?)
            }
        }
    }
}

impl EngineArgs {
    /// Starts the chosen engine. With `auto`, writes a line to standard error that says which
    /// engine it takes and why. A wrong `--gpu` is an error if there are GPUs.
    ///
    /// # Errors
    /// [`Error::Engine`] if there is no such GPU or the threads cannot be started,
    /// `Error::WithoutGpu` if this program was built without GPUs.
    pub(crate) fn start(&self) -> Result<Chosen, Error> {
        match self.engine {
            EngineChoice::Cpu => self.start_cpu(),
            EngineChoice::Gpu => self.start_gpu(),
            EngineChoice::Auto => match self.start_gpu() {
                Ok(gpu) => {
                    tell("engine", &format!("gpu ({})", gpu.device));
                    Ok(gpu)
                }
                // There are GPUs, but not the one that was asked for.
                #[cfg(feature = "cuda")]
                Err(error) if gpu::is_unknown(&error) => Err(error),
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

    fn start_cpu(&self) -> Result<Chosen, Error> {
        let engine = CpuEngine::with_threads(self.threads.into())?;
        Ok(Chosen {
            name: "cpu",
            device: cpu_name(),
            backend: ctru_math::backend::in_use().name(),
            devices: 0,
            threads: engine.threads(),
            engine: Unopened::Cpu(engine),
        })
    }

    /// Starts the engine on GPUs after checking that they support the kernels.
    #[cfg(feature = "cuda")]
    fn start_gpu(&self) -> Result<Chosen, Error> {
        let gpu = self.gpu.start()?;
        gpu.open()?;
        Ok(gpu.chosen())
    }

    #[cfg(not(feature = "cuda"))]
    fn start_gpu(&self) -> Result<Chosen, Error> {
        Err(Error::WithoutGpu)
    }
}
