//! The laboratory on a GPU.

use ctru_gpu_kernels::kernel::{Batch, Kernel};
use ctru_gpu_kernels::lab::chain::LENGTH;
use ctru_gpu_kernels::lab::cyclic::single::Layer;
use ctru_gpu_kernels::lab::table::{
    COPY, Chain, ChainVisitor, Cyclic, CyclicVisitor, RINGS, SINGLES, THREADS, THREADS_RANGE, visit_chains,
    visit_cyclics, with_threads,
};
use ctru_gpu_kernels::lab::{FactorWord, PTX};
use ctru_gpu_kernels::simt::{Quad, Word};
use ctru_gpu_runtime::cuda::{CudaDevice, CudaMemory, CudaQueue};
use ctru_gpu_runtime::{Buffer, Device, Queue, RuntimeError};
use ctru_kem::engine::EngineError;
use ctru_math::ntt::cyclic::Transform;
use ctru_math::reduce::{Packed, ReduceSum, Reducer};

use super::{Bench, Measurement, Options, Report};
use crate::error::Error;
use crate::record::Statistics;
use crate::timing;

/// Elements of a chain's array.
const ELEMENTS: usize = 1 << 24;
/// Products of polynomials in a launch.
const BATCHES: [usize; 5] = [1, 4, 16, 64, 256];
/// Products of the KEM's rings in a launch.
const RING_BATCH: usize = 1 << 16;

fn failed(error: RuntimeError) -> Error {
    Error::Engine(EngineError::Device { error, done: Vec::new() })
}

pub(super) fn measure(options: &Options, bench: Bench, report: Report<'_>) -> Result<(), Error> {
    let open = || -> Result<(CudaQueue, String), RuntimeError> {
        let device = CudaDevice::open(options.gpu, PTX)?;
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
        (self.report)(Measurement { engine: "gpu".to_owned(), device: self.device.clone(), ..measurement })
    }

    fn launch(&self, kernel: &Kernel, memory: &[&CudaMemory], operations: usize) -> Result<(), RuntimeError> {
        self.queue.launch(kernel, memory, Batch::each(operations as u32))
    }

    /// Measures what memory can do.
    fn copy(&mut self) -> Result<(), Error> {
        let measure = || -> Result<Statistics, RuntimeError> {
            let elements = timing::random(&self.queue, ELEMENTS / 4, |bits| Quad([bits as u32; 4]))?;
            let copies = self.queue.allocate::<Quad>(ELEMENTS / 4)?;
            timing::on_device(&self.queue, || self.launch(&COPY, &[&elements, &copies], ELEMENTS / 4))
        };
        let statistics = measure().map_err(failed)?;
        self.say(Measurement {
            bench: "reductions".to_owned(),
            step: "copy".to_owned(),
            len: ELEMENTS,
            batch: 1,
            threads: THREADS as usize,
            clock: "device".to_owned(),
            bytes: 8 * ELEMENTS as u64,
            ..Measurement::now(statistics)
        })
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
            4 => timing::upload(queue, &words.map(|word| word as u32).collect::<Vec<_>>()).map(Self::Singles),
            _ => timing::upload(queue, &words.map(|word| word as u64).collect::<Vec<_>>()).map(Self::Words),
        }
    }

    fn memory(&self) -> &CudaMemory {
        match self {
            Self::Singles(factors) => factors,
            Self::Words(factors) => factors,
        }
    }
}

impl ChainVisitor for Laboratory<'_> {
    fn visit<M: Reducer>(&mut self, chain: &'static Chain)
    where
        FactorWord<M>: Word,
    {
        if self.is_wanted(chain.method) {
            self.result = self.chain::<M>(chain);
        }
    }
}

impl Laboratory<'_> {
    fn chain<M: Reducer>(&mut self, chain: &Chain) -> Result<(), Error>
    where
        FactorWord<M>: Word,
    {
        for (threads, statistics) in self.time_chain::<M>(chain).map_err(failed)? {
            self.say(Measurement {
                bench: "reductions".to_owned(),
                step: "chain".to_owned(),
                method: chain.method.to_owned(),
                modulus: M::MODULUS,
                len: ELEMENTS,
                batch: 1,
                threads: threads as usize,
                clock: "device".to_owned(),
                bytes: 8 * ELEMENTS as u64,
                ..Measurement::now(statistics)
            })?;
        }
        Ok(())
    }

    /// Times by the number of threads.
    fn time_chain<M: Reducer>(&self, chain: &Chain) -> Result<Vec<(u32, Statistics)>, RuntimeError>
    where
        FactorWord<M>: Word,
    {
        let part = (M::MODULUS / 2) as i32 / LENGTH as i32;
        let factors: Vec<_> = (1..=LENGTH as i32).map(|i| M::factor(i * part - 5 * part)).collect();
        let factors = Factors::new::<M>(&self.queue, &factors)?;
        let quad = |bits: u64| Quad([0, 8, 16, 24].map(|shift| (bits >> shift) as u32 % M::MODULUS));
        let elements = timing::random(&self.queue, ELEMENTS / 4, quad)?;
        let products = self.queue.allocate::<Quad>(ELEMENTS / 4)?;
        let memory = [factors.memory(), &elements, &products];
        let time = |threads| {
            let kernel = with_threads(&chain.kernel, threads);
            let statistics = timing::on_device(&self.queue, || self.launch(&kernel, &memory, ELEMENTS / 4))?;
            Ok((threads, statistics))
        };
        thread_counts().map(time).collect()
    }

    /// Measures the KEM's products, one key for each.
    fn rings(&mut self) -> Result<(), Error> {
        for ring in RINGS {
            let (len, threads) = (ring.n, ring.kernel.shape.threads as usize);
            let measure = || -> Result<Statistics, RuntimeError> {
                let row = len.next_multiple_of(8);
                let large = timing::random(&self.queue, RING_BATCH * row, |bits| bits as u16 % 4591)?;
                let small = timing::random(&self.queue, RING_BATCH * row, |bits| (bits % 5) as u8)?;
                let product = self.queue.allocate::<u16>(RING_BATCH * row)?;
                let memory: [&CudaMemory; 3] = [&large, &small, &product];
                timing::on_device(&self.queue, || self.launch(&ring.kernel, &memory, RING_BATCH))
            };
            let statistics = measure().map_err(failed)?;
            self.say(Measurement {
                bench: "ntt".to_owned(),
                step: "ring product".to_owned(),
                method: ring.arithmetic.to_owned(),
                len,
                batch: RING_BATCH,
                threads,
                clock: "device".to_owned(),
                bytes: (5 * len * RING_BATCH) as u64,
                ..Measurement::now(statistics)
            })?;
        }
        Ok(())
    }
}

impl CyclicVisitor for Laboratory<'_> {
    fn visit<M: Reducer, P: ReduceSum>(&mut self, cyclic: &'static Cyclic)
    where
        FactorWord<M>: Word,
    {
        if self.is_wanted(cyclic.method) {
            self.result = self.products::<M, P>(cyclic);
        }
    }
}

/// What the kernels of one length and method work on.
struct Arrays {
    forward: Factors,
    inverse: Factors,
    operands: Buffer<u32, CudaMemory>,
    transforms: Buffer<u32, CudaMemory>,
    products: Buffer<u32, CudaMemory>,
}

impl Laboratory<'_> {
    fn products<M: Reducer, P: ReduceSum>(&mut self, cyclic: &Cyclic) -> Result<(), Error>
    where
        FactorWord<M>: Word,
    {
        let n = 1usize << cyclic.log_len;
        let (mut forward, mut inverse) = (vec![M::Factor::default(); n / 2], vec![M::Factor::default(); n]);
        let transform = Transform::<M, P>::new(&mut forward, &mut inverse)?;
        let allocate = || -> Result<Arrays, RuntimeError> {
            let most = BATCHES.into_iter().max().unwrap_or(1);
            Ok(Arrays {
                forward: Factors::new::<M>(&self.queue, transform.forward_factors())?,
                inverse: Factors::new::<M>(&self.queue, transform.inverse_factors())?,
                operands: timing::random(&self.queue, 2 * most * n, |bits| bits as u32 % M::MODULUS)?,
                transforms: self.queue.allocate(2 * most * n)?,
                products: self.queue.allocate(most * n)?,
            })
        };
        let arrays = allocate().map_err(failed)?;
        let report = Measurement {
            bench: "ntt".to_owned(),
            step: "product".to_owned(),
            method: cyclic.method.to_owned(),
            modulus: M::MODULUS,
            len: n,
            clock: "device".to_owned(),
            ..Measurement::default()
        };
        for threads in thread_counts() {
            let kernels = Kernels::new(cyclic, threads);
            for batch in BATCHES.into_iter().filter(|batch| kernels.fit(batch * n)) {
                let steps = kernels.steps(&arrays, batch * n);
                let bytes = steps.iter().map(|step| 4 * step.words as u64).sum();
                let report = Measurement { batch, threads: threads as usize, bytes, ..report.clone() };
                self.measure(&report, &steps)?;
                if batch == 1 {
                    let alone = timing::on_host(&self.queue, || self.launch_all(&steps)).map_err(failed)?;
                    self.say(report.with(alone, "product", "host"))?;
                }
                if threads == THREADS {
                    for step in &steps {
                        let report = Measurement { bytes: 4 * step.words as u64, ..report.clone() };
                        let one =
                            timing::on_device(&self.queue, || self.launch_all(std::slice::from_ref(step)));
                        self.say(report.with(one.map_err(failed)?, step.name, "device"))?;
                    }
                }
            }
        }
        self.layers_apart(&report, &arrays)
    }

    fn measure(&mut self, report: &Measurement, steps: &[Step<'_>]) -> Result<(), Error> {
        let statistics = timing::on_device(&self.queue, || self.launch_all(steps)).map_err(failed)?;
        self.say(report.with(statistics, &report.step, "device"))
    }

    fn launch_all(&self, steps: &[Step<'_>]) -> Result<(), RuntimeError> {
        steps.iter().try_for_each(|step| self.launch(step.kernel, &step.memory, step.operations))
    }

    /// Measures a product with a launch for each layer, where there are such kernels.
    fn layers_apart(&mut self, report: &Measurement, arrays: &Arrays) -> Result<(), Error> {
        let found = |method: &str, modulus| report.method == method && report.modulus == modulus;
        let Some(single) = SINGLES.iter().find(|single| found(single.method, single.modulus)) else {
            return Ok(());
        };
        let log_len = report.len.ilog2();
        let layers = |order: Vec<u32>, outermost: u32| {
            let upload = |&log_half: &u32| {
                let layer = Layer { log_half, log_len, is_outermost: log_half == outermost };
                timing::upload(&self.queue, &layer.to_words())
            };
            order.iter().map(upload).collect::<Result<Vec<_>, _>>().map_err(failed)
        };
        let forward = layers((0..log_len).rev().collect(), log_len - 1)?;
        let inverse = layers((0..log_len).collect(), log_len - 1)?;
        for batch in BATCHES {
            let words = batch * report.len;
            let run = || -> Result<(), RuntimeError> {
                for layer in &forward {
                    let memory = [arrays.forward.memory(), layer, &arrays.operands];
                    self.launch(&single.forward, &memory, words)?;
                }
                self.launch(&single.values, &[&arrays.operands], words)?;
                for layer in &inverse {
                    let memory = [arrays.inverse.memory(), layer, &arrays.operands];
                    self.launch(&single.inverse, &memory, words / 2)?;
                }
                Ok(())
            };
            let statistics = timing::on_device(&self.queue, run).map_err(failed)?;
            let bytes = 4 * (words * (4 * forward.len() + 3 + 2 * inverse.len())) as u64;
            let report = Measurement { batch, bytes, threads: THREADS as usize, ..report.clone() };
            self.say(report.with(statistics, "layers apart", "device"))?;
        }
        Ok(())
    }
}

/// A launch of a product.
struct Step<'a> {
    name: &'static str,
    kernel: &'a Kernel,
    memory: Vec<&'a CudaMemory>,
    operations: usize,
    /// Words that it reads and writes, besides factors.
    words: usize,
}

/// The kernels of a product in blocks of one size.
struct Kernels {
    columns: Option<[Kernel; 2]>,
    rows: Kernel,
    log_len: u32,
}

/// Coefficients that a thread holds.
const IN_COLUMNS: usize = 16;
const IN_ROWS: usize = 8;

impl Kernels {
    fn new(cyclic: &Cyclic, threads: u32) -> Self {
        let columns = cyclic.columns.as_ref().map(|pair| [0, 1].map(|i| with_threads(&pair[i], threads)));
        Self { columns, rows: with_threads(&cyclic.rows, threads), log_len: cyclic.log_len }
    }

    /// Whether products with so many coefficients in all fill whole blocks, and blocks whole rows.
    fn fit(&self, words: usize) -> bool {
        let threads = self.rows.shape.threads as usize;
        let rows_fit = self.columns.is_some() || threads << 3 >= 1 << self.log_len;
        rows_fit && (words / IN_COLUMNS).is_multiple_of(threads)
    }

    fn steps<'a>(&'a self, arrays: &'a Arrays, words: usize) -> Vec<Step<'a>> {
        let Arrays { forward, inverse, operands, transforms, products } = arrays;
        let rows = |operands: &'a CudaMemory| Step {
            name: "rows multiply",
            kernel: &self.rows,
            memory: vec![forward.memory(), inverse.memory(), operands, products],
            operations: words / IN_ROWS,
            words: 3 * words,
        };
        let Some([columns_forward, columns_inverse]) = &self.columns else { return vec![rows(operands)] };
        vec![
            Step {
                name: "columns forward",
                kernel: columns_forward,
                memory: vec![forward.memory(), operands, transforms],
                operations: 2 * words / IN_COLUMNS,
                words: 4 * words,
            },
            rows(transforms),
            Step {
                name: "columns inverse",
                kernel: columns_inverse,
                memory: vec![inverse.memory(), products],
                operations: words / IN_COLUMNS,
                words: 2 * words,
            },
        ]
    }
}
