//! The laboratory on a GPU.

mod chains;
mod products;
mod rings;

use ctru_gpu_kernels::descriptor::{Batch, Kernel};
use ctru_gpu_kernels::lab::table::{THREADS_RANGE, visit_chains, visit_cyclics};
use ctru_gpu_kernels::lab::{FactorWord, MODULE};
use ctru_gpu_kernels::simt::Word;
use ctru_gpu_runtime::cuda::{CudaDevice, CudaMemory, CudaQueue};
use ctru_gpu_runtime::{Buffer, Device, Queue, RuntimeError};
use ctru_kem::engine::EngineError;
use ctru_math::reduce::{Packed, Reducer};

use super::{Bench, Measurement, Options, Report};
use crate::error::Error;
use crate::timing;

fn failed(error: RuntimeError) -> Error {
    Error::Engine(EngineError::Device { error, done: Vec::new() })
}

pub(super) fn measure(options: &Options, bench: Bench, report: Report<'_>) -> Result<(), Error> {
    let open = || -> Result<(CudaQueue, String), RuntimeError> {
        let device = CudaDevice::open(options.gpu, &MODULE)?;
        Ok((device.queue()?, device.info()?.name))
    };
    let (queue, device) = open().map_err(failed)?;
    let mut laboratory = Laboratory { options, queue, device, report, result: Ok(()) };
    match bench {
        Bench::Reductions => {
            laboratory.copy()?;
            visit_chains(&mut laboratory);
        }
        Bench::Ntt => {
            laboratory.rings()?;
            visit_cyclics(&mut laboratory);
        }
    }
    laboratory.result
}

/// All numbers of threads that blocks may have.
fn thread_counts() -> impl Iterator<Item = u32> {
    let (least, most) = THREADS_RANGE;
    std::iter::successors(Some(least), |threads| Some(2 * threads))
        .take_while(move |&threads| threads <= most)
}

struct Laboratory<'a> {
    options: &'a Options,
    queue: CudaQueue,
    device: String,
    report: Report<'a>,
    /// The first failure, after which nothing is measured.
    result: Result<(), Error>,
}

impl Laboratory<'_> {
    fn is_wanted(&self, method: &str) -> bool {
        self.result.is_ok() && self.options.wants(method)
    }

    /// Reports what `measurement` says besides the engine.
    fn say(&mut self, measurement: Measurement) -> Result<(), Error> {
        (self.report)(Measurement {
            engine: "gpu".to_owned(),
            device: self.device.clone(),
            ..measurement
        })
    }

    fn launch(
        &self,
        kernel: &Kernel,
        memory: &[&CudaMemory],
        operations: usize,
    ) -> Result<(), RuntimeError> {
        self.queue.launch(kernel, memory, Batch::each(operations as u32))
    }
}

/// Factors on the device, by the size of their words.
enum Factors {
    Singles(Buffer<u32, CudaMemory>),
    Words(Buffer<u64, CudaMemory>),
}

impl Factors {
    fn new<M: Reducer>(queue: &CudaQueue, factors: &[M::Factor]) -> Result<Self, RuntimeError>
    where
        FactorWord<M>: Word,
    {
        let words = factors.iter().map(|factor| factor.to_word().to_bits());
        match FactorWord::<M>::BYTES {
            4 => timing::upload(queue, &words.map(|word| word as u32).collect::<Vec<_>>())
                .map(Self::Singles),
            _ => timing::upload(queue, &words.map(|word| word as u64).collect::<Vec<_>>())
                .map(Self::Words),
        }
    }

    fn memory(&self) -> &CudaMemory {
        match self {
            Self::Singles(factors) => factors,
            Self::Words(factors) => factors,
        }
    }
}
