//! proptest strategies: random and extreme polynomials.

use ctru_math::{NtruPrimeRing, Poly, Ring, RoundedPoly, SmallPoly};
use proptest::collection::vec;
use proptest::prelude::*;

/// Generates `len` numbers of `low..=high`: uniform, all from the two ends, all zero but a few, or
/// one value throughout. Products are tested with these because lazy reductions fail at the ends of
/// their ranges first.
pub fn numbers(len: usize, low: i64, high: i64) -> impl Strategy<Value = Vec<i64>> {
    let ends = prop_oneof![Just(low), Just(high)];
    prop_oneof![
        4 => vec(low..=high, len),
        2 => vec(ends, len),
        1 => (low..=high).prop_map(move |c| vec![c; len]),
        1 => vec(prop_oneof![20 => Just(0i64.clamp(low, high)), 1 => low..=high], len),
    ]
}

/// Generates any element of `R_q`.
pub fn poly<R: NtruPrimeRing>() -> impl Strategy<Value = Poly<R>> {
    numbers(R::N, 0, i64::from(R::Q) - 1).prop_map(|c| {
        Poly::from_coefficients(&c.iter().map(|&c| c as u16).collect::<Vec<_>>()).unwrap()
    })
}

/// Generates any small polynomial, with coefficients up to [`SmallPoly::BOUND`] in absolute value.
pub fn small_poly<R: NtruPrimeRing>() -> impl Strategy<Value = SmallPoly<R>> {
    let bound = i64::from(SmallPoly::<R>::BOUND);
    numbers(R::N, -bound, bound).prop_map(|c| {
        SmallPoly::from_coefficients(&c.iter().map(|&c| c as i8).collect::<Vec<_>>()).unwrap()
    })
}

/// Generates any polynomial modulo `q2`.
pub fn rounded_poly<R: Ring>() -> impl Strategy<Value = RoundedPoly<R>> {
    numbers(R::N, 0, i64::from(R::Q2) - 1).prop_map(|c| {
        RoundedPoly::from_coefficients(&c.iter().map(|&c| c as u16).collect::<Vec<_>>()).unwrap()
    })
}

/// Generates `len` bytes: uniform, or one value throughout.
pub fn bytes(len: usize) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![4 => vec(any::<u8>(), len), 1 => any::<u8>().prop_map(move |byte| vec![byte; len])]
}
