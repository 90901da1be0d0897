//! Measures calls of one product of polynomials as sources A and B run and time them: one launch
//! per layer, with transfers, allocation of device memory, and factors that the host makes.

use ctru_gpu_kernels::descriptor::{Batch, Kernel};
use ctru_gpu_kernels::simt::Word;
use ctru_gpu_runtime::cuda::{CudaMemory, CudaPinned, CudaQueue};
use ctru_gpu_runtime::{Buffer, HostMemory, Queue, RuntimeError};
use research_arithmetic::ntt::cyclic::{Transform, forward_layer, inverse_layer};
use research_arithmetic::reduce::{ReduceSum, Reducer};
use research_reductions::FactorWord;
use research_reductions::cyclic::single::FACTORS;
use research_reductions::table::Single;

use super::products::{Arrays, ProductKernels, Tables};
use super::{Factors, Laboratory, Launch, Staging, thread_counts};
use crate::error::Error;
use crate::gpu;
use crate::records::kind;

/// What the time of a call contains besides its launches, see [`Record::transfers`].
///
/// [`Record::transfers`]: ctru_measure::Record::transfers
mod contains {
    pub(super) const NOTHING: &str = "none";
    /// Copies of both operands to the device and of the product to the host.
    pub(super) const COPIES: &str = "operands and product";
    /// The same, and allocation, wiping and freeing of the device memory for the polynomials.
    pub(super) const ALLOCATION: &str = "operands and product, allocation";
    /// The same, and all factors: made by the host, copied at once to memory that is allocated too.
    pub(super) const FACTORS_ONCE: &str = "operands and product, allocation, factors once";
    /// The same, but the host makes and copies the factors of each layer before its launch.
    pub(super) const FACTORS_PER_LAYER: &str =
        "operands and product, allocation, factors per layer";
}

/// A way to run a product with one launch per layer.
struct Setting {
    kind: &'static str,
    contains: &'static str,
}

impl Setting {
    const ALL: [Self; 6] = [
        Self { kind: kind::LAYERS_ALONE, contains: contains::NOTHING },
        Self { kind: kind::LAYERS_SYNCHRONISED, contains: contains::NOTHING },
        Self { kind: kind::LAYERS_SYNCHRONISED, contains: contains::COPIES },
        Self { kind: kind::LAYERS_SYNCHRONISED, contains: contains::ALLOCATION },
        // Source B.
        Self { kind: kind::LAYERS_ALONE, contains: contains::FACTORS_ONCE },
        // Source A.
        Self { kind: kind::LAYERS_SYNCHRONISED, contains: contains::FACTORS_PER_LAYER },
    ];

    fn copies(&self) -> bool {
        self.contains != contains::NOTHING
    }
    fn allocates(&self) -> bool {
        self.copies() && self.contains != contains::COPIES
    }
    fn makes_all_factors(&self) -> bool {
        self.contains == contains::FACTORS_ONCE
    }
    fn makes_factors_per_layer(&self) -> bool {
        self.contains == contains::FACTORS_PER_LAYER
    }
    fn synchronises(&self) -> bool {
        self.kind == kind::LAYERS_SYNCHRONISED
    }
}

/// Pinned memory for the polynomials of a call.
struct Polynomials {
    operands: CudaPinned<u32>,
    product: CudaPinned<u32>,
}

impl Polynomials {
    /// Allocates the memory and fills in operands with coefficients below `modulus`.
    fn new(queue: &CudaQueue, modulus: u32, n: usize) -> Result<Self, RuntimeError> {
        let mut operands = queue.pinned(2 * n)?;
        for (i, coefficient) in operands.write()?.iter_mut().enumerate() {
            *coefficient = (i as u32).wrapping_mul(0x9e37_79b9) % modulus;
        }
        Ok(Self { operands, product: queue.pinned(n)? })
    }

    fn upload(&self, queue: &CudaQueue, to: &Buffer<u32, CudaMemory>) -> Result<(), RuntimeError> {
        queue.upload(&self.operands, 0..self.operands.len(), to, 0)
    }

    /// Copies the first polynomial of the array to the host, and waits.
    fn download(
        &mut self,
        queue: &CudaQueue,
        from: &Buffer<u32, CudaMemory>,
    ) -> Result<(), RuntimeError> {
        queue.download(from, 0..self.product.len(), &mut self.product, 0)?;
        queue.synchronise()
    }
}

/// The memory of the host for factors.
struct HostFactors<M: Reducer> {
    forward: Vec<M::Factor>,
    inverse: Vec<M::Factor>,
    staging: Staging,
    /// Entry 0 of the inverse table.
    scale: M::Factor,
}

impl<M: Reducer> HostFactors<M>
where
    FactorWord<M>: Word,
{
    fn new<P: ReduceSum>(queue: &CudaQueue, n: usize) -> Result<Self, Error> {
        let staging = Staging::new::<M>(queue, n)?;
        let (forward, inverse) = (vec![M::Factor::default(); n / 2], vec![M::Factor::default(); n]);
        let mut factors = Self { forward, inverse, staging, scale: M::Factor::default() };
        factors.make_all::<P>()?;
        factors.scale = factors.inverse[0];
        Ok(factors)
    }

    fn make_all<P: ReduceSum>(&mut self) -> Result<(), Error> {
        Ok(Transform::<M, P>::new(&mut self.forward, &mut self.inverse).map(drop)?)
    }

    /// Makes all factors and copies them to the tables.
    fn fill<P: ReduceSum>(
        &mut self,
        queue: &CudaQueue,
        [forward, inverse]: &Tables,
    ) -> Result<(), Error> {
        self.make_all::<P>()?;
        forward.upload::<M>(queue, &mut self.staging, &self.forward, 0)?;
        Ok(inverse.upload::<M>(queue, &mut self.staging, &self.inverse, 0)?)
    }

    /// Makes the factors of the forward layer with `blocks` blocks and copies them.
    fn fill_forward(
        &mut self,
        queue: &CudaQueue,
        table: &Factors,
        blocks: usize,
    ) -> Result<(), Error> {
        let factors = &mut self.forward[..blocks];
        forward_layer::<M>(factors)?;
        Ok(table.upload::<M>(queue, &mut self.staging, factors, 0)?)
    }

    /// Makes the factors of the inverse layer that merges blocks of length `half` and copies them.
    fn fill_inverse(
        &mut self,
        queue: &CudaQueue,
        table: &Factors,
        half: usize,
    ) -> Result<(), Error> {
        let factors = &mut self.inverse[..half];
        inverse_layer::<M>(factors)?;
        Ok(table.upload::<M>(queue, &mut self.staging, factors, half)?)
    }
}

/// What calls with one launch per layer use: kernels and memory.
struct LayerCall<'a> {
    queue: &'a CudaQueue,
    kernels: [Kernel; 3],
    layers: &'a [Buffer<u32, CudaMemory>],
    tables: &'a Tables,
    operands: &'a Buffer<u32, CudaMemory>,
}

impl LayerCall<'_> {
    fn run<M: Reducer, P: ReduceSum>(
        &self,
        setting: &Setting,
        host: &mut Polynomials,
        factors: &mut HostFactors<M>,
    ) -> Result<(), Error>
    where
        FactorWord<M>: Word,
    {
        let queue = self.queue;
        let n = 1 << self.layers.len();
        let (allocated, tables): (_, Tables);
        let mut operands = self.operands;
        let mut used = self.tables;
        if setting.allocates() {
            allocated = queue.allocate(2 * n)?;
            operands = &allocated;
        }
        if setting.makes_all_factors() || setting.makes_factors_per_layer() {
            let table = || Factors::allocate::<M>(queue, FACTORS as usize);
            tables = [table()?, table()?];
            used = &tables;
        }
        if setting.copies() {
            host.upload(queue, operands)?;
        }
        if setting.makes_all_factors() {
            factors.fill::<P>(queue, used)?;
        }
        let [forward, inverse] = used;
        let [forward_layer, values, inverse_layer] = &self.kernels;
        let launch = |kernel, memory: &[&CudaMemory], operations| -> Result<(), RuntimeError> {
            queue.launch(kernel, memory, Batch::each(operations as u32))?;
            if setting.synchronises() { queue.synchronise() } else { Ok(()) }
        };
        for (log_half, layer) in self.layers.iter().enumerate().rev() {
            if setting.makes_factors_per_layer() {
                factors.fill_forward(queue, forward, n >> (log_half + 1))?;
            }
            launch(forward_layer, &[forward.memory(), layer, operands], n)?;
        }
        launch(values, &[operands], n)?;
        if setting.makes_factors_per_layer() {
            inverse.upload::<M>(queue, &mut factors.staging, &[factors.scale], 0)?;
        }
        for (log_half, layer) in self.layers.iter().enumerate() {
            if setting.makes_factors_per_layer() {
                factors.fill_inverse(queue, inverse, 1 << log_half)?;
            }
            launch(inverse_layer, &[inverse.memory(), layer, operands], n / 2)?;
        }
        if setting.copies() {
            host.download(queue, operands)?;
        }
        Ok(())
    }
}

impl Laboratory<'_> {
    /// Measures calls with one launch per layer.
    pub(super) fn layer_calls<M: Reducer, P: ReduceSum>(
        &mut self,
        product: &Launch,
        single: &Single,
        tables: &Tables,
        arrays: &Arrays,
    ) -> Result<(), Error>
    where
        FactorWord<M>: Word,
    {
        let layers = self.layers(product.len)?;
        let mut host = Polynomials::new(&self.queue, M::MODULUS, product.len)?;
        let mut factors = HostFactors::<M>::new::<P>(&self.queue, product.len)?;
        for threads in thread_counts() {
            let Some(kernels) = single.with_threads(threads) else { continue };
            let mut measured = Vec::new();
            let operands = &arrays.operands;
            let call = LayerCall { queue: &self.queue, kernels, layers: &layers, tables, operands };
            for setting in &Setting::ALL {
                let run = || call.run::<M, P>(setting, &mut host, &mut factors);
                measured.push((setting, gpu::time_alone(&self.queue, run)?));
            }
            for (Setting { kind, contains: transfers }, statistics) in measured {
                let threads = threads as usize;
                self.report(&Launch { kind, transfers, threads, ..*product }, statistics)?;
            }
        }
        Ok(())
    }

    /// Measures calls with the fused kernels, with transfers, and with allocation too.
    pub(super) fn fused_calls(
        &mut self,
        product: &Launch,
        kernels: &ProductKernels<'_>,
        tables: &Tables,
        arrays: &Arrays,
    ) -> Result<(), Error> {
        let n = product.len;
        let mut host = Polynomials::new(&self.queue, product.modulus, n)?;
        let queue = &self.queue;
        let mut run = |arrays: &Arrays| -> Result<(), RuntimeError> {
            host.upload(queue, &arrays.operands)?;
            self.launch_all(&kernels.steps(tables, arrays, 1, n))?;
            host.download(queue, &arrays.products)
        };
        let copies = gpu::time_alone(queue, || run(arrays))?;
        let allocation = gpu::time_alone(queue, || run(&Arrays::allocate(queue, n)?))?;
        for (transfers, statistics) in
            [(contains::COPIES, copies), (contains::ALLOCATION, allocation)]
        {
            let kind = kind::CYCLIC_ALONE;
            self.report(&Launch { kind, transfers, ..*product }, statistics)?;
        }
        Ok(())
    }
}
