//! Measures products of polynomials modulo `x^n - 1`.

use ctru_gpu_kernels::descriptor::Kernel;
use ctru_gpu_kernels::lab::FactorWord;
use ctru_gpu_kernels::lab::cyclic::single::{FACTORS, Layer};
use ctru_gpu_kernels::lab::table::{Cyclic, CyclicVisitor, SINGLES, THREADS};
use ctru_gpu_kernels::simt::Word;
use ctru_gpu_runtime::cuda::CudaMemory;
use ctru_gpu_runtime::{Buffer, Queue, RuntimeError};
use ctru_math::ntt::cyclic::Transform;
use ctru_math::reduce::{ReduceSum, Reducer};

use super::{Factors, Laboratory, Launch, thread_counts};
use crate::error::Error;
use crate::gpu;
use crate::records::kind;

/// Products of polynomials per launch.
const BATCHES: [usize; 5] = [1, 4, 16, 64, 256];

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

/// The arrays of the kernels of one length and method.
struct Arrays {
    forward: Factors,
    inverse: Factors,
    operands: Buffer<u32, CudaMemory>,
    transforms: Buffer<u32, CudaMemory>,
    products: Buffer<u32, CudaMemory>,
}

impl Laboratory<'_> {
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
        let arrays = Arrays {
            forward: Factors::new::<M>(&self.queue, &table(transform.forward_factors()))?,
            inverse: Factors::new::<M>(&self.queue, &table(transform.inverse_factors()))?,
            operands: gpu::random(&self.queue, 2 * most * n, operand)?,
            transforms: self.queue.allocate(2 * most * n)?,
            products: self.queue.allocate(most * n)?,
        };
        let product = Launch {
            kind: kind::CYCLIC,
            method: cyclic.method,
            modulus: M::MODULUS,
            len: n,
            ..Launch::default()
        };
        for threads in thread_counts() {
            let Some(kernels) = ProductKernels::new(cyclic, threads) else { continue };
            if kernels.fit(n) && !self.has_room(&kernels.steps(&arrays, n))? {
                continue;
            }
            for batch in BATCHES.into_iter().filter(|batch| kernels.fit(batch * n)) {
                let steps = kernels.steps(&arrays, batch * n);
                let bytes = steps.iter().map(|step| 4 * step.words).sum();
                let product = Launch { batch, threads: threads as usize, bytes, ..product };
                let run = || self.launch_all(&steps);
                let in_a_row = gpu::time_in_a_row(&self.queue, run)?;
                self.report(&product, in_a_row)?;
                if batch == 1 {
                    let alone = gpu::time_alone(&self.queue, || self.launch_all(&steps))?;
                    self.report(&Launch { kind: kind::CYCLIC_ALONE, ..product }, alone)?;
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
        self.layers_apart(&product, &arrays)
    }

    /// Launches these steps to find out whether the GPU has enough registers for their blocks.
    fn has_room(&self, steps: &[Step<'_>]) -> Result<bool, RuntimeError> {
        const OUT_OF_RESOURCES: i32 = 701;
        match self.launch_all(steps) {
            Err(RuntimeError::Driver { code: OUT_OF_RESOURCES, .. }) => Ok(false),
            result => result.map(|()| true),
        }
    }

    fn launch_all(&self, steps: &[Step<'_>]) -> Result<(), RuntimeError> {
        steps.iter().try_for_each(|step| self.launch(step.kernel, &step.memory, step.operations))
    }

    /// Measures products with one launch per layer of the transform, if there are such kernels.
    fn layers_apart(&mut self, product: &Launch, arrays: &Arrays) -> Result<(), Error> {
        let found = |method: &str, modulus| product.method == method && product.modulus == modulus;
        let Some(single) = SINGLES.iter().find(|single| found(single.method, single.modulus))
        else {
            return Ok(());
        };
        let log_len = product.len.ilog2();
        let layers = |order: Vec<u32>, outermost: u32| {
            let upload = |&log_half: &u32| {
                let layer = Layer { log_half, log_len, is_outermost: log_half == outermost };
                gpu::upload(&self.queue, &layer.to_words())
            };
            order.iter().map(upload).collect::<Result<Vec<_>, _>>()
        };
        let forward = layers((0..log_len).rev().collect(), log_len - 1)?;
        let inverse = layers((0..log_len).collect(), log_len - 1)?;
        for batch in BATCHES {
            let words = batch * product.len;
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
            let statistics = gpu::time_in_a_row(&self.queue, run)?;
            let bytes = 4 * (words * (4 * forward.len() + 3 + 2 * inverse.len()));
            let threads = THREADS as usize;
            let product = Launch { kind: kind::LAYERS_APART, batch, bytes, threads, ..*product };
            self.report(&product, statistics)?;
        }
        Ok(())
    }
}

/// One of the launches that compute a batch of products.
struct Step<'a> {
    name: &'static str,
    kernel: &'a Kernel,
    memory: Vec<&'a CudaMemory>,
    operations: usize,
    /// The number of words that it reads and writes, without factors.
    words: usize,
}

/// The kernels of a product with one number of threads per block.
struct ProductKernels {
    columns: Option<[Kernel; 2]>,
    rows: Kernel,
}

/// Coefficients per thread of the kernels of columns.
const IN_COLUMNS: usize = 16;
/// Coefficients per thread of the kernels of rows.
const IN_ROWS: usize = 8;

impl ProductKernels {
    /// Returns the kernels with this number of threads, if they exist.
    fn new(cyclic: &Cyclic, threads: u32) -> Option<Self> {
        cyclic.with_threads(threads).map(|(columns, rows)| Self { columns, rows })
    }

    /// Returns whether products with `words` coefficients together fill whole blocks.
    fn fit(&self, words: usize) -> bool {
        (words / IN_COLUMNS).is_multiple_of(self.rows.shape().threads() as usize)
    }

    /// Returns the launches of products with `words` coefficients together.
    fn steps<'a>(&'a self, arrays: &'a Arrays, words: usize) -> Vec<Step<'a>> {
        let Arrays { forward, inverse, operands, transforms, products } = arrays;
        let rows = |operands: &'a CudaMemory| Step {
            name: "rows multiply",
            kernel: &self.rows,
            memory: vec![forward.memory(), inverse.memory(), operands, products],
            operations: words / IN_ROWS,
            words: 3 * words,
        };
        let Some([columns_forward, columns_inverse]) = &self.columns else {
            return vec![rows(operands)];
        };
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
