//! The laboratory on the CPU: the oracle and the baseline.

use std::hint::black_box;
use std::time::Duration;

use ctru_gpu_kernels::lab::FactorWord;
use ctru_gpu_kernels::lab::chain::LENGTH;
use ctru_gpu_kernels::lab::table::{
    Chain, ChainVisitor, Cyclic, CyclicVisitor, visit_chains, visit_cyclics,
};
use ctru_gpu_kernels::simt::Word;
use ctru_math::ntt::cyclic::{CyclicError, Transform};
use ctru_math::reduce::{ReduceSum, Reducer, Residue, centre};

use super::{Bench, Measurement, Options, Report};
use crate::budget::sample;
use crate::engine::cpu_name;
use crate::error::Error;

/// Elements of a chain's array.
const ELEMENTS: usize = 1 << 16;
/// Elements that go through a chain side by side.
const SIDE_BY_SIDE: usize = 16;

pub(super) fn measure(options: &Options, bench: Bench, report: Report<'_>) -> Result<(), Error> {
    let mut visitor = Visitor { options, device: cpu_name(), report, result: Ok(()) };
    match bench {
        Bench::Reductions => visit_chains(&mut visitor),
        Bench::Ntt => visit_cyclics(&mut visitor),
    }
    visitor.result
}

struct Visitor<'a> {
    options: &'a Options,
    device: String,
    report: Report<'a>,
    /// The first failure, after which nothing is measured.
    result: Result<(), Error>,
}

impl Visitor<'_> {
    fn budget(&self) -> Duration {
        Duration::from_secs_f64(self.options.seconds)
    }

    fn is_wanted(&self, method: &str) -> bool {
        self.result.is_ok() && self.options.wants(method)
    }
}

/// Numbers in `0..modulus` that differ.
fn coefficients(modulus: u32, len: usize, mut state: u64) -> impl Iterator<Item = i32> {
    std::iter::repeat_with(move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % u64::from(modulus)) as i32
    })
    .take(len)
}

impl ChainVisitor for Visitor<'_> {
    fn visit<M: Reducer>(&mut self, chain: &'static Chain)
    where
        FactorWord<M>: Word,
    {
        if !self.is_wanted(chain.method) {
            return;
        }
        let centred =
            |len, seed| coefficients(M::MODULUS, len, seed).map(|x| centre(x, M::MODULUS));
        let factors: Vec<M::Factor> = centred(LENGTH, 1).map(M::factor).collect();
        let mut elements: Vec<M::Residue> = centred(ELEMENTS, 2).map(M::Residue::new).collect();
        let statistics = sample(self.budget(), || {
            // The compiler must not know the factors, nor the modulus that some bring along.
            let factors = black_box(&factors);
            for elements in black_box(&mut elements).chunks_exact_mut(SIDE_BY_SIDE) {
                for &w in factors {
                    elements.iter_mut().for_each(|x| *x = M::mul(*x, w));
                }
            }
            Ok(())
        });
        self.result = statistics.and_then(|statistics| {
            (self.report)(Measurement {
                bench: "reductions".to_owned(),
                step: "chain".to_owned(),
                engine: "cpu".to_owned(),
                device: self.device.clone(),
                method: chain.method.to_owned(),
                modulus: M::MODULUS,
                len: ELEMENTS,
                batch: 1,
                threads: 1,
                clock: "host".to_owned(),
                ..Measurement::now(statistics)
            })
        });
    }
}

impl CyclicVisitor for Visitor<'_> {
    fn visit<M: Reducer, P: ReduceSum>(&mut self, cyclic: &'static Cyclic)
    where
        FactorWord<M>: Word,
    {
        if self.is_wanted(cyclic.method) {
            self.result = self.products::<M, P>(cyclic);
        }
    }
}

impl Visitor<'_> {
    fn products<M: Reducer, P: ReduceSum>(&mut self, cyclic: &Cyclic) -> Result<(), Error> {
        let n = 1 << cyclic.log_len;
        let (mut forward, mut inverse) =
            (vec![M::Factor::default(); n / 2], vec![M::Factor::default(); n]);
        let transform = Transform::<M, P>::new(black_box(&mut forward), black_box(&mut inverse))?;
        let polynomial =
            |seed| coefficients(M::MODULUS, n, seed).map(M::Residue::new).collect::<Vec<_>>();
        let operands = [polynomial(1), polynomial(2)];
        let multiply = || -> Result<(), CyclicError> {
            let [mut a, mut b] = operands.clone();
            transform.multiply(&mut a, &mut b)?;
            black_box(b);
            Ok(())
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut counts = vec![1, cores];
        counts.dedup();
        for threads in counts {
            let statistics = sample(self.budget(), || match threads {
                1 => multiply(),
                _ => on_threads(threads, &multiply),
            })?;
            (self.report)(Measurement {
                bench: "ntt".to_owned(),
                step: "product".to_owned(),
                engine: "cpu".to_owned(),
                device: self.device.clone(),
                method: cyclic.method.to_owned(),
                modulus: M::MODULUS,
                len: n,
                batch: threads,
                threads,
                clock: "host".to_owned(),
                ..Measurement::now(statistics)
            })?;
        }
        Ok(())
    }
}

/// Runs `operation` once in each of `threads` threads.
fn on_threads<E: Send>(
    threads: usize,
    operation: &(impl Fn() -> Result<(), E> + Sync),
) -> Result<(), E> {
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(operation)).collect();
        running.into_iter().try_for_each(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}
