//! Checks of single steps on all their inputs, or on a sample of them.
//!
//! The tests `sample` run by default, and the tests `all` with `--ignored`, best in release mode.

use std::ops::RangeInclusive;
use std::time::Instant;

/// The inputs of a check.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Every input.
    All,
    /// About 2^16 inputs of each range, at equal distances, with both ends.
    Sample,
}

impl Extent {
    /// Returns the inputs of a range that the check takes.
    pub fn of(self, range: RangeInclusive<i64>) -> impl Iterator<Item = i64> {
        self.some(range, 1 << 16)
    }

    /// Does the same, with about `sample` inputs in a sample.
    pub fn some(self, range: RangeInclusive<i64>, sample: i64) -> impl Iterator<Item = i64> {
        let step = match self {
            Self::All => 1,
            // An odd step meets even and odd numbers.
            Self::Sample => ((range.end() - range.start()) / sample) as usize | 1,
        };
        let last = (step > 1).then_some(*range.end());
        range.step_by(step).chain(last)
    }

    /// Returns the number of random inputs, or of calls with several inputs.
    #[must_use]
    pub fn count(self, all: usize) -> usize {
        if self == Self::All { all } else { (all >> 12).max(1) }
    }

    /// Runs a check and prints the number of inputs that it returns.
    pub fn run(self, name: &str, check: impl FnOnce(Self) -> u64) {
        let start = Instant::now();
        let inputs = check(self);
        println!("{name}: {inputs} inputs, {:.1} s", start.elapsed().as_secs_f64());
    }
}

/// Makes two tests of each function `fn(Extent) -> u64`, which returns the number of inputs.
#[macro_export]
macro_rules! exhaust {
    ($($name:ident: $check:expr),* $(,)?) => {$(
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            use $crate::exhaust::Extent;

            const NAME: &str = concat!(module_path!(), " ");

            #[test]
            fn sample() {
                Extent::Sample.run(NAME, $check);
            }

            #[test]
            #[ignore = "takes minutes"]
            fn all() {
                Extent::All.run(NAME, $check);
            }
        }
    )*};
}
