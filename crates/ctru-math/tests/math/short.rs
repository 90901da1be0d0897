//! Small and short polynomials against plain oracles.

use crate::backends::on_every_backend;
use crate::strategies::numbers;
use ctru_math::array::Array;
use ctru_math::short::{short, small};
use ctru_math::{NtruPrimeArithmetic, for_each_ntru_prime_ring, ternary};
use proptest::prelude::*;

fn expected_small(words: &[u32]) -> Vec<i8> {
    words.iter().map(|&word| ((u64::from(word) % (1 << 30) * 3) >> 30) as i8 - 1).collect()
}

fn expected_short(weight: usize, words: &[u32]) -> Vec<i8> {
    let tagged = |(i, word): (usize, &u32)| if i < weight { word & !1 } else { word & !3 | 1 };
    let mut keys: Vec<u32> = words.iter().enumerate().map(tagged).collect();
    keys.sort_unstable();
    keys.into_iter().map(|key| (key & 3) as i8 - 1).collect()
}

fn check<R: NtruPrimeArithmetic>(words: &[i64]) {
    let words: Vec<u32> = words.iter().map(|&word| word as u32).collect();
    let array = R::Coeffs::<[u8; 4]>::from_fn(|i| words[i].to_le_bytes());
    on_every_backend(|| {
        assert_eq!(small::<R>(&array).coefficients(), expected_small(&words));
        let short = short::<R>(&array);
        assert_eq!(short.coefficients(), expected_short(R::WEIGHT, &words));
        assert!(bool::from(ternary::is_short(&short)));
    });
}

/// Checks words in order, in reverse, and equal ones.
fn ordered<R: NtruPrimeArithmetic>() {
    let n = R::N as i64;
    check::<R>(&(0..n).collect::<Vec<_>>());
    check::<R>(&(0..n).map(|i| (n - i) << 20).collect::<Vec<_>>());
    check::<R>(&(0..n).map(|i| (i % 7) << 29).collect::<Vec<_>>());
}

macro_rules! properties {
    ($ring:ident $n:literal $numbers:tt) => {
        #[allow(non_snake_case)]
        mod $ring {
            use super::*;

            #[test]
            fn ordered() {
                super::ordered::<ctru_math::$ring>();
            }
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(32))]
                #[test]
                fn any_words(words in numbers($n, 0, i64::from(u32::MAX))) {
                    check::<ctru_math::$ring>(&words);
                }
            }
        }
    };
}
for_each_ntru_prime_ring!(properties);
