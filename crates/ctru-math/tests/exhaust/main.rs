//! Checks of single steps on all their inputs, or on a sample of them.
//!
//! `cargo test` runs the tests `sample`. `cargo xtask exhaust` runs the tests `all`, in release
//! mode and with the counts of inputs.

// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

mod butterflies;
mod codecs;
mod e8;
mod reducers;

use std::ops::RangeInclusive;
use std::time::Instant;

/// The inputs of a check.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Extent {
    /// Every input.
    All,
    /// About 2^16 inputs of each range, at equal distances, with both ends.
    Sample,
}

impl Extent {
    /// Returns the inputs of a range that the check takes.
    fn of(self, range: RangeInclusive<i64>) -> impl Iterator<Item = i64> {
        let step = match self {
            Self::All => 1,
            // An odd step meets even and odd numbers.
            Self::Sample => ((range.end() - range.start()) >> 16) as usize | 1,
        };
        let last = (step > 1).then_some(*range.end());
        range.step_by(step).chain(last)
    }

    /// Returns the number of random inputs, or of calls with several inputs.
    fn count(self, all: usize) -> usize {
        if self == Self::All { all } else { (all >> 12).max(1) }
    }

    /// Runs a check and prints the number of inputs that it returns.
    fn run(self, name: &str, check: impl FnOnce(Self) -> u64) {
        let start = Instant::now();
        let inputs = check(self);
        println!("{name}: {inputs} inputs, {:.1} s", start.elapsed().as_secs_f64());
    }
}

/// Makes two tests of each function `fn(Extent) -> u64`, which returns the number of inputs.
macro_rules! exhaust {
    ($($name:ident: $check:expr),* $(,)?) => {$(
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            use crate::Extent;

            const NAME: &str = concat!(module_path!(), " ");

            #[test]
            fn sample() {
                Extent::Sample.run(NAME, $check);
            }

            #[test]
            #[ignore = "takes minutes; `cargo xtask exhaust` runs it"]
            fn all() {
                Extent::All.run(NAME, $check);
            }
        }
    )*};
}
use exhaust;
