//! Measures chains of modular products, and for comparison a copy of an array of the same size.

use ctru_gpu_kernels::lab::FactorWord;
use ctru_gpu_kernels::lab::chain::LENGTH;
use ctru_gpu_kernels::lab::table::{COPY, Chain, ChainVisitor, THREADS};
use ctru_gpu_kernels::simt::{U32x4, Word};
use ctru_gpu_runtime::{Queue, RuntimeError};
use ctru_math::reduce::Reducer;
use ctru_measure::Statistics;

use super::{Factors, Laboratory, Launch, thread_counts};
use crate::error::Error;
use crate::gpu;
use crate::records::kind;

/// Elements of the array.
const ELEMENTS: usize = 1 << 24;

/// The fields that all chains have in common.
const CHAIN: Launch = Launch {
    kind: kind::CHAIN,
    method: "",
    modulus: 0,
    len: ELEMENTS,
    batch: 1,
    threads: 0,
    bytes: 8 * ELEMENTS,
};

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
    /// Measures a copy of an array of the same size.
    pub(super) fn copy(&mut self) -> Result<(), Error> {
        let elements = gpu::random(&self.queue, ELEMENTS / 4, |bits| U32x4([bits as u32; 4]))?;
        let copies = self.queue.allocate::<U32x4>(ELEMENTS / 4)?;
        let statistics = gpu::time_in_a_row(&self.queue, || {
            self.launch(&COPY, &[&elements, &copies], ELEMENTS / 4)
        })?;
        let threads = THREADS as usize;
        self.report(&Launch { kind: kind::COPY, threads, ..CHAIN }, statistics)
    }

    fn chain<M: Reducer>(&mut self, chain: &'static Chain) -> Result<(), Error>
    where
        FactorWord<M>: Word,
    {
        for (threads, statistics) in self.time_chain::<M>(chain)? {
            let (method, threads) = (chain.method, threads as usize);
            let launch = Launch { method, modulus: M::MODULUS, threads, ..CHAIN };
            self.report(&launch, statistics)?;
        }
        Ok(())
    }

    /// Measures a chain with each number of threads per block.
    fn time_chain<M: Reducer>(&self, chain: &Chain) -> Result<Vec<(u32, Statistics)>, RuntimeError>
    where
        FactorWord<M>: Word,
    {
        let part = (M::MODULUS / 2) as i32 / LENGTH as i32;
        let factors: Vec<_> = (1..=LENGTH as i32).map(|i| M::factor(i * part - 5 * part)).collect();
        let factors = Factors::new::<M>(&self.queue, &factors)?;
        let quad =
            |bits: u64| U32x4([0, 8, 16, 24].map(|shift| (bits >> shift) as u32 % M::MODULUS));
        let elements = gpu::random(&self.queue, ELEMENTS / 4, quad)?;
        let products = self.queue.allocate::<U32x4>(ELEMENTS / 4)?;
        let memory = [factors.memory(), &elements, &products];
        let time = |threads| {
            let kernel = chain.with_threads(threads)?;
            let launch = || self.launch(&kernel, &memory, ELEMENTS / 4);
            Some(gpu::time_in_a_row(&self.queue, launch).map(|statistics| (threads, statistics)))
        };
        thread_counts().filter_map(time).collect()
    }
}
