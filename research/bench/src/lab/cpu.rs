//! Runs the reduction laboratory on the CPU.

use std::hint::black_box;
use std::time::Duration;

use ctru_gpu_kernels::simt::Word;
use ctru_math::kernel::modular::centre;
use ctru_measure::{Record, sample};
use research_arithmetic::ntt::cyclic::{CyclicError, Transform};
use research_arithmetic::reduce::{ReduceSum, Reducer, Residue};
use research_reductions::FactorWord;
use research_reductions::chain::LENGTH;
use research_reductions::table::{
    Chain, ChainVisitor, Cyclic, CyclicVisitor, visit_chains, visit_cyclics,
};

use super::{Bench, Options};
use crate::error::Error;
use crate::records::{Report, figure, kind, on_cpu};

/// Elements of the array. It fits into the caches.
const ELEMENTS: usize = 1 << 16;
/// Elements whose chains are interleaved.
const INTERLEAVED: usize = 16;

pub(super) fn measure(options: &Options, bench: Bench, report: Report<'_>) -> Result<(), Error> {
    let mut visitor = Visitor { options, report, result: Ok(()) };
    match bench {
        Bench::Reductions => visit_chains(&mut visitor),
        Bench::Ntt => visit_cyclics(&mut visitor),
    }
    visitor.result
}

struct Visitor<'a> {
    options: &'a Options,
    report: Report<'a>,
    /// The first failure. After a failure, nothing is measured.
    result: Result<(), Error>,
}

impl Visitor<'_> {
    fn budget(&self) -> Duration {
        Duration::from_secs_f64(self.options.seconds)
    }

    /// Makes a record of one operation per thread.
    fn record(&self, bench: &str, method: &str, threads: usize) -> Record {
        Record { batch: threads, threads, ..on_cpu(bench, "", method) }
    }

    fn is_wanted(&self, method: &str, modulus: u32) -> bool {
        self.result.is_ok() && self.options.wants(method, modulus)
    }
}

/// Returns `len` pseudo-random numbers in `0..modulus`.
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
        if !self.is_wanted(chain.method, chain.modulus) {
            return;
        }
        let factors = coefficients(M::MODULUS, LENGTH, 1);
        let factors: Vec<_> = factors.map(|x| M::factor(centre(x, M::MODULUS))).collect();
        let elements = coefficients(M::MODULUS, ELEMENTS, 2);
        let mut elements: Vec<_> = elements.map(|x| M::from_canonical(x as u32)).collect();
        let statistics = sample(self.budget(), || {
            // The compiler must not know the factors, nor the modulus that some of them contain.
            let factors = black_box(&factors);
            for elements in black_box(&mut elements).chunks_exact_mut(INTERLEAVED) {
                for &w in factors {
                    elements.iter_mut().for_each(|x| *x = M::mul(*x, w));
                }
            }
            Ok(())
        });
        self.result = statistics.and_then(|statistics| {
            let record = self.record(kind::CHAIN, chain.method, 1);
            let figures = [(figure::MODULUS, M::MODULUS.into()), (figure::LEN, ELEMENTS as f64)];
            (self.report)(record.timed(statistics, 1.0).with_figures(figures))
        });
    }
}

impl CyclicVisitor for Visitor<'_> {
    fn visit<M: Reducer, P: ReduceSum>(&mut self, cyclic: &'static Cyclic)
    where
        FactorWord<M>: Word,
    {
        if self.is_wanted(cyclic.method, cyclic.modulus) {
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
            let record = self.record(kind::CYCLIC, cyclic.method, threads);
            let figures = [(figure::MODULUS, M::MODULUS.into()), (figure::LEN, n as f64)];
            (self.report)(record.timed(statistics, threads as f64).with_figures(figures))?;
        }
        Ok(())
    }
}

/// Runs `operation` once on each of `threads` threads.
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
