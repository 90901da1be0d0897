//! The choice of the engine.

#[cfg(feature = "cuda")]
use std::num::NonZeroU64;
use std::sync::Arc;

use clap::ValueEnum;
use ctru_kem::engine::CpuEngine;
#[cfg(feature = "cuda")]
use ctru_kem::engine::{DeviceEngine, DeviceOptions};
use ctru_server::{CallSizes, LaneEngine, LaneEngines};

use crate::Result;

/// An engine.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Choice {
    /// A GPU if there is one, the CPU otherwise
    Auto,
    /// All cores of this machine
    Cpu,
    /// NVIDIA GPUs
    Cuda,
}

/// The options of the engine.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct EngineArgs {
    /// Which engine computes
    #[arg(long, value_enum, default_value = "cpu")]
    engine: Choice,
    /// Number of the GPU; repeat for several GPUs of one kind. A GPU that is named twice counts
    /// once
    #[arg(long = "gpu", default_values_t = [0], value_name = "N")]
    gpus: Vec<u32>,
    /// The share of a GPU's operations that the CPU computes again, such as 1/1000, or 0 for none.
    /// A wrong result ends the server like the loss of the GPU
    #[arg(long, default_value = "1/65536", value_name = "1/N", value_parser = share)]
    check_gpu: u64,
    /// Threads of the CPU engine, if 0, one per core or as `RAYON_NUM_THREADS` says
    #[arg(long, default_value_t = 0, value_name = "N")]
    threads: u16,
}

/// Reads `1/N` or 0. Returns `N`, or 0.
///
/// # Errors
/// If the text is something else.
fn share(text: &str) -> std::result::Result<u64, String> {
    match text.strip_prefix("1/").map(str::parse) {
        Some(Ok(number)) if number > 0 => Ok(number),
        None if text == "0" => Ok(0),
        _ => Err("a share is 1/N, such as 1/65536, or 0".into()),
    }
}

impl EngineArgs {
    /// Starts the chosen engine.
    ///
    /// # Errors
    /// If there is no such GPU, or if the system does not start the threads.
    pub(crate) fn start(&self) -> Result<LaneEngines> {
        match self.engine {
            Choice::Cpu => self.cpu(),
            Choice::Cuda => self.cuda(),
            Choice::Auto => self.cuda().or_else(|reason| {
                // The log of the driver's compiler follows in further lines.
                let reason = reason.to_string();
                let reason = reason.lines().next().unwrap_or_default();
                tracing::info!(reason, "the CPU computes, because there is no GPU");
                self.cpu()
            }),
        }
    }

    /// Returns an engine for each lane, so that the large batches of one do not delay the small
    /// ones of the other: the system divides the cores among the threads of both.
    fn cpu(&self) -> Result<LaneEngines> {
        let engine = || -> Result<Arc<LaneEngine>> {
            let engine = CpuEngine::with_threads(self.threads.into())?;
            Ok(Arc::new(LaneEngine::new(engine, CallSizes::CPU)))
        };
        Ok(LaneEngines {
            small: engine()?,
            large: engine()?,
            name: "cpu".into(),
            device_bytes: None,
        })
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self) -> Result<LaneEngines> {
        let gpus = gpu::Gpus::open(&self.gpus)?;
        let (name, device_bytes) = (gpus.name(), gpus.device_bytes());
        let engine = DeviceEngine::over(gpus.devices, DeviceOptions::default())?;
        let one_in = NonZeroU64::new(self.check_gpu);
        let small = Arc::new(LaneEngine::beside_cpu(engine, CallSizes::GPU, one_in)?);
        let large = Arc::clone(&small);
        Ok(LaneEngines { small, large, name, device_bytes: Some(device_bytes) })
    }

    #[cfg(not(feature = "cuda"))]
    fn cuda(&self) -> Result<LaneEngines> {
        Err("this program was built without the feature `cuda`".into())
    }
}

#[cfg(feature = "cuda")]
mod gpu {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use ctru_gpu_runtime::Device as _;
    use ctru_kem::engine::cuda::{self, CudaDevice};
    use ctru_server::DeviceBytes;

    use crate::Result;

    /// Opened GPUs.
    pub(super) struct Gpus {
        pub(super) devices: Vec<CudaDevice>,
        names: Vec<String>,
    }

    impl Gpus {
        pub(super) fn open(numbers: &[u32]) -> Result<Self> {
            let (known, numbers) = (cuda::devices()?, BTreeSet::from_iter(numbers));
            let devices: std::result::Result<Vec<_>, _> =
                numbers.iter().map(|&&number| cuda::open(number)).collect();
            let devices = devices?;
            let named = |number: &u32| known.iter().find(|info| info.index == *number);
            let names =
                numbers.into_iter().filter_map(named).map(|info| info.name.clone()).collect();
            Ok(Self { devices, names })
        }

        pub(super) fn name(&self) -> String {
            self.names.join(", ")
        }

        pub(super) fn device_bytes(&self) -> DeviceBytes {
            let devices = self.devices.clone();
            Arc::new(move || {
                let used = |device: &CudaDevice| {
                    device.memory_info().ok().map(|memory| (memory.total - memory.free) as u64)
                };
                devices.iter().map(used).sum()
            })
        }
    }
}
