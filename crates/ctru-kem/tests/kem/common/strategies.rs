//! Strategies for proptest: random and extreme inputs.

use ctru_math::{Poly, Ring};
use proptest::collection::vec;
use proptest::prelude::*;

/// Returns `len` numbers of `low..=high`: uniform, all from the two ends, one value throughout, or
/// almost all zero.
///
/// Lazy reductions fail at the ends of their ranges first.
pub(crate) fn numbers(len: usize, low: i64, high: i64) -> impl Strategy<Value = Vec<i64>> {
    let ends = prop_oneof![Just(low), Just(high)];
    prop_oneof![
        4 => vec(low..=high, len),
        2 => vec(ends, len),
        1 => (low..=high).prop_map(move |c| vec![c; len]),
        1 => vec(prop_oneof![20 => Just(0i64.clamp(low, high)), 1 => low..=high], len),
    ]
}

/// Returns any element of `R_q`.
pub(crate) fn poly<R: Ring>() -> impl Strategy<Value = Poly<R>> {
    numbers(R::N, 0, i64::from(R::Q) - 1).prop_map(|c| {
        Poly::from_coefficients(&c.iter().map(|&c| c as u16).collect::<Vec<_>>()).unwrap()
    })
}

/// Returns `len` bytes: uniform, or one value throughout.
pub(crate) fn bytes(len: usize) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![4 => vec(any::<u8>(), len), 1 => any::<u8>().prop_map(move |byte| vec![byte; len])]
}
