//! Inversion in the field `R_q`: one element by divsteps, many by a product tree with one inversion at its root.

mod batch;
mod divsteps;

use subtle::{Choice, CtOption};

use crate::poly::Poly;
use crate::ring::Ring;

pub use batch::{ScratchTooShort, invert_batch};

/// The inverse of `a`, or none if `a` is zero (`R_q` is a field). Constant time.
#[must_use]
pub fn invert<R: Ring>(a: &Poly<R>) -> CtOption<Poly<R>> {
    CtOption::new(divsteps::inverse_or_zero(a), is_nonzero(a))
}

/// Whether some coefficient of `a` is not zero.
fn is_nonzero<R: Ring>(a: &Poly<R>) -> Choice {
    let any = a.coefficients().iter().fold(0, |any, &c| any | c);
    // `any` has at most 13 bits.
    Choice::from((any.wrapping_neg() >> 15) as u8)
}
