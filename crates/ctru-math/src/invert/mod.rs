//! Inversion in the field `R_q`: one element by division steps, and many small elements by a
//! product tree with one inversion at its root.

pub(crate) mod batch;
pub(crate) mod divsteps;

use subtle::{Choice, CtOption};

use crate::poly::Poly;
use crate::ring::Ring;

pub use batch::{BatchNode, BatchTooShort, invert_batch};

/// Returns the inverse of `a`, or none if `a` is zero. Constant time.
#[must_use]
pub fn invert<R: Ring>(a: &Poly<R>) -> CtOption<Poly<R>> {
    CtOption::new(R::inverse_or_zero(a), is_nonzero(a.coefficients().iter().copied()))
}

/// Returns whether at least one number is not zero.
fn is_nonzero(numbers: impl Iterator<Item = u16>) -> Choice {
    let any = u32::from(numbers.fold(0, |any, c| any | c));
    Choice::from((any.wrapping_neg() >> 31) as u8)
}
