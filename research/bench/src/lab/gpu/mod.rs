//! Runs the reduction laboratory on a GPU.

mod calls;
mod chains;
mod chunks;
mod products;
mod rings;

use ctru_gpu_kernels::descriptor::{Batch, Kernel};
use ctru_gpu_kernels::simt::Word;
use ctru_gpu_runtime::cuda::{CudaDevice, CudaMemory, CudaPinned, CudaQueue};
use ctru_gpu_runtime::{Buffer, Device, HostMemory, Queue, RuntimeError};
use ctru_measure::{Record, Statistics};
use research_arithmetic::reduce::{Packed, Reducer};
use research_reductions::table::{THREADS_RANGE, visit_chains, visit_cyclics};
use research_reductions::{FactorWord, MODULE};

use super::{Bench, ELEMENTS, Options};
use crate::error::Error;
use crate::records::{Report, figure, on_gpu};

pub(super) fn measure(options: &Options, bench: Bench, report: Report<'_>) -> Result<(), Error> {
    let mut laboratory = Laboratory::new(options, report)?;
    match bench {
        Bench::Reductions => {
            laboratory.copy(ELEMENTS, 1)?;
            visit_chains(&mut laboratory);
        }
        Bench::Ntt => {
            laboratory.copies()?;
            laboratory.rings()?;
            visit_cyclics(&mut laboratory);
        }
    }
    laboratory.result
}

/// Launches each chain `launches` times and measures nothing.
pub(super) fn launch_chains(options: &Options, launches: u32) -> Result<(), Error> {
    let report: Report<'_> = &mut |_| Ok(());
    let mut launcher = chains::Launcher { laboratory: Laboratory::new(options, report)?, launches };
    visit_chains(&mut launcher);
    launcher.laboratory.result
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
#[derive(Copy, Clone, Debug)]
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
    /// What the time contains besides launches, see [`Record::transfers`].
    transfers: &'static str,
    /// The products per launch and the queues of a batch in chunks.
    chunk: Option<(usize, usize)>,
}

impl Launch {
    /// A launch on data on the device.
    const ON_DEVICE: Self = Self {
        kind: "",
        method: "",
        modulus: 0,
        len: 0,
        batch: 1,
        threads: 0,
        bytes: 0,
        transfers: "none",
        chunk: None,
    };
}

impl<'a> Laboratory<'a> {
    fn new(options: &'a Options, report: Report<'a>) -> Result<Self, RuntimeError> {
        let device = CudaDevice::open(options.gpu, &MODULE)?;
        let (queue, device) = (device.queue()?, device.info()?.name);
        Ok(Self { options, queue, device, report, result: Ok(()) })
    }
}

impl Laboratory<'_> {
    fn is_wanted(&self, method: &str, modulus: u32) -> bool {
        self.result.is_ok() && self.options.wants(method, modulus)
    }

    /// Reports `statistics` of a launch.
    fn report(&mut self, launch: &Launch, statistics: Statistics) -> Result<(), Error> {
        let record = Record {
            batch: launch.batch,
            transfers: launch.transfers.to_owned(),
            threads: launch.threads,
            ..on_gpu(launch.kind, &self.device, "", launch.method)
        };
        let figures = [
            (figure::MODULUS, launch.modulus.into()),
            (figure::LEN, launch.len as f64),
            (figure::BYTES, launch.bytes as f64),
        ];
        let chunk = launch.chunk.map(|(chunk, queues)| {
            [(figure::CHUNK, chunk as f64), (figure::QUEUES, queues as f64)]
        });
        let record = record.timed(statistics, launch.batch as f64).with_figures(figures);
        (self.report)(record.with_figures(chunk.into_iter().flatten()))
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

/// A table of factors on the device, in words of 32 or 64 bits.
enum Factors {
    Singles(Buffer<u32, CudaMemory>),
    Words(Buffer<u64, CudaMemory>),
}

/// Pinned memory from which factors are copied to the device.
enum Staging {
    Singles(CudaPinned<u32>),
    Words(CudaPinned<u64>),
}

impl Staging {
    fn new<M: Reducer>(queue: &CudaQueue, len: usize) -> Result<Self, RuntimeError>
    where
        FactorWord<M>: Word,
    {
        match FactorWord::<M>::BYTES {
            4 => queue.pinned(len).map(Self::Singles),
            _ => queue.pinned(len).map(Self::Words),
        }
    }
}

impl Factors {
    fn allocate<M: Reducer>(queue: &CudaQueue, len: usize) -> Result<Self, RuntimeError>
    where
        FactorWord<M>: Word,
    {
        match FactorWord::<M>::BYTES {
            4 => queue.allocate(len).map(Self::Singles),
            _ => queue.allocate(len).map(Self::Words),
        }
    }

    fn new<M: Reducer>(queue: &CudaQueue, factors: &[M::Factor]) -> Result<Self, RuntimeError>
    where
        FactorWord<M>: Word,
    {
        let table = Self::allocate::<M>(queue, factors.len())?;
        let mut staging = Staging::new::<M>(queue, factors.len())?;
        table.upload::<M>(queue, &mut staging, factors, 0)?;
        queue.synchronise()?;
        Ok(table)
    }

    /// Copies factors to the entries from `start` on.
    fn upload<M: Reducer>(
        &self,
        queue: &CudaQueue,
        staging: &mut Staging,
        factors: &[M::Factor],
        start: usize,
    ) -> Result<(), RuntimeError>
    where
        FactorWord<M>: Word,
    {
        let words = factors.iter().map(|factor| factor.to_word().to_bits());
        match (self, staging) {
            (Self::Singles(table), Staging::Singles(staging)) => {
                staging.write()?.iter_mut().zip(words).for_each(|(to, word)| *to = word as u32);
                queue.upload(staging, 0..factors.len(), table, start)
            }
            (Self::Words(table), Staging::Words(staging)) => {
                staging.write()?.iter_mut().zip(words).for_each(|(to, word)| *to = word as u64);
                queue.upload(staging, 0..factors.len(), table, start)
            }
            _ => unreachable!("both are made for the factors of one method"),
        }
    }

    fn memory(&self) -> &CudaMemory {
        match self {
            Self::Singles(factors) => factors,
            Self::Words(factors) => factors,
        }
    }
}
