//! Products by the incomplete number-theoretic transform over a pseudo-Mersenne prime.
//!
//! `Z_q` has no roots of unity for a transform, so the product is computed over the integers:
//! modulo a prime `q'` that is larger than twice any coefficient, and modulo `x^N - 1` with
//! `N >= 2n`. This product is then folded by `x^n = x + 1` and reduced modulo `q`. With roots `z`
//! of unity, the transform splits
//!
//! ```text
//! x^(2m) - z^2 = (x^m - z) (x^m + z),
//! x^(3m) - z^3 = (x^m - z) (x^m - w z) (x^m - w^2 z),   w^3 = 1,
//! ```
//!
//! until leaves `x^d - zeta` of a small odd degree `d` remain. Products modulo a leaf are computed
//! without a transform.
//!
//! | ring | N | q' | layers | leaves |
//! |---|---:|---|---|---|
//! | 653 | 1344 | `2^24 - 2^6 + 1` | six of radix 2, one of radix 3 | 192, modulo `x^7 - zeta` |
//! | 761 | 1536 | `2^25 - 2^12 + 1` | nine of radix 2 | 512, modulo `x^3 - zeta` |
//! | 1277 | 2560 | `2^25 - 2^12 + 1` | nine of radix 2 | 512, modulo `x^5 - zeta` |
//!
//! Operands are centred first, so that products are exact for every input. `q'` is large enough for
//! the product of an element of `R_q` by a sampled polynomial (`|b| <= eta`), and of a ciphertext
//! by any [`SmallPoly`]. In the rings 653 and 1277 it is too small for the product of an element of
//! `R_q` by any [`SmallPoly`]: there [`mul_small`] splits the small operand, and [`mul_sampled`]
//! does not.
//!
//! Layers reduce only the product of each butterfly. `bounds.rs` derives the resulting bounds and
//! fails to compile if a number could overflow. The last step of the inverse must reduce each
//! coefficient anyway. A product by `RADIX / LEAVES` does this together with the scaling.
//!
//! [`forward`], [`multiply_leaves`] and [`inverse`] are the three steps of a product. [`butterfly`]
//! and [`leaf`] hold their parts, for code that spreads a transform over threads.
//!
//! Source: CTRU-Prime paper, section 3 and Table 2 (the third row corrected).

mod bounds;
pub mod butterfly;
pub mod cyclic;
pub mod leaf;
mod rings;
mod roots;

pub use rings::{Folding, Multiplying, Radix3, Twiddles};

use ctru_math::array::Array;
use ctru_math::kernel::modular::centre;
use ctru_math::{Poly, Ring, RoundedPoly, SmallPoly};

use crate::reduce::{ReduceSum, Reducer};

/// A ring with the transform that multiplies in it, by the arithmetic `A`: [`Folding`] or
/// [`Multiplying`].
///
/// At first the array holds one residue modulo `x^NTT_LEN - 1`. Radix-2 layer `l` finds `2^l`
/// blocks of [`block_len`](Self::block_len) coefficients; in block `j` it joins coefficients `i`
/// and `i + block_len / 2` by [`butterfly::radix2`] with `TWIDDLES.radix2[j]`. A radix-3 layer does
/// the same with thirds of each block. Leaf `j` then is the residue modulo `x^LEAF_DEGREE -
/// TWIDDLES.leaves[j]`. Block 0 has the twiddle `z = 1` in every layer, and its butterflies leave
/// the product out. No other block has the twiddle 1 or -1.
pub trait NttRing<A = Folding>: Ring {
    /// Products by twiddle factors modulo the prime `q'`.
    type Butterfly: Reducer<Residue = i32>;
    /// Products in the leaves, modulo the same prime.
    type Reducer: ReduceSum;
    /// Arithmetic modulo `q`.
    type CoefficientReducer: Reducer<Residue = i32>;
    /// `[i32; NTT_LEN]`.
    type NttCoeffs: Array<i32>;
    /// `[i32; LEAF_DEGREE]`.
    type Leaf: Array<i32>;

    /// Length `N` of the transform, at least `2n - 1`.
    const NTT_LEN: usize;
    /// Number of radix-2 layers.
    const RADIX2_LAYERS: u32;
    /// Degree of the leaves.
    const LEAF_DEGREE: usize;
    /// Number of leaves: `2^RADIX2_LAYERS`, or `3 * 2^RADIX2_LAYERS` if a radix-3 layer follows.
    const LEAVES: usize = Self::NTT_LEN / Self::LEAF_DEGREE;
    /// Twiddle factors.
    const TWIDDLES: Twiddles<
        <Self::Butterfly as Reducer>::Factor,
        <Self::Reducer as Reducer>::Factor,
    >;

    /// Largest absolute value of an input of [`forward`]: a coefficient of a centred operand.
    const OPERAND_BOUND: i32 =
        if Self::Q > Self::Q2 { (Self::Q / 2) as i32 } else { (Self::Q2 / 2) as i32 };
    /// Largest absolute value of an output of [`forward`].
    const FORWARD_BOUND: i32 = bounds::forward::<Self, A>() as i32;
    /// The inverse radix-2 layer before which all coefficients are normalised, if there is one.
    const NORMALISE_BEFORE: Option<u32> = bounds::inverse::<Self, A>().0;

    /// The number of operands of [`leaf_product`](Self::leaf_product) that the caller normalises
    /// first: 0, 1 (the second) or 2.
    const NORMALISED_OPERANDS: u32 = bounds::normalised_operands::<Self, A>();

    /// Returns the length of the blocks that radix-2 layer `layer` splits.
    #[must_use]
    #[inline(always)]
    fn block_len(layer: u32) -> usize {
        Self::NTT_LEN >> layer
    }

    /// Computes [`leaf::product`] for leaves of this ring.
    ///
    /// Input: absolute values up to `FORWARD_BOUND`; `NORMALISED_OPERANDS` of the two operands are
    /// normalised.
    fn leaf_product(
        a: Self::Leaf,
        b: Self::Leaf,
        zeta: <Self::Reducer as Reducer>::Factor,
    ) -> Self::Leaf;
}

/// Transforms in place.
///
/// Input: up to `OPERAND_BOUND` in absolute value. Output: up to `FORWARD_BOUND`.
pub fn forward<R: NttRing<A>, A>(coeffs: &mut R::NttCoeffs) {
    debug_assert!(coeffs.as_ref().iter().all(|c| c.abs() <= R::OPERAND_BOUND));
    for layer in 0..R::RADIX2_LAYERS {
        for (j, block) in coeffs.as_mut().chunks_exact_mut(R::block_len(layer)).enumerate() {
            let z = R::TWIDDLES.radix2[j];
            let (low, high) = block.split_at_mut(R::block_len(layer) / 2);
            for (x, y) in low.iter_mut().zip(high) {
                (*x, *y) = match j {
                    0 => butterfly::radix2_unit(*x, *y),
                    _ => butterfly::radix2::<R::Butterfly>(*x, *y, z),
                };
            }
        }
    }
    if let Some(Radix3 { omega, forward, .. }) = R::TWIDDLES.radix3 {
        for_each_triple::<R, A>(coeffs, |j, x| match j {
            0 => butterfly::radix3_unit::<R::Butterfly>(x, omega),
            _ => butterfly::radix3::<R::Butterfly>(x, forward[j], omega),
        });
    }
}

/// Multiplies the transform `b` by the transform `a` leaf by leaf and divides it by `RADIX` of the
/// reducer.
///
/// Input: up to `FORWARD_BOUND` in absolute value. Output: up to the reducer's output bound.
pub fn multiply_leaves<R: NttRing<A>, A>(a: &R::NttCoeffs, b: &mut R::NttCoeffs) {
    let leaves =
        a.as_ref().chunks_exact(R::LEAF_DEGREE).zip(b.as_mut().chunks_exact_mut(R::LEAF_DEGREE));
    for ((a, b), &zeta) in leaves.zip(R::TWIDDLES.leaves) {
        let product = R::leaf_product(
            R::Leaf::from_fn(|i| leaf_operand::<R, A>(a[i], 2)),
            R::Leaf::from_fn(|i| leaf_operand::<R, A>(b[i], 1)),
            zeta,
        );
        b.copy_from_slice(product.as_ref());
    }
}

/// Returns a coefficient of an operand of [`NttRing::leaf_product`], normalised if the ring needs
/// it.
///
/// `from` is 2 for the first operand and 1 for the second. The coefficient is normalised if
/// [`NttRing::NORMALISED_OPERANDS`] is at least `from`.
#[must_use]
#[inline(always)]
pub fn leaf_operand<R: NttRing<A>, A>(x: i32, from: u32) -> i32 {
    if R::NORMALISED_OPERANDS >= from { R::Butterfly::normalise(x) } else { x }
}

/// Undoes [`forward`] and the division of [`multiply_leaves`], in place: the transform of `c`
/// becomes `RADIX * c`.
///
/// Input: up to the reducer's output bound, so a transform that was not multiplied must be
/// normalised first. Output: centred modulo `q'`.
pub fn inverse<R: NttRing<A>, A>(coeffs: &mut R::NttCoeffs) {
    if let Some(Radix3 { omega, inverse, .. }) = R::TWIDDLES.radix3 {
        for_each_triple::<R, A>(coeffs, |j, x| match j {
            0 => butterfly::radix3_unit_inverse::<R::Butterfly>(x, omega),
            _ => butterfly::radix3_inverse::<R::Butterfly>(x, inverse[j], omega),
        });
    }
    for layer in (0..R::RADIX2_LAYERS).rev() {
        if R::NORMALISE_BEFORE == Some(layer) {
            for c in coeffs.as_mut() {
                *c = R::Butterfly::normalise(*c);
            }
        }
        for (j, block) in coeffs.as_mut().chunks_exact_mut(R::block_len(layer)).enumerate() {
            let z = R::TWIDDLES.radix2_inverse[j];
            let (low, high) = block.split_at_mut(R::block_len(layer) / 2);
            for (x, y) in low.iter_mut().zip(high) {
                (*x, *y) = match j {
                    0 => butterfly::radix2_unit(*x, *y),
                    _ => butterfly::radix2_inverse::<R::Butterfly>(*x, *y, z),
                };
            }
        }
    }
    for c in coeffs.as_mut() {
        *c = R::Butterfly::centred(R::Butterfly::mul(*c, R::TWIDDLES.scale));
    }
}

/// Calls `f` for each radix-3 butterfly with the number of its block and its three coefficients,
/// and stores the three results in their place.
#[inline(always)]
fn for_each_triple<R: NttRing<A>, A>(
    coeffs: &mut R::NttCoeffs,
    f: impl Fn(usize, [i32; 3]) -> [i32; 3],
) {
    let third = R::LEAF_DEGREE;
    for (j, block) in coeffs.as_mut().chunks_exact_mut(3 * third).enumerate() {
        for i in 0..third {
            [block[i], block[third + i], block[2 * third + i]] =
                f(j, [block[i], block[third + i], block[2 * third + i]]);
        }
    }
}

/// Returns `a * b` in `R_q` for a small `b`.
///
/// In the rings 653 and 1277, `q'` is too small for the largest coefficients of `b`. There the
/// function splits `b` into `2 b1 + b0` with `|b1| <= eta + 1` and `b0` 0 or 1, and computes two
/// products, which takes two more transforms. [`mul_sampled`] does not need them.
#[must_use]
pub fn mul_small<R: NttRing<A>, A>(a: &Poly<R>, b: &SmallPoly<R>) -> Poly<R> {
    if const { bounds::is_exact::<R, A>(SmallPoly::<R>::BOUND) } {
        let product =
            NttArray::<R, A>::from_poly(a).multiply(NttArray::<R, A>::from_small(b, |b| b));
        return poly::<R, A>(|i| product.folded(i));
    }
    let a = NttArray::<R, A>::from_poly(a);
    let high = a.multiply(NttArray::<R, A>::from_small(b, |b| b >> 1));
    let low = a.multiply(NttArray::<R, A>::from_small(b, |b| b & 1));
    poly::<R, A>(|i| 2 * high.folded(i) + low.folded(i))
}

/// Returns `a * b` in `R_q` for a `b` whose coefficients are at most `eta` in absolute value, such
/// as a sampled polynomial.
///
/// If a coefficient is larger, the result may be wrong, and the function panics if debug assertions
/// are on.
#[must_use]
pub fn mul_sampled<R: NttRing<A>, A>(a: &Poly<R>, b: &SmallPoly<R>) -> Poly<R> {
    debug_assert!(b.coefficients().iter().all(|c| u32::from(c.unsigned_abs()) <= R::ETA));
    let product = NttArray::<R, A>::from_poly(a).multiply(NttArray::<R, A>::from_small(b, |b| b));
    poly::<R, A>(|i| product.folded(i))
}

/// Returns `c * f` in `Z[x]/(x^n - x - 1)`, coefficients modulo `q2`, for every `c` and `f`.
#[must_use]
pub fn mul_rounded<R: NttRing<A>, A>(c: &RoundedPoly<R>, f: &SmallPoly<R>) -> RoundedPoly<R> {
    let product =
        NttArray::<R, A>::from_rounded(c).multiply(NttArray::<R, A>::from_small(f, |f| f));
    let coefficients =
        R::Coeffs::<u16>::from_fn(|i| (product.folded(i) as u32 & (R::Q2 - 1)) as u16);
    RoundedPoly::from_coefficients(coefficients.as_ref()).expect("coefficients are below q2")
}

/// Returns the element of `R_q` whose coefficients are congruent to the given integers.
fn poly<R: NttRing<A>, A>(coefficient: impl Fn(usize) -> i32) -> Poly<R> {
    type Reducer<R, A> = <R as NttRing<A>>::CoefficientReducer;
    let coefficients = R::Coeffs::<u16>::from_fn(|i| {
        Reducer::<R, A>::canonical(Reducer::<R, A>::normalise(coefficient(i))) as u16
    });
    Poly::from_coefficients(coefficients.as_ref()).expect("coefficients are below q")
}

/// The transform of an operand, or a plain product.
struct NttArray<R: NttRing<A>, A>(R::NttCoeffs);

impl<R: NttRing<A>, A> NttArray<R, A> {
    fn from_poly(a: &Poly<R>) -> Self {
        Self::transform(|i| centre(a.coefficients()[i], R::Q))
    }

    fn from_rounded(c: &RoundedPoly<R>) -> Self {
        Self::transform(|i| centre(c.coefficients()[i], R::Q2))
    }

    fn from_small(b: &SmallPoly<R>, f: impl Fn(i32) -> i32) -> Self {
        Self::transform(|i| f(i32::from(b.coefficients()[i])))
    }

    fn transform(coefficient: impl Fn(usize) -> i32) -> Self {
        let mut array = Self(R::NttCoeffs::from_fn(|i| if i < R::N { coefficient(i) } else { 0 }));
        forward::<R, A>(&mut array.0);
        array
    }

    /// Returns the plain product of the polynomials with these transforms.
    fn multiply(&self, mut other: Self) -> Self {
        multiply_leaves::<R, A>(&self.0, &mut other.0);
        inverse::<R, A>(&mut other.0);
        other
    }

    /// Returns coefficient `i < n` after folding the plain product by `x^n = x + 1`.
    #[inline(always)]
    fn folded(&self, i: usize) -> i32 {
        let c = self.0.as_ref();
        c[i] + c[R::N + i] + if i > 0 { c[R::N + i - 1] } else { 0 }
    }
}
