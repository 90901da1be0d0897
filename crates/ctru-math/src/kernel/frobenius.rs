//! Inversion by powers: the method of Itoh and Tsujii. This form is an oracle for kernels, and it
//! computes the matrices that they use.
//!
//! `R_q` is a field with `q^n` elements. The norm `a^r` of an element, `r = 1 + q + ... + q^(n-1)`,
//! lies in `Z_q`, so a power in `Z_q` inverts it:
//!
//! ```text
//! a^-1 = (a^r)^-1 a^(r-1),   a^(r-1) = (b_(n-1))^q,   b_k = a^(1 + q + ... + q^(k-1)).
//! ```
//!
//! An addition chain for `n - 1` leads from `b_1 = a` to `b_(n-1)`: `b_(i+j) = (b_i)^(q^j) b_j`.
//!
//! The map from `a` to `a^(q^j)` (Frobenius) is linear over `Z_q`. Column `i` of its matrix is
//! `x^(i q^j)`, the power `i` of the image `x^(q^j)` of `x`. The chains below need few different
//! matrices.
//!
//! Source: T. Itoh, S. Tsujii, "A fast algorithm for computing multiplicative inverses in GF(2^m)
//! using normal bases", Information and Computation 78, 1988.

use core::marker::PhantomData;

use super::modular;
use crate::array::Array;
use crate::mul;
use crate::poly::Poly;
use crate::ring::{NtruPrimeRing, Ring};

/// A step of an addition chain: `b_(i+j) = (b_i)^(q^j) b_j`.
///
/// Elements have an index: that of `a` is 0, and that of the result of step `k` is `k + 1`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The index of `b_i`.
    pub mapped: usize,
    /// The index of `b_j`.
    pub factor: usize,
    /// The index of the matrix of the map to the power `q^j`. Map 0 is the power `q`.
    pub map: usize,
}

/// The largest number of elements of a chain.
const MOST_ELEMENTS: usize = 14;

/// The addition chain of a ring.
struct Chain<R>(PhantomData<R>);

impl<R: Ring> Chain<R> {
    const ALL: [Step; MOST_ELEMENTS] = chain(R::N - 1, R::INVERSION_CHAIN);
    const STEPS: &'static [Step] = Self::ALL.split_at(R::INVERSION_CHAIN.len()).0;
}

/// Returns the steps of the chain from `b_1` to `b_last` whose step `k` computes `b_(i+j)` for
/// `sums[k] = [i, j]`. Only the first `sums.len()` elements of the result are steps.
const fn chain(last: usize, sums: &[[usize; 2]]) -> [Step; MOST_ELEMENTS] {
    let mut lengths = [1; MOST_ELEMENTS];
    let mut powers = [1; MOST_ELEMENTS];
    let mut maps = 1;
    let mut steps = [Step { mapped: 0, factor: 0, map: 0 }; MOST_ELEMENTS];
    let mut k = 0;
    while k < sums.len() {
        let [i, j] = sums[k];
        let (mapped, factor) = (position(&lengths, k + 1, i), position(&lengths, k + 1, j));
        assert!(mapped <= k && factor <= k, "the chain has not computed this element");
        let map = position(&powers, maps, j);
        if map == maps {
            powers[maps] = j;
            maps += 1;
        }
        steps[k] = Step { mapped, factor, map };
        lengths[k + 1] = i + j;
        k += 1;
    }
    assert!(lengths[k] == last, "the chain ends elsewhere");
    steps
}

/// Returns the index of `number` in the first `len` elements of the list, or `len`.
const fn position(list: &[usize; MOST_ELEMENTS], len: usize, number: usize) -> usize {
    let mut index = 0;
    while index < len && list[index] != number {
        index += 1;
    }
    index
}

/// Returns the steps from `a` to `b_(n-1)`, the result of the last step.
#[must_use]
pub const fn steps<R: Ring>() -> &'static [Step] {
    Chain::<R>::STEPS
}

/// Returns the number of different maps in [`steps`].
#[must_use]
pub const fn maps<R: Ring>() -> usize {
    let steps = steps::<R>();
    let (mut last, mut k) = (0, 0);
    while k < steps.len() {
        if steps[k].map > last {
            last = steps[k].map;
        }
        k += 1;
    }
    last + 1
}

/// Computes the matrices of all maps of [`steps`], one after the other. A matrix is stored column
/// by column, and a column has `n` coefficients.
///
/// Cost: about `n` products in `R_q` per map.
///
/// # Panics
/// If `matrices` has fewer than `n^2` numbers per map.
pub fn fill<R: Ring + mul::Compiled<R>>(matrices: &mut [u16]) {
    // Image k is x^(q^i), where element k of the chain is b_i.
    let mut images = [(); MOST_ELEMENTS].map(|()| Poly::<R>::zero());
    images[0] = image_of_x();
    let mut filled = 0;
    for (k, step) in steps::<R>().iter().enumerate() {
        let columns = &mut matrices[step.map * R::N * R::N..][..R::N * R::N];
        if step.map == filled {
            fill_columns(&images[step.factor], columns);
            filled += 1;
        }
        images[k + 1] = apply(columns, &images[step.mapped]);
    }
}

/// Returns `x^q`.
fn image_of_x<R: mul::Compiled<R>>() -> Poly<R> {
    let x = Poly::from_array(R::Coeffs::from_fn(|i| u16::from(i == 1)));
    (0..R::Q.ilog2()).rev().fold(x.clone(), |power, bit| {
        let square = mul::mul(&power, &power);
        if R::Q >> bit & 1 == 1 { mul::mul(&square, &x) } else { square }
    })
}

/// Writes the powers of `image` from 0 to `n - 1`.
fn fill_columns<R: mul::Compiled<R>>(image: &Poly<R>, columns: &mut [u16]) {
    let mut power = Poly::<R>::one();
    for column in columns.chunks_exact_mut(R::N) {
        column.copy_from_slice(power.coefficients());
        power = mul::mul(&power, image);
    }
}

/// Returns the product of a matrix, given by its columns, and `a`.
///
/// Cost: `n^2` products of coefficients.
#[must_use]
pub fn apply<R: NtruPrimeRing>(columns: &[u16], a: &Poly<R>) -> Poly<R> {
    /// Number of columns whose multiples can be added before a reduction.
    const AT_ONCE: usize = 64;
    const { assert!(AT_ONCE as u64 * (R::Q as u64 - 1).pow(2) + (R::Q as u64) < 1 << 32) };
    let mut sums = R::Coeffs::<u32>::zeroed();
    let coefficients = a.coefficients().chunks(AT_ONCE);
    for (columns, coefficients) in columns.chunks(AT_ONCE * R::N).zip(coefficients) {
        for (column, &c) in columns.chunks_exact(R::N).zip(coefficients) {
            for (sum, &entry) in sums.as_mut().iter_mut().zip(column) {
                *sum += u32::from(c) * u32::from(entry);
            }
        }
        for sum in sums.as_mut() {
            *sum %= R::Q;
        }
    }
    Poly::from_array(R::Coeffs::from_fn(|i| sums.as_ref()[i] as u16))
}

/// Returns the inverse of `a`, or zero if `a` is zero. [`fill`] computes `matrices`.
///
/// Not constant time, because it divides: for tests of the kernels, with elements that are not
/// secret.
///
/// Cost: one product and one map per step, and one of each at the end.
///
/// # Panics
/// If `matrices` has fewer than `n^2` numbers per map.
#[must_use]
pub fn invert<R: Ring + mul::Compiled<R>>(matrices: &[u16], a: &Poly<R>) -> Poly<R> {
    let map =
        |number: usize, a: &Poly<R>| apply(&matrices[number * R::N * R::N..][..R::N * R::N], a);
    let mut elements = [(); MOST_ELEMENTS].map(|()| Poly::<R>::zero());
    elements[0] = a.clone();
    let mut last = 0;
    for &Step { mapped, factor, map: number } in steps::<R>() {
        elements[last + 1] = mul::mul(&map(number, &elements[mapped]), &elements[factor]);
        last += 1;
    }
    let mut inverse = map(0, &elements[last]);
    let norm = mul::mul(&inverse, a).coefficients()[0];
    let scale = modular::inverse_mod(u64::from(norm), u64::from(R::Q)) as u32;
    for c in inverse.coefficients_mut() {
        *c = (u32::from(*c) * scale % R::Q) as u16;
    }
    inverse
}
