//! Runs the reduction laboratory on a GPU.

mod chains;
mod products;
mod rings;

use ctru_gpu_kernels::descriptor::{Batch, Kernel};
use ctru_gpu_kernels::lab::table::{THREADS_RANGE, visit_chains, visit_cyclics};
use ctru_gpu_kernels::lab::{FactorWord, MODULE};
use ctru_gpu_kernels::simt::Word;
use ctru_gpu_runtime::cuda::{CudaDevice, CudaMemory, CudaQueue};
use ctru_gpu_runtime::{Buffer, Device, Queue, RuntimeError};
use ctru_math::reduce::{Packed, Reducer};
use ctru_measure::{Record, Statistics};

use super::{Bench, Options};
use crate::error::Error;
use crate::gpu;
use crate::records::{Report, figure};

pub(super) fn measure(options: &Options, bench: Bench, report: Report<'_>) -> Result<(), Error> {
    let device = CudaDevice::open(options.gpu, &MODULE)?;
    let (queue, device) = (device.queue()?, device.info()?.name);
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

/// Returns all numbers of threads that blocks can have.
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
    /// The first failure. After a failure, nothing is measured.
    result: Result<(), Error>,
}

/// The description of a measured launch.
#[derive(Copy, Clone, Debug, Default)]
struct Launch {
    /// A constant of [`kind`](crate::records::kind), or the name of a kernel.
    kind: &'static str,
    method: &'static str,
    modulus: u32,
    /// Elements of an array, or coefficients of a polynomial.
    len: usize,
    /// Products of polynomials per launch.
    batch: usize,
    /// Threads per block.
    threads: usize,
    /// Bytes of the arrays that are read and written, without tables of factors.
    bytes: usize,
}

impl Laboratory<'_> {
    fn is_wanted(&self, method: &str) -> bool {
        self.result.is_ok() && self.options.wants(method)
    }

    /// Reports `statistics` of a launch.
    fn report(&mut self, launch: &Launch, statistics: Statistics) -> Result<(), Error> {
        let record = Record {
            bench: launch.kind.to_owned(),
            engine: "gpu".to_owned(),
            device: self.device.clone(),
            backend: "cuda".to_owned(),
            op: launch.method.to_owned(),
            batch: launch.batch,
            transfers: "none".to_owned(),
            threads: launch.threads,
            ..Record::default()
        };
        let figures = [
            (figure::MODULUS, launch.modulus.into()),
            (figure::LEN, launch.len as f64),
            (figure::BYTES, launch.bytes as f64),
        ];
        (self.report)(record.timed(statistics, launch.batch as f64).with_figures(figures))
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

/// Constant factors on the device, in words of 32 or 64 bits.
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
            4 => gpu::upload(queue, &words.map(|word| word as u32).collect::<Vec<_>>())
                .map(Self::Singles),
            _ => gpu::upload(queue, &words.map(|word| word as u64).collect::<Vec<_>>())
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
