//! NVIDIA GPUs: `ctru devices`, and the engine on one.

use std::io::Write;

use ctru_kem::ParameterSet;
use ctru_kem::engine::cuda::{self, CudaEngine, DeviceInfo};
use ctru_kem::engine::{DeviceEngine, DeviceOptions, EngineError, Products, RuntimeError};

use crate::engine::AnySetEngine;
use crate::error::Error;
use crate::info::new_table;

/// List the GPUs that the engine can use
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Options of the engine on a GPU.
#[derive(Clone, Debug, clap::Args)]
pub struct GpuArgs {
    /// Number of the GPU
    #[arg(long, default_value_t = 0, value_name = "N")]
    gpu: u32,
    /// Operations that travel to the GPU together
    #[arg(long, default_value_t = DeviceOptions::default().chunk, value_name = "N")]
    chunk: usize,
    /// Chunks on their way at a time
    #[arg(long, default_value_t = DeviceOptions::default().slots, value_name = "N")]
    slots: usize,
    /// MiB of GPU memory that they may take
    #[arg(long, default_value_t = DeviceOptions::default().memory_limit >> 20, value_name = "MIB")]
    memory: usize,
    /// How to multiply
    #[arg(long, value_enum, default_value_t = ProductsArg::Polyphase)]
    products: ProductsArg,
}

/// Ways to multiply.
#[derive(Copy, Clone, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ProductsArg {
    /// Incomplete NTT on CUDA cores
    Ntt,
    /// Matrix products on tensor cores
    Polyphase,
}

impl From<ProductsArg> for Products {
    fn from(argument: ProductsArg) -> Self {
        match argument {
            ProductsArg::Ntt => Self::Ntt,
            ProductsArg::Polyphase => Self::Polyphase,
        }
    }
}

/// A GPU that is there. Its kernels are compiled for one parameter set at a time.
#[derive(Debug)]
pub struct Gpu {
    info: DeviceInfo,
    options: DeviceOptions,
}

/// Runs the command.
///
/// # Errors
/// [`Error::Engine`] if there is no driver or no GPU, [`Error::Report`] if standard output does not take the list.
pub fn run(_: &Args, out: &mut dyn Write) -> Result<(), Error> {
    let devices = cuda::devices().map_err(no_device)?;
    let mut table = new_table(["gpu", "name", "compute capability", "multiprocessors", "memory MiB"], 2..5);
    for device in devices {
        table.add_row([
            device.index.to_string(),
            device.name,
            format!("{}.{}", device.compute_capability.0, device.compute_capability.1),
            device.multiprocessors.to_string(),
            (device.memory_bytes >> 20).to_string(),
        ]);
    }
    let (major, minor) = cuda::cuda_version().map_err(no_device)?;
    writeln!(out, "The driver knows CUDA {major}.{minor}.\n\n{table}")?;
    Ok(())
}

/// Whether there is a GPU to use.
pub(crate) fn is_there() -> bool {
    cuda::devices().is_ok_and(|devices| !devices.is_empty())
}

fn no_device(error: RuntimeError) -> Error {
    Error::Engine(EngineError::Device { error, done: Vec::new() })
}

impl GpuArgs {
    /// Finds the GPU.
    pub(crate) fn start(&self) -> Result<Gpu, Error> {
        let options = DeviceOptions {
            chunk: self.chunk,
            slots: self.slots,
            memory_limit: self.memory << 20,
            products: self.products.into(),
        };
        let devices = cuda::devices().map_err(no_device)?;
        let count = devices.len() as u32;
        let unknown = || no_device(RuntimeError::UnknownDevice { index: self.gpu, count });
        let info = devices.into_iter().find(|device| device.index == self.gpu).ok_or_else(unknown)?;
        Ok(Gpu { info, options })
    }
}

impl AnySetEngine for Gpu {
    type For<P: ParameterSet> = CudaEngine<P>;

    fn engine<P: ParameterSet>(&self) -> Result<CudaEngine<P>, Error> {
        Ok(DeviceEngine::new(cuda::open::<P::Ring>(self.info.index)?, self.options)?)
    }
    fn name(&self) -> &'static str {
        "gpu"
    }
    fn device(&self) -> String {
        self.info.name.clone()
    }
    fn backend(&self) -> &'static str {
        "cuda"
    }
    fn transfers(&self) -> &'static str {
        "pageable host memory through pinned memory"
    }
    fn threads(&self) -> usize {
        self.options.slots
    }
}
