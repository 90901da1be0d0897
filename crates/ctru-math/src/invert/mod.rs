//! Inversion in the field `R_q`: one element by division steps, and many small elements by a
//! product tree with one inversion at its root.

mod batch;
mod divsteps;
#[cfg(all(test, target_arch = "x86_64"))]
mod proofs;

use subtle::{Choice, CtOption};

use crate::backend;
use crate::compiled::compiled;
use crate::mul::rns_ntt::RnsRing;
use crate::poly::{Poly, SmallPoly};
use crate::simd::dispatch_to;

pub use batch::{BatchNode, BatchTooShort};

compiled! {
    RnsRing:

    /// Returns the inverse of `a`, or zero if `a` is zero.
    fn inverse_or_zero(a: &Poly<R>) -> Poly<R> {
        dispatch_to(backend::for_unaligned_loads(), divsteps::Inverse(a))
    }

    /// Writes the inverses of the elements to the start of `inverses`. For an element that is zero,
    /// it writes zero.
    ///
    /// `inverses` and `nodes` need at least one value per element, with any content. The time does
    /// not depend on the elements, nor on which of them are zero.
    ///
    /// # Errors
    /// Returns [`BatchTooShort`] if a slice is shorter than `elements`. Then nothing changes.
    pub fn invert_batch(
        elements: &[&SmallPoly<R>],
        inverses: &mut [Poly<R>],
        nodes: &mut [BatchNode<R>],
    ) -> Result<(), BatchTooShort> {
        batch::invert_all(elements, inverses, nodes)
    }
}

/// Returns the inverse of `a`, or none if `a` is zero. Constant time.
#[must_use]
pub fn invert<R: Compiled<R>>(a: &Poly<R>) -> CtOption<Poly<R>> {
    CtOption::new(inverse_or_zero(a), is_nonzero(a.coefficients().iter().copied()))
}

/// Returns whether at least one number is not zero.
fn is_nonzero(numbers: impl Iterator<Item = u16>) -> Choice {
    let any = u32::from(numbers.fold(0, |any, c| any | c));
    Choice::from((any.wrapping_neg() >> 31) as u8)
}
