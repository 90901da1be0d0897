//! Measures chains of modular products, and copies of arrays for comparison.

use ctru_gpu_kernels::descriptor::Kernel;
use ctru_gpu_kernels::simt::{U32x4, Word};
use ctru_gpu_runtime::cuda::CudaMemory;
use ctru_gpu_runtime::{Buffer, Queue, RuntimeError};
use ctru_measure::Statistics;
use research_arithmetic::reduce::Reducer;
use research_reductions::FactorWord;
use research_reductions::chain::LENGTH;
use research_reductions::table::{Chain, ChainVisitor, copy_with_threads};

use super::{ELEMENTS, Factors, Laboratory, Launch, thread_counts};
use crate::error::Error;
use crate::gpu;
use crate::records::kind;

impl ChainVisitor for Laboratory<'_> {
    fn visit<M: Reducer>(&mut self, chain: &'static Chain)
    where
        FactorWord<M>: Word,
    {
        if self.is_wanted(chain.method, chain.modulus) {
            self.result = self.chain::<M>(chain);
        }
    }
}

/// Launches chains and measures nothing.
pub(super) struct Launcher<'a> {
    pub(super) laboratory: Laboratory<'a>,
    /// Launches of each chain.
    pub(super) launches: u32,
}

impl ChainVisitor for Launcher<'_> {
    fn visit<M: Reducer>(&mut self, chain: &'static Chain)
    where
        FactorWord<M>: Word,
    {
        let Self { laboratory, launches } = self;
        if laboratory.is_wanted(chain.method, chain.modulus) {
            let launch = |arrays: Arrays| {
                let launch = || arrays.launch(laboratory, &chain.kernel);
                (0..*launches).try_for_each(|_| launch())?;
                laboratory.queue.synchronise()
            };
            laboratory.result = laboratory.arrays::<M>().and_then(launch).map_err(Error::from);
        }
    }
}

/// The arrays of a chain.
struct Arrays {
    factors: Factors,
    elements: Buffer<U32x4, CudaMemory>,
    products: Buffer<U32x4, CudaMemory>,
}

impl Arrays {
    fn launch(&self, laboratory: &Laboratory<'_>, kernel: &Kernel) -> Result<(), RuntimeError> {
        let memory = [self.factors.memory(), &self.elements, &self.products];
        laboratory.launch(kernel, &memory, ELEMENTS / 4)
    }
}

impl Laboratory<'_> {
    /// Measures copies of an array of `len * batch` numbers, with each number of threads per block.
    pub(super) fn copy(&mut self, len: usize, batch: usize) -> Result<(), Error> {
        let quads = len * batch / 4;
        let elements = gpu::random(&self.queue, quads, |bits| U32x4([bits as u32; 4]))?;
        let copies = self.queue.allocate::<U32x4>(quads)?;
        for kernel in thread_counts().filter_map(copy_with_threads) {
            let launch = || self.launch(&kernel, &[&elements, &copies], quads);
            let statistics = gpu::time_in_a_row(&self.queue, launch)?;
            let (threads, bytes) = (kernel.shape().threads() as usize, 32 * quads);
            let kind = kind::COPY;
            let method = "copy";
            let copy = Launch { kind, method, len, batch, threads, bytes, ..Launch::ON_DEVICE };
            self.report(&copy, statistics)?;
        }
        Ok(())
    }

    fn chain<M: Reducer>(&mut self, chain: &'static Chain) -> Result<(), Error>
    where
        FactorWord<M>: Word,
    {
        for (threads, statistics) in self.time_chain::<M>(chain)? {
            let (method, threads) = (chain.method, threads as usize);
            let launch = Launch {
                kind: kind::CHAIN,
                method,
                modulus: M::MODULUS,
                len: ELEMENTS,
                threads,
                bytes: 8 * ELEMENTS,
                ..Launch::ON_DEVICE
            };
            self.report(&launch, statistics)?;
        }
        Ok(())
    }

    /// Measures a chain with each number of threads per block.
    fn time_chain<M: Reducer>(&self, chain: &Chain) -> Result<Vec<(u32, Statistics)>, RuntimeError>
    where
        FactorWord<M>: Word,
    {
        let arrays = self.arrays::<M>()?;
        let time = |threads| {
            let kernel = chain.with_threads(threads)?;
            let launch = || arrays.launch(self, &kernel);
            Some(gpu::time_in_a_row(&self.queue, launch).map(|statistics| (threads, statistics)))
        };
        thread_counts().filter_map(time).collect()
    }

    /// Makes the arrays of a chain.
    fn arrays<M: Reducer>(&self) -> Result<Arrays, RuntimeError>
    where
        FactorWord<M>: Word,
    {
        let part = (M::MODULUS / 2) as i32 / LENGTH as i32;
        let factors: Vec<_> = (1..=LENGTH as i32).map(|i| M::factor(i * part - 5 * part)).collect();
        let quad =
            |bits: u64| U32x4([0, 8, 16, 24].map(|shift| (bits >> shift) as u32 % M::MODULUS));
        Ok(Arrays {
            factors: Factors::new::<M>(&self.queue, &factors)?,
            elements: gpu::random(&self.queue, ELEMENTS / 4, quad)?,
            products: self.queue.allocate(ELEMENTS / 4)?,
        })
    }
}
