//! Chains of products, and a copy of the same array beside them.

use ctru_gpu_kernels::lab::FactorWord;
use ctru_gpu_kernels::lab::chain::LENGTH;
use ctru_gpu_kernels::lab::table::{COPY, Chain, ChainVisitor, THREADS};
use ctru_gpu_kernels::simt::{U32x4, Word};
use ctru_gpu_runtime::{Queue, RuntimeError};
use ctru_math::reduce::Reducer;

use super::{Factors, Laboratory, failed, thread_counts};
use crate::error::Error;
use crate::lab::Measurement;
use crate::record::Statistics;
use crate::timing;

/// Elements of a chain's array.
const ELEMENTS: usize = 1 << 24;

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
    /// Measures what memory can do.
    pub(super) fn copy(&mut self) -> Result<(), Error> {
        let measure = || -> Result<Statistics, RuntimeError> {
            let elements =
                timing::random(&self.queue, ELEMENTS / 4, |bits| U32x4([bits as u32; 4]))?;
            let copies = self.queue.allocate::<U32x4>(ELEMENTS / 4)?;
            timing::on_device(&self.queue, || {
                self.launch(&COPY, &[&elements, &copies], ELEMENTS / 4)
            })
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
        let quad =
            |bits: u64| U32x4([0, 8, 16, 24].map(|shift| (bits >> shift) as u32 % M::MODULUS));
        let elements = timing::random(&self.queue, ELEMENTS / 4, quad)?;
        let products = self.queue.allocate::<U32x4>(ELEMENTS / 4)?;
        let memory = [factors.memory(), &elements, &products];
        let time = |threads| {
            let kernel = chain.with_threads(threads)?;
            let launch = || self.launch(&kernel, &memory, ELEMENTS / 4);
            Some(timing::on_device(&self.queue, launch).map(|statistics| (threads, statistics)))
        };
        thread_counts().filter_map(time).collect()
    }
}
