//! The factory of engines on NVIDIA GPUs, and its options.

use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use ctru_kem::ParameterSet;
use ctru_kem::engine::cuda::{self, CudaDevice, CudaEngine, DeviceInfo};
use ctru_kem::engine::{DeviceEngine, DeviceOptions, RuntimeError};
use ctru_measure::{HostMemory, KeyUse, Operation, ResidentWorkload, Statistics};

use super::factory::EngineFactory;
use crate::error::Error;

/// The options of the engine on GPUs.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct GpuArgs {
    /// Number of the GPU; repeat for several GPUs of one kind
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
    /// The largest chunk in which key generation inverts as Itoh and Tsujii do, not by division
    /// steps [default: what is best on an H200]
    #[arg(long, value_name = "N")]
    itoh_tsujii_max_chunk: Option<usize>,
    /// Measure for a few seconds first, and choose chunk and slots by the results
    #[arg(long, conflicts_with_all = ["chunk", "slots"])]
    calibrate: bool,
}

/// The chosen GPUs, and the options of engines on them.
#[derive(Debug)]
pub(crate) struct Gpu {
    infos: Vec<DeviceInfo>,
    options: DeviceOptions,
    calibrate: bool,
}

/// Operations per batch of a calibration.
const CALIBRATION: usize = 1 << 18;

impl GpuArgs {
    /// Finds the chosen GPUs, without opening them.
    ///
    /// # Errors
    /// [`Error::Engine`] if there is no driver, or no GPU with one of the numbers.
    pub(crate) fn start(&self) -> Result<Gpu, Error> {
        let options = DeviceOptions {
            chunk: self.chunk,
            slots: self.slots,
            memory_limit: self.memory << 20,
            itoh_tsujii_max_chunk: self.itoh_tsujii_max_chunk,
            ..DeviceOptions::default()
        };
        let devices = cuda::devices()?;
        let find = |&index: &u32| {
            let found = devices.iter().find(|device| device.index == index).cloned();
            found.ok_or_else(|| {
                Error::from(RuntimeError::UnknownDevice { index, count: devices.len() as u32 })
            })
        };
        Ok(Gpu {
            infos: self.gpus.iter().map(find).collect::<Result<_, _>>()?,
            options,
            calibrate: self.calibrate,
        })
    }
}

impl Gpu {
    /// Opens the GPUs.
    ///
    /// # Errors
    /// [`Error::Engine`] if the driver or a GPU does not support the kernels.
    pub(crate) fn open(&self) -> Result<Vec<CudaDevice>, Error> {
        Ok(self.infos.iter().map(|info| cuda::open(info.index)).collect::<Result<_, _>>()?)
    }
}

impl EngineFactory for Gpu {
    type For<P: ParameterSet> = CudaEngine<P>;

    fn engine<P: ParameterSet>(&self) -> Result<CudaEngine<P>, Error> {
        let devices = self.open()?;
        let options = match self.calibrate {
            true => self.options.calibrated::<P, _>(&devices, CALIBRATION)?,
            false => self.options,
        };
        Ok(DeviceEngine::over(devices, options)?)
    }
    fn on_device<P: ParameterSet>(
        &self,
        engine: &CudaEngine<P>,
        (operation, keys): (Operation, KeyUse),
        batch: usize,
        budget: Duration,
    ) -> Result<Statistics, Error> {
        // All memory is on the first GPU.
        let device = cuda::open(self.infos[0].index)?;
        let workload = ResidentWorkload::new(engine, &device, batch)?;
        Ok(workload.batch(operation, keys, budget)?)
    }
    fn name(&self) -> &'static str {
        "gpu"
    }
    fn device(&self) -> String {
        match &self.infos[..] {
            [info] => info.name.clone(),
            infos => format!("{} x {}", infos.len(), infos[0].name),
        }
    }
    fn backend(&self) -> &'static str {
        "cuda"
    }
    fn transfers(&self, memory: HostMemory) -> &'static str {
        memory.name()
    }
    fn threads(&self) -> usize {
        self.infos.len() * self.options.slots
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
