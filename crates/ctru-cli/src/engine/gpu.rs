//! The engine on NVIDIA GPUs, and its options.

use std::collections::BTreeSet;

use clap::builder::RangedU64ValueParser;
use ctru_kem::engine::cuda::{self, CudaDevice, DeviceInfo};
use ctru_kem::engine::{DeviceEngine, DeviceOptions, EngineError, RuntimeError};

use super::{Chosen, Opened, Unopened};
use crate::error::Error;

/// The options of the engine on GPUs.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct GpuArgs {
    /// Number of the GPU; repeat for several GPUs of one kind. A GPU that is named twice counts
    /// once
    #[arg(long = "gpu", default_values_t = [0], value_name = "N")]
    gpus: Vec<u32>,
    /// Operations per chunk. The engine transfers and computes a chunk as a whole
    #[arg(long, default_value_t = DeviceOptions::default().chunk, value_name = "N")]
    chunk: usize,
    /// Chunks that are in flight at the same time on each GPU
    #[arg(long, default_value_t = DeviceOptions::default().slots, value_name = "N")]
    slots: usize,
    /// Limit of the memory that the chunks take on each GPU, in MiB
    #[arg(
        long,
        default_value_t = DeviceOptions::default().memory_limit >> 20,
        value_name = "MIB",
        // The number of bytes must fit into a `usize`.
        value_parser = RangedU64ValueParser::<usize>::new().range(..=(usize::MAX >> 20) as u64)
    )]
    memory: usize,
}

/// Returns whether the error says that GPUs exist, but that one of the requested numbers does not.
pub(super) fn is_unknown(error: &Error) -> bool {
    let Error::Engine(EngineError::Device { error, .. }) = error else { return false };
    matches!(error, RuntimeError::UnknownDevice { .. })
}

/// The chosen GPUs, and the options of engines on them.
#[derive(Debug)]
pub(crate) struct Gpu {
    infos: Vec<DeviceInfo>,
    options: DeviceOptions,
}

impl GpuArgs {
    /// Finds the chosen GPUs, without opening them.
    ///
    /// # Errors
    /// [`Error::Engine`] if there is no driver, or no GPU with one of the numbers.
    pub(super) fn start(&self) -> Result<Gpu, Error> {
        let options = DeviceOptions {
            chunk: self.chunk,
            slots: self.slots,
            memory_limit: self.memory << 20,
            ..DeviceOptions::default()
        };
        let devices = cuda::devices()?;
        let find = |index| {
            let found = devices.iter().find(|device| device.index == index).cloned();
            found.ok_or_else(|| {
                Error::from(RuntimeError::UnknownDevice { index, count: devices.len() as u32 })
            })
        };
        // A GPU that is named twice is one GPU, also in records.
        let gpus: BTreeSet<u32> = self.gpus.iter().copied().collect();
        Ok(Gpu { infos: gpus.into_iter().map(find).collect::<Result<_, _>>()?, options })
    }
}

impl Gpu {
    /// Opens the GPUs.
    ///
    /// # Errors
    /// [`Error::Engine`] if the driver or a GPU does not support the kernels.
    pub(super) fn open(&self) -> Result<Vec<CudaDevice>, Error> {
        Ok(self.infos.iter().map(|info| cuda::open(info.index)).collect::<Result<_, _>>()?)
    }

    /// Opens the GPUs, and creates an engine on them.
    ///
    /// # Errors
    /// [`Error::Engine`] if the driver or a GPU does not support the kernels.
    pub(super) fn open_engine(&self) -> Result<Opened, Error> {
        let devices = self.open()?;
        let first = devices[0];
        Ok(Opened::Gpu { engine: DeviceEngine::over(devices, self.options)?.into(), first })
    }

    /// Returns the engine with what records say of it.
    pub(super) fn chosen(self) -> Chosen {
        let device = match &self.infos[..] {
            [info] => info.name.clone(),
            infos => format!("{} x {}", infos.len(), infos[0].name),
        };
        let devices = self.infos.len();
        let threads = devices * self.options.slots;
        let engine = Unopened::Gpu(self);
        Chosen { name: "gpu", device, backend: "cuda", devices, threads, engine }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::GpuArgs;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        gpu: GpuArgs,
    }

    /// Checks that a number of MiB whose number of bytes does not fit into `usize` is refused.
    #[test]
    fn memory_has_a_limit() {
        let memory = |mib: usize| {
            let line = Line::try_parse_from(["ctru", "--memory", &mib.to_string()]);
            line.map(|line| line.gpu.memory)
        };
        let most = usize::MAX >> 20;
        assert_eq!(memory(most).unwrap(), most);
        for mib in [most + 1, usize::MAX] {
            assert_eq!(memory(mib).unwrap_err().kind(), clap::error::ErrorKind::ValueValidation);
        }
    }
}
