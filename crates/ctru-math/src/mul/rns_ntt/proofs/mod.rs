//! Proofs that products are right for every operand, on every backend of this CPU.
//!
//! A product transforms both operands, multiplies leaves, transforms back, joins the residues and
//! folds. The argument has four parts, each a module or a test here:
//!
//! 1. [`exact`]: no sum leaves its lane, whatever the operands. So each step up to the residues
//!    does to residue classes what it says: sums, differences, reductions and products by constants
//!    are linear, and products of leaves are bilinear. No step branches on data.
//! 2. [`linear`]: linear steps that are right on a basis are right. So the transforms are tried on
//!    a basis of their whole domain.
//! 3. [`linear`]: a bilinear function that is right on all pairs of basis elements is right. So the
//!    residues of products are tried on all `n^2` pairs of powers of `x`.
//! 4. [`digits`]: joining residues treats each coefficient alone. With two primes all coefficients
//!    that a product can have are tried, with three all values of each digit.
//!
//! The public functions are tried on all pairs in `tests/exhaust/products.rs`. The lanes that the
//! argument takes for granted are tried in `simd::proofs`.

mod digits;
mod exact;
mod linear;

use super::transform::Operand;
use crate::simd::{Modulus, Simd};

/// Centred coefficients.
struct Centred<'a>(&'a [i16]);

impl Operand for Centred<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn load_twice<S: Simd>(&self, simd: S, at: usize) -> S::Vector {
        let rest = &self.0[at.min(self.0.len())..];
        let mut words = [0; 16];
        for (word, &c) in words.iter_mut().zip(rest) {
            *word = c as u16;
        }
        simd.load_twice(&words)
    }
}

/// Residue classes modulo an odd prime.
struct Classes {
    m: i32,
    /// `m^-1 mod 2^32`.
    inverse: i32,
}

impl Classes {
    fn of(modulus: &Modulus) -> Self {
        let m = i32::from(modulus.m);
        let mut inverse = m;
        for _ in 0..4 {
            inverse = inverse.wrapping_mul(2i32.wrapping_sub(m.wrapping_mul(inverse)));
        }
        Self { m, inverse }
    }
    /// Returns whether the number is zero, without a division.
    fn is_zero(&self, x: i32) -> bool {
        x.wrapping_mul(self.inverse).unsigned_abs() <= i32::MAX as u32 / self.m as u32
    }
    /// Returns whether all numbers are zero, but those of the list, which are of the given classes.
    fn are(&self, numbers: &[i16], others: &[(usize, i32)]) -> bool {
        let nonzero = numbers.iter().filter(|&&x| !self.is_zero(x.into())).count();
        let others = others.iter().filter(|(_, class)| !self.is_zero(*class));
        let right = others.clone().all(|&(at, class)| self.is_zero(i32::from(numbers[at]) - class));
        right && nonzero == others.count()
    }
    /// Returns the representative nearest to 0.
    fn centred(&self, x: i64) -> i16 {
        let m = i64::from(self.m);
        ((x + m / 2).rem_euclid(m) - m / 2) as i16
    }
}
