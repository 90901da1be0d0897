//! Products of polynomials in NTT form: leaf by leaf, modulo `x^d - zeta`.
//!
//! Coefficient `k` of the product of the leaves `a` and `b` is
//!
//! ```text
//! sum of a_i b_(k-i) for i <= k,   plus zeta times the sum of a_i b_(k+d-i) for i > k.
//! ```
//!
//! The products `zeta b_j` are computed once. Each sum is computed in 32 bits and reduced once.
//! Karatsuba's method would take more multiplications, because it reduces each of its products.

use core::marker::PhantomData;

use super::plan::{MOST_ALIASED, MOST_DEGREE, Plan, Shape};
use super::transform::{load_rows, store_rows};
use crate::simd::{LaneModulus, Simd, Sums, Twiddle, Vector, WithSimd};
use crate::wipe::Scratch;

/// Repeats `$body` with the exponent of each power of `x` in a leaf as a constant, so that all
/// values stay in registers.
macro_rules! each_power {
    (|$power:ident| $body:expr) => {
        each_power!(@ $power, $body, 0, 1, 2, 3, 4)
    };
    (@ $power:ident, $body:expr, $($number:literal),*) => {
        $({
            const $power: usize = $number;
            $body
        })*
    };
}

/// Multiplies `a` by `b`, both in NTT form, and by [`Plan::SCALE`].
///
/// Input: outputs of the transform. Output: bounded by `Modulus::mul_bound` for any 16-bit number.
#[inline(always)]
pub(super) fn basemul<P: Plan, S: Simd>(simd: S, a: &mut [i16], b: &[i16]) {
    simd.vectorize(Leaves::<P>(a, b, PhantomData));
}

/// The work of [`basemul`].
struct Leaves<'a, P>(&'a mut [i16], &'a [i16], PhantomData<P>);

impl<P: Plan> WithSimd for Leaves<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(a, b, _) = self;
        let table = P::forward_table::<S>();
        let modulus = P::modulus(simd);
        let scale = Twiddle::halves(const { P::SCALE }, simd);
        let rows = P::rows::<S>();
        let (a, aliased_a) = a.split_at_mut(rows * S::LANES);
        let (b, aliased_b) = b.split_at(rows * S::LANES);
        if P::ALIASED > 0 {
            multiply_aliased::<P, S>(simd, aliased_a, aliased_b);
        }
        let pairs = rows / P::LEAF_DEGREE / 2;
        for pair in 0..pairs {
            // The last layer splits the modulus of block `pair` into x^d - zeta and x^d + zeta.
            let zeta = table.row().load(simd, pairs + pair);
            basemul_leaf::<P, S>(simd, &modulus, scale, a, b, 2 * pair, zeta, false);
            basemul_leaf::<P, S>(simd, &modulus, scale, a, b, 2 * pair + 1, zeta, true);
        }
    }
}

/// Multiplies one leaf modulo `x^d - zeta`, or modulo `x^d + zeta` if `negative`.
#[cfg_attr(target_family = "wasm", inline(never))]
#[cfg_attr(not(target_family = "wasm"), inline(always))]
#[expect(clippy::too_many_arguments, reason = "values that stay in registers")]
fn basemul_leaf<P: Plan, S: Simd>(
    simd: S,
    modulus: &LaneModulus<S::Vector>,
    scale: Twiddle<S::Vector>,
    a: &mut [i16],
    b: &[i16],
    leaf: usize,
    zeta: Twiddle<S::Vector>,
    negative: bool,
) {
    let degree = P::LEAF_DEGREE;
    let zero = simd.splat(0);
    let (mut left, mut right) = ([zero; MOST_DEGREE], [zero; MOST_DEGREE]);
    load_rows(simd, a, leaf * degree, 1, &mut left[..degree]);
    load_rows(simd, b, leaf * degree, 1, &mut right[..degree]);
    let mut folded = [zero; MOST_DEGREE];
    for (folded, &b) in folded[..degree].iter_mut().zip(&right) {
        let product = modulus.mul(b, zeta);
        *folded = if negative { zero.sub(product) } else { product };
    }
    let mut product = [zero; MOST_DEGREE];
    each_power!(|K| if K < degree {
        // factors[i] is the factor of left[i].
        let mut factors = [zero; MOST_DEGREE + 1];
        for (i, factor) in factors[..degree].iter_mut().enumerate() {
            *factor = if i > K { folded[K + degree - i] } else { right[K - i] };
        }
        // The instructions multiply pairs, and the degree is odd, so the last coefficient of `left`
        // is paired with zero. The factor of this zero does not matter. It is folded[K], because
        // another sum has the same pair of factors then, and the compiler interleaves the pair only
        // once.
        if K != 0 {
            factors[degree] = folded[K];
        }
        let mut sums = simd.no_sums();
        for i in (0..degree).step_by(2) {
            let second = if i + 1 < degree { left[i + 1] } else { zero };
            sums = sums.add_products([left[i], second], [factors[i], factors[i + 1]]);
        }
        product[K] = modulus.mul(modulus.reduce_sums(sums), scale);
    });
    store_rows::<S>(&product[..degree], a, leaf * degree, 1);
}

/// Computes the aliased coefficients of a product, from the highest coefficients of its operands.
///
/// Input: the `MOST_ALIASED` highest coefficients of each operand, which the transform kept. Output
/// in `a`: the aliased coefficients modulo the prime of the first tree, then modulo the prime of
/// the second tree.
#[inline(always)]
fn multiply_aliased<P: Plan, S: Simd>(simd: S, a: &mut [i16], b: &[i16]) {
    const {
        let input = P::Shape::OPERAND_BOUND;
        assert!((P::ALIASED as i32).checked_mul(input * input).is_some());
        assert!(P::ALIASED <= MOST_ALIASED && P::Shape::LEN >= 2 * MOST_ALIASED);
    }
    let unscale = const { [P::MODULI[0].factor(1 << 16), P::MODULI[1].factor(1 << 16)] };
    let mut left = Scratch::<i16, [i16; MOST_ALIASED]>::new();
    left.copy_from_slice(&a[..MOST_ALIASED]);
    // Zeros follow, because the loads below go beyond the last coefficient.
    let mut right = Scratch::<i16, [i16; 2 * MOST_ALIASED]>::new();
    right[..MOST_ALIASED].copy_from_slice(&b[..MOST_ALIASED]);
    let (low, high) = a.split_at_mut(MOST_ALIASED);
    for at in (0..MOST_ALIASED).step_by(S::LANES) {
        // Aliased coefficient k is the sum of the a_i b_j with i + j = 2 MOST_ALIASED - 1 - ALIASED
        // + k, where i and j count the kept coefficients. The first term may be zero: it makes the
        // number of terms even.
        let mut sums = simd.no_sums();
        for i in ((MOST_ALIASED - P::ALIASED + at) / 2 * 2..MOST_ALIASED).step_by(2) {
            let j = 2 * MOST_ALIASED - 1 - P::ALIASED - i + at;
            let factors = [simd.load(&right[j..]), simd.load(&right[j - 1..])];
            sums = sums.add_products([simd.splat(left[i]), simd.splat(left[i + 1])], factors);
        }
        for ((modulus, unscale), aliased) in
            P::MODULI.iter().zip(unscale).zip([&mut *low, &mut *high])
        {
            let modulus = modulus.splat(simd);
            modulus.mul(modulus.reduce_sums(sums), unscale.splat(simd)).store(&mut aliased[at..]);
        }
    }
}
