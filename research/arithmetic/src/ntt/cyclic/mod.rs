//! Products modulo `x^n - 1` over prime fields by complete transforms, for `n` a power of two.
//!
//! The reduction laboratory compares methods of modular multiplication by these products. They are
//! also an example of the use of a [`Reducer`].
//!
//! The forward transform splits polynomials as [`ntt`](super) does: block `j` of every layer has
//! the factor `j` of one table, and values come out in bit-reversed order. The inverse takes the
//! values in this order and merges blocks by the same butterfly, with factors that depend on the
//! position in the block. In both directions each butterfly multiplies first and adds afterwards,
//! so numbers grow by one product per layer. In the first layers a butterfly with the factor 1 does
//! not multiply, so their bounds double. [`Plan`] says which layers these are, and which normalise.
//!
//! The tables are not secret, and their computation uses division.
//!
//! Source: J. W. Cooley, J. W. Tukey, "An algorithm for the machine calculation of complex Fourier
//! series", Mathematics of Computation 19, 1965; the order of the factors: G. Seiler, "Faster AVX2
//! optimized NTT multiplication for Ring-LWE lattice cryptography", ePrint 2018/039.

mod plan;
mod twiddles;

use core::fmt;
use core::marker::PhantomData;

pub use plan::{Layers, Plan, butterfly};
pub use twiddles::{forward_layer, inverse_layer};

use crate::reduce::{ReduceSum, Reducer, Residue};

/// The reason why a cyclic product cannot be computed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CyclicError {
    /// The field has no transform of this length.
    NoRoot {
        /// The modulus.
        modulus: u32,
        /// The length.
        len: usize,
    },
    /// An array has the wrong length.
    Length {
        /// The length that it should have.
        expected: usize,
        /// The length that it has.
        actual: usize,
    },
}

impl fmt::Display for CyclicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoot { modulus, len } => {
                write!(f, "no transform of length {len} modulo {modulus}")
            }
            Self::Length { expected, actual } => {
                write!(f, "an array of {actual} in place of {expected}")
            }
        }
    }
}

impl core::error::Error for CyclicError {}

/// The transforms of one length modulo one prime. They multiply by twiddle factors with the
/// reduction `M`. Pointwise products use the reduction `P`.
#[derive(Debug)]
pub struct Transform<'a, M: Reducer, P> {
    forward: &'a [M::Factor],
    inverse: &'a [M::Factor],
    pointwise: PhantomData<P>,
}

impl<'a, M: Reducer, P: ReduceSum> Transform<'a, M, P> {
    /// Fills the tables, of `n / 2` and `n` factors, for transforms of length `n`.
    ///
    /// # Errors
    /// Returns [`CyclicError::NoRoot`] if `n` is not a power of two, at least 2, that divides the
    /// modulus minus 1, and [`CyclicError::Length`] if the second table does not have twice the
    /// length of the first.
    pub fn new(
        forward: &'a mut [M::Factor],
        inverse: &'a mut [M::Factor],
    ) -> Result<Self, CyclicError> {
        check_len(2 * forward.len(), inverse.len())?;
        forward_layer::<M>(forward)?;
        twiddles::inverse::<M, P>(inverse)?;
        Ok(Self { forward, inverse, pointwise: PhantomData })
    }

    /// Returns the factors of the forward layers: entry `j` is that of block `j` in every layer.
    #[must_use]
    pub fn forward_factors(&self) -> &[M::Factor] {
        self.forward
    }

    /// Returns the factors of the inverse layers: entry `half + i` belongs to position `i` where
    /// blocks of length `half` are merged. The last step multiplies by entry 0, `RADIX / n`.
    #[must_use]
    pub fn inverse_factors(&self) -> &[M::Factor] {
        self.inverse
    }

    /// Multiplies `b` by `a` modulo `x^n - 1`.
    ///
    /// Input: canonical. Output: `b` is canonical, and `a` becomes its own transform.
    ///
    /// # Errors
    /// Returns [`CyclicError::Length`] if the length of `a` or `b` is not `n`.
    ///
    /// # Panics
    /// Panics if `M` and `P` have different moduli, or if their bounds leave no room for a
    /// butterfly or a pointwise product.
    pub fn multiply(&self, a: &mut [M::Residue], b: &mut [M::Residue]) -> Result<(), CyclicError> {
        check_len(self.inverse.len(), a.len())?;
        check_len(self.inverse.len(), b.len())?;
        let plan = Plan::new::<M, P>(self.inverse.len().ilog2());
        self.forward(a, plan.forward);
        self.forward(b, plan.forward);
        for (a, b) in a.iter().zip(b.iter_mut()) {
            *b = plan.multiply::<M, P>(*a, *b);
        }
        self.inverse(b, plan.inverse);
        Ok(())
    }

    fn forward(&self, x: &mut [M::Residue], layers: Layers) {
        for layer in 0..x.len().ilog2() {
            let half = x.len() >> (layer + 1);
            for (number, block) in x.chunks_exact_mut(2 * half).enumerate() {
                let (low, high) = block.split_at_mut(half);
                let z = (number > 0 || layer >= layers.units).then(|| self.forward[number]);
                for (x, y) in low.iter_mut().zip(high) {
                    (*x, *y) = butterfly::<M>(*x, *y, z, layers.normalises(layer));
                }
            }
        }
    }

    fn inverse(&self, x: &mut [M::Residue], layers: Layers) {
        for layer in 0..x.len().ilog2() {
            let half = 1 << layer;
            for block in x.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                let factors = &self.inverse[half..];
                let first = usize::from(layer < layers.units);
                if first == 1 {
                    (low[0], high[0]) = butterfly::<M>(low[0], high[0], None, false);
                }
                let pairs = low[first..].iter_mut().zip(&mut high[first..]);
                for ((x, y), &z) in pairs.zip(&factors[first..]) {
                    (*x, *y) = butterfly::<M>(*x, *y, Some(z), layers.normalises(layer));
                }
            }
        }
        for x in x {
            *x = M::Residue::new(M::canonical(M::mul(*x, self.inverse[0])) as i32);
        }
    }
}

/// Computes `product = a * b` modulo `x^n - 1` and `modulus`, by the definition: the oracle.
///
/// # Errors
/// Returns [`CyclicError::Length`] if the three lengths differ.
pub fn schoolbook(
    modulus: u32,
    a: &[u32],
    b: &[u32],
    product: &mut [u32],
) -> Result<(), CyclicError> {
    check_len(a.len(), b.len())?;
    check_len(a.len(), product.len())?;
    for (k, sum) in product.iter_mut().enumerate() {
        let terms = a.iter().enumerate().map(|(i, &a)| {
            let j = if i <= k { k - i } else { k + b.len() - i };
            u128::from(a) * u128::from(b[j])
        });
        *sum = (terms.sum::<u128>() % u128::from(modulus)) as u32;
    }
    Ok(())
}

fn check_len(expected: usize, actual: usize) -> Result<(), CyclicError> {
    if expected == actual { Ok(()) } else { Err(CyclicError::Length { expected, actual }) }
}
