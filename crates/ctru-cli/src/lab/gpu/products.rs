//! Products modulo `x^n - 1`.

use ctru_gpu_kernels::descriptor::Kernel;
use ctru_gpu_kernels::lab::FactorWord;
use ctru_gpu_kernels::lab::cyclic::single::{FACTORS, Layer};
use ctru_gpu_kernels::lab::table::{Cyclic, CyclicVisitor, SINGLES, THREADS};
use ctru_gpu_kernels::simt::Word;
use ctru_gpu_runtime::cuda::CudaMemory;
use ctru_gpu_runtime::{Buffer, Queue, RuntimeError};
use ctru_math::ntt::cyclic::Transform;
use ctru_math::reduce::{ReduceSum, Reducer};

use super::{Factors, Laboratory, failed, thread_counts};
use crate::error::Error;
use crate::lab::Measurement;
use crate::timing;

/// Products of polynomials in a launch.
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
        let (mut forward, mut inverse) =
            (vec![M::Factor::default(); n / 2], vec![M::Factor::default(); n]);
        let transform = Transform::<M, P>::new(&mut forward, &mut inverse)?;
        // As many as the kernels of single layers may read, whatever the length.
        let table = |factors: &[M::Factor]| {
            let mut table = factors.to_vec();
            table.resize(FACTORS as usize, M::Factor::default());
            table
        };
        let allocate = || -> Result<Arrays, RuntimeError> {
            let most = BATCHES.into_iter().max().unwrap_or(1);
            Ok(Arrays {
                forward: Factors::new::<M>(&self.queue, &table(transform.forward_factors()))?,
                inverse: Factors::new::<M>(&self.queue, &table(transform.inverse_factors()))?,
                operands: timing::random(&self.queue, 2 * most * n, |bits| {
                    bits as u32 % M::MODULUS
                })?,
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
            let Some(kernels) = RingKernels::new(cyclic, threads) else { continue };
            if kernels.fit(n) && !self.has_room(&kernels.steps(&arrays, n)).map_err(failed)? {
                continue;
            }
            for batch in BATCHES.into_iter().filter(|batch| kernels.fit(batch * n)) {
                let steps = kernels.steps(&arrays, batch * n);
                let bytes = steps.iter().map(|step| 4 * step.words as u64).sum();
                let report =
                    Measurement { batch, threads: threads as usize, bytes, ..report.clone() };
                self.measure(&report, &steps)?;
                if batch == 1 {
                    let alone =
                        timing::on_host(&self.queue, || self.launch_all(&steps)).map_err(failed)?;
                    self.say(report.with(alone, "product", "host"))?;
                }
                if threads == THREADS {
                    for step in &steps {
                        let report = Measurement { bytes: 4 * step.words as u64, ..report.clone() };
                        let one = timing::on_device(&self.queue, || {
                            self.launch_all(std::slice::from_ref(step))
                        });
                        self.say(report.with(one.map_err(failed)?, step.name, "device"))?;
                    }
                }
            }
        }
        self.layers_apart(&report, &arrays)
    }

    fn measure(&mut self, report: &Measurement, steps: &[Step<'_>]) -> Result<(), Error> {
        let statistics =
            timing::on_device(&self.queue, || self.launch_all(steps)).map_err(failed)?;
        self.say(report.with(statistics, &report.step, "device"))
    }

    /// Whether the GPU has the registers for blocks of so many threads.
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

    /// Measures a product with a launch for each layer, where there are such kernels.
    fn layers_apart(&mut self, report: &Measurement, arrays: &Arrays) -> Result<(), Error> {
        let found = |method: &str, modulus| report.method == method && report.modulus == modulus;
        let Some(single) = SINGLES.iter().find(|single| found(single.method, single.modulus))
        else {
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
struct RingKernels {
    columns: Option<[Kernel; 2]>,
    rows: Kernel,
}

/// Coefficients that a thread holds.
const IN_COLUMNS: usize = 16;
const IN_ROWS: usize = 8;

impl RingKernels {
    /// Nothing if there are no such blocks.
    fn new(cyclic: &Cyclic, threads: u32) -> Option<Self> {
        cyclic.with_threads(threads).map(|(columns, rows)| Self { columns, rows })
    }

    /// Whether products with so many coefficients in all fill whole blocks.
    fn fit(&self, words: usize) -> bool {
        (words / IN_COLUMNS).is_multiple_of(self.rows.shape().threads() as usize)
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
