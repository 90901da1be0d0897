//! Measures products of polynomials modulo `x^n - 1`.

use ctru_gpu_kernels::descriptor::{Batch, Kernel};
use ctru_gpu_kernels::simt::Word;
use ctru_gpu_runtime::cuda::{CudaMemory, CudaQueue};
use ctru_gpu_runtime::{Buffer, Order, Queue, RuntimeError};
use research_arithmetic::ntt::cyclic::Transform;
use research_arithmetic::reduce::{ReduceSum, Reducer};
use research_reductions::FactorWord;
use research_reductions::cyclic::single::{FACTORS, Layer};
use research_reductions::table::{Columns, Cyclic, CyclicVisitor, SINGLES, Single, THREADS};

use super::{Factors, Laboratory, Launch, thread_counts};
use crate::error::Error;
use crate::gpu;
use crate::records::kind;

/// Products of polynomials per launch.
const BATCHES: [usize; 5] = [1, 4, 16, 64, 256];
/// The methods by which batches in chunks are measured.
const FASTEST: [&str; 2] = ["shoup", "rounding_shoup"];
/// The length of the products that sources A and B time.
const LONGEST: usize = 1 << 17;

impl CyclicVisitor for Laboratory<'_> {
    fn visit<M: Reducer, P: ReduceSum>(&mut self, cyclic: &'static Cyclic)
    where
        FactorWord<M>: Word,
    {
        if self.is_wanted(cyclic.method, cyclic.modulus) {
            self.result = self.products::<M, P>(cyclic);
        }
    }
}

/// The factors of the forward and of the inverse layers.
pub(super) type Tables = [Factors; 2];

/// The polynomials of a batch.
pub(super) struct Arrays {
    /// All first operands, and then all second operands.
    pub(super) operands: Buffer<u32, CudaMemory>,
    pub(super) transforms: Buffer<u32, CudaMemory>,
    pub(super) products: Buffer<u32, CudaMemory>,
}

impl Arrays {
    /// Allocates arrays for products with `words` coefficients together.
    pub(super) fn allocate(queue: &CudaQueue, words: usize) -> Result<Self, RuntimeError> {
        Ok(Self {
            operands: queue.allocate(2 * words)?,
            transforms: queue.allocate(2 * words)?,
            products: queue.allocate(words)?,
        })
    }
}

impl Laboratory<'_> {
    /// Measures copies of three numbers per coefficient of the longest products, in batches: the
    /// size of both operands and the product.
    pub(super) fn copies(&mut self) -> Result<(), Error> {
        [1, 64, 256].into_iter().try_for_each(|batch| self.copy(3 * LONGEST, batch))
    }

    fn products<M: Reducer, P: ReduceSum>(&mut self, cyclic: &'static Cyclic) -> Result<(), Error>
    where
        FactorWord<M>: Word,
    {
        let n = 1usize << cyclic.log_len;
        let (mut forward, mut inverse) =
            (vec![M::Factor::default(); n / 2], vec![M::Factor::default(); n]);
        let transform = Transform::<M, P>::new(&mut forward, &mut inverse)?;
        // For every length, the kernels of single layers take tables of `FACTORS` factors.
        let table = |factors: &[M::Factor]| {
            let mut table = factors.to_vec();
            table.resize(FACTORS as usize, M::Factor::default());
            table
        };
        let most = BATCHES.into_iter().max().unwrap_or(1);
        let operand = |bits| bits as u32 % M::MODULUS;
        let tables = [
            Factors::new::<M>(&self.queue, &table(transform.forward_factors()))?,
            Factors::new::<M>(&self.queue, &table(transform.inverse_factors()))?,
        ];
        let in_rows: Vec<_> =
            cyclic.forward_factors().map(|entry| transform.forward_factors()[entry]).collect();
        let in_rows = Factors::new::<M>(&self.queue, &in_rows)?;
        let arrays = Arrays {
            operands: gpu::random(&self.queue, 2 * most * n, operand)?,
            ..Arrays::allocate(&self.queue, most * n)?
        };
        let product = Launch {
            kind: kind::CYCLIC,
            method: cyclic.method,
            modulus: M::MODULUS,
            len: n,
            ..Launch::ON_DEVICE
        };
        for threads in thread_counts() {
            let Some(kernels) = ProductKernels::new(cyclic, &in_rows, threads) else { continue };
            for batch in BATCHES.into_iter().filter(|batch| kernels.fit(batch * n)) {
                let steps = kernels.steps(&tables, &arrays, batch, n);
                if !self.has_room(&steps)? {
                    continue;
                }
                let bytes = steps.iter().map(|step| 4 * step.words).sum();
                let product = Launch { batch, threads: threads as usize, bytes, ..product };
                let run = || self.launch_all(&steps);
                let in_a_row = gpu::time_in_a_row(&self.queue, run)?;
                self.report(&product, in_a_row)?;
                if batch == 1 {
                    let alone = gpu::time_alone(&self.queue, || self.launch_all(&steps))?;
                    self.report(&Launch { kind: kind::CYCLIC_ALONE, ..product }, alone)?;
                    self.as_graph(&product, &steps)?;
                    if n == LONGEST {
                        self.fused_calls(&product, &kernels, &tables, &arrays)?;
                    }
                }
                if n == LONGEST
                    && threads == THREADS
                    && batch == most
                    && FASTEST.contains(&cyclic.method)
                {
                    self.chunks(&product, &kernels, &tables)?;
                }
                if threads == THREADS {
                    for step in &steps {
                        let run = || self.launch_all(std::slice::from_ref(step));
                        let statistics = gpu::time_in_a_row(&self.queue, run)?;
                        let step = Launch { kind: step.name, bytes: 4 * step.words, ..product };
                        self.report(&step, statistics)?;
                    }
                }
            }
        }
        let found =
            |single: &&Single| (single.method, single.modulus) == (cyclic.method, cyclic.modulus);
        let Some(single) = SINGLES.iter().find(found) else { return Ok(()) };
        self.layers_apart(&product, single, &tables, &arrays)?;
        match n {
            LONGEST => self.layer_calls::<M, P>(&product, single, &tables, &arrays),
            _ => Ok(()),
        }
    }

    /// Measures products whose launches one call issues.
    fn as_graph<'a>(&mut self, product: &Launch, steps: &'a [Step<'a>]) -> Result<(), Error> {
        let launch = |step: &'a Step<'a>| ctru_gpu_runtime::Launch {
            kernel: step.kernel,
            memory: step.memory.to_vec(),
            batch: Batch::each(step.operations as u32),
            order: Order::Next,
        };
        let launches: Vec<_> = steps.iter().map(launch).collect();
        let in_a_row = gpu::time_in_a_row(&self.queue, || self.queue.launch_all(&launches))?;
        self.report(&Launch { kind: kind::CYCLIC_GRAPH, ..*product }, in_a_row)?;
        let alone = gpu::time_alone(&self.queue, || self.queue.launch_all(&launches))?;
        self.report(&Launch { kind: kind::CYCLIC_GRAPH_ALONE, ..*product }, alone)
    }

    /// Launches these steps to find out whether the GPU has enough registers for their blocks.
    fn has_room(&self, steps: &[Step<'_>]) -> Result<bool, RuntimeError> {
        const OUT_OF_RESOURCES: i32 = 701;
        match self.launch_all(steps) {
            Err(RuntimeError::Driver { code: OUT_OF_RESOURCES, .. }) => Ok(false),
            result => result.map(|()| true),
        }
    }

    pub(super) fn launch_all(&self, steps: &[Step<'_>]) -> Result<(), RuntimeError> {
        steps.iter().try_for_each(|step| self.launch(step.kernel, &step.memory, step.operations))
    }

    /// Copies the parameters of all layers to the device. Entry `k` is the layer whose butterflies
    /// have a distance of `2^k`.
    pub(super) fn layers(&self, len: usize) -> Result<Vec<Buffer<u32, CudaMemory>>, RuntimeError> {
        let log_len = len.ilog2();
        let upload = |log_half| {
            let layer = Layer { log_half, log_len, is_outermost: log_half == log_len - 1 };
            gpu::upload(&self.queue, &layer.to_words())
        };
        (0..log_len).map(upload).collect()
    }

    /// Measures products with one launch per layer of the transform.
    fn layers_apart(
        &mut self,
        product: &Launch,
        single: &Single,
        [forward, inverse]: &Tables,
        arrays: &Arrays,
    ) -> Result<(), Error> {
        let layers = self.layers(product.len)?;
        for batch in BATCHES {
            let words = batch * product.len;
            let run = || -> Result<(), RuntimeError> {
                for layer in layers.iter().rev() {
                    let memory = [forward.memory(), layer, &arrays.operands];
                    self.launch(&single.forward, &memory, words)?;
                }
                self.launch(&single.values, &[&arrays.operands], words)?;
                for layer in &layers {
                    let memory = [inverse.memory(), layer, &arrays.operands];
                    self.launch(&single.inverse, &memory, words / 2)?;
                }
                Ok(())
            };
            let statistics = gpu::time_in_a_row(&self.queue, run)?;
            let bytes = 4 * (words * (6 * layers.len() + 3));
            let threads = THREADS as usize;
            let product = Launch { kind: kind::LAYERS_APART, batch, bytes, threads, ..*product };
            self.report(&product, statistics)?;
        }
        Ok(())
    }
}

/// One of the launches that compute a batch of products.
pub(super) struct Step<'a> {
    name: &'static str,
    pub(super) kernel: &'a Kernel,
    pub(super) memory: Vec<&'a CudaMemory>,
    pub(super) operations: usize,
    /// The number of words that it reads and writes, without factors.
    words: usize,
}

/// The kernels of a product with one number of threads per block, and the factors of one of them.
pub(super) struct ProductKernels<'a> {
    columns: Option<Columns>,
    rows: Kernel,
    /// The forward factors in the order of the rows' kernel.
    in_rows: &'a Factors,
}

/// Coefficients per thread of the kernels of columns.
const IN_COLUMNS: usize = 16;
/// Coefficients per thread of the kernels of rows.
const IN_ROWS: usize = 8;

impl<'a> ProductKernels<'a> {
    /// Returns the kernels with this number of threads, if they exist.
    fn new(cyclic: &Cyclic, in_rows: &'a Factors, threads: u32) -> Option<Self> {
        cyclic.with_threads(threads).map(|(columns, rows)| Self { columns, rows, in_rows })
    }

    /// Returns whether products with `words` coefficients together fill whole blocks.
    fn fit(&self, words: usize) -> bool {
        (words / IN_COLUMNS).is_multiple_of(self.rows.shape().threads() as usize)
    }

    /// Returns the launches of `batch` products of length `n`.
    pub(super) fn steps(
        &'a self,
        tables: &'a Tables,
        arrays: &'a Arrays,
        batch: usize,
        n: usize,
    ) -> Vec<Step<'a>> {
        let words = batch * n;
        let [forward, inverse] = tables;
        let Arrays { operands, transforms, products } = arrays;
        let rows = |operands: &'a CudaMemory| Step {
            name: "rows multiply",
            kernel: &self.rows,
            memory: vec![self.in_rows.memory(), inverse.memory(), operands, products],
            operations: words / IN_ROWS,
            words: 3 * words,
        };
        let Some(columns) = &self.columns else { return vec![rows(operands)] };
        vec![
            Step {
                name: "columns forward",
                kernel: &columns.forward,
                memory: vec![forward.memory(), operands, transforms],
                operations: 2 * words / IN_COLUMNS,
                words: 4 * words,
            },
            rows(transforms),
            Step {
                name: "columns inverse",
                kernel: &columns.inverse,
                memory: vec![inverse.memory(), products],
                operations: words / IN_COLUMNS,
                words: 2 * words,
            },
        ]
    }
}
