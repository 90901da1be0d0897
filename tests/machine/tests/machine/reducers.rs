//! Tries the reducers on every input on a GPU, and on a few thousand of them on the emulator.

use std::ops::RangeInclusive;

use ctru_gpu_runtime::Queue;
use ctru_machine::THREADS;
use ctru_machine::reducers::{self, FactorWord, Pairs, Visitor};
use ctru_math::reduce::{Packed, Reducer};
use ctru_simt::descriptor::{Batch, Kernel};
use ctru_simt::simt::Word;

use crate::{Q, download, queue, upload};

/// Inputs of which a launch tries all.
struct Inputs {
    /// Parts of the range of inputs.
    parts: Vec<RangeInclusive<i32>>,
    /// The number of threads that share a part.
    threads: u32,
}

/// Returns all inputs.
#[cfg(feature = "cuda")]
fn inputs(range: RangeInclusive<i32>) -> Inputs {
    Inputs { parts: vec![range], threads: THREADS << 14 }
}

/// Returns inputs at both ends of the range and around its middle.
#[cfg(not(feature = "cuda"))]
fn inputs(range: RangeInclusive<i32>) -> Inputs {
    let (first, last) = (i64::from(*range.start()), i64::from(*range.end()));
    let of = |first: i64| first as i32..=(first + 999) as i32;
    Inputs { parts: [first, (first + last) / 2, last - 999].map(of).into(), threads: THREADS }
}

/// Returns the factors of a check. On the emulator, those of [`Pairs::EveryFactor`] are few.
fn factors<M: Reducer>(pairs: Pairs) -> RangeInclusive<i32> {
    let half = (M::MODULUS / 2) as i32;
    match pairs {
        Pairs::EveryInput => half..=half,
        Pairs::EveryFactor if cfg!(feature = "cuda") => -half..=half,
        Pairs::EveryFactor => half - 9..=half,
    }
}

/// Launches the kernels. If `is_planted`, they take the next factors for the true ones.
struct Check {
    queue: Q,
    is_planted: bool,
}

impl Visitor for Check {
    fn visit<M: Reducer>(&mut self, kernel: &'static Kernel, pairs: Pairs)
    where
        FactorWord<M>: Word,
    {
        let factors = factors::<M>(pairs);
        let words = factors.clone().map(|w| M::factor(w).to_word().to_bits());
        let (narrow, wide);
        let memory = if FactorWord::<M>::BYTES == 4 {
            narrow = upload(&self.queue, &words.map(|word| word as u32).collect::<Vec<_>>());
            &*narrow
        } else {
            wide = upload(&self.queue, &words.map(|word| word as u64).collect::<Vec<_>>());
            &*wide
        };
        let most = match pairs {
            Pairs::EveryInput => M::INPUT_BOUND,
            Pairs::EveryFactor => M::OUTPUT_BOUND,
        };
        let Inputs { parts, threads } = inputs(if M::IS_SIGNED { -most } else { 0 }..=most);
        let counts = upload(&self.queue, &[0u64; 2]);
        let count = factors.clone().count() as u32;
        let least_factor = factors.start() + i32::from(self.is_planted);
        for part in &parts {
            let scalars =
                [(*part.start()).into(), (*part.end()).into(), least_factor.into(), count.into()];
            let kernel = kernel.with(&scalars).unwrap();
            self.queue.launch(&kernel, &[memory, &counts], Batch::each(threads)).unwrap();
        }
        let [results, wrong] = download(&self.queue, &counts)[..] else { unreachable!() };
        println!("{}: {results} results, {wrong} wrong", kernel.name());
        let of = |part: &RangeInclusive<i32>| i64::from(*part.end()) - i64::from(*part.start()) + 1;
        let inputs: i64 = parts.iter().map(of).sum();
        assert!(results as i64 >= inputs * i64::from(count + 1), "{}", kernel.name());
        // A product by the next factor differs by the input, which is 0 modulo a prime for a few.
        let is_wrong = inputs * i64::from(count) / 2;
        assert!(if self.is_planted { wrong as i64 > is_wrong } else { wrong == 0 });
    }
}

#[test]
fn every_input_of_every_method() {
    reducers::visit(&mut Check { queue: queue(), is_planted: false });
}

#[test]
fn planted_factors_are_found() {
    reducers::visit(&mut Check { queue: queue(), is_planted: true });
}
