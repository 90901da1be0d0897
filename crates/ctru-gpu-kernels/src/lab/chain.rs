//! Sixteen dependent products for each element by precomputed factors, as in a transform: the cost
//! of a reduction when nothing else costs time.

use core::array;

use ctru_math::reduce::{Packed, Reducer, Residue, centre};

use super::FactorWord;
use crate::descriptor::{Batch, Shape};
use crate::simt::{Simt, U32x4, Word};

/// Products of an element.
pub const LENGTH: usize = 16;

/// Returns blocks of `threads` threads, one for each operation: four elements.
#[must_use]
pub const fn shape(threads: u32) -> Shape {
    Shape { threads, per_block: threads, shared_bytes: 0 }
}

/// Multiplies every element by all [`LENGTH`] factors, one after the other. An operation is one
/// [`U32x4`] of elements; there are as many operations as whole blocks take.
///
/// Threads: one for each operation.
/// Arrays: `factors`, one row of [`LENGTH`] factors; `elements` and `products`, in `0..q`.
#[inline(always)]
pub fn chain<S: Simt, M: Reducer>(
    s: S,
    factors: S::Global<FactorWord<M>>,
    elements: S::Global<U32x4>,
    products: S::Global<U32x4>,
    _: Batch,
) where
    FactorWord<M>: Word,
{
    let index = s.block() * s.threads() + s.thread();
    let mut x = s.load(elements, index).0.map(|x| M::Residue::new(centre(x as i32, M::MODULUS)));
    let factors: [M::Factor; LENGTH] =
        array::from_fn(|i| M::Factor::from_word(s.load(factors, i as u32)));
    for w in factors {
        x = x.map(|x| M::mul(x, w));
    }
    s.store(products, index, U32x4(x.map(M::canonical)));
}

/// Copies every element: the time in which a device reads and writes the arrays of [`chain`].
///
/// Threads: one for each operation.
/// Arrays: `elements`; `copies`.
#[inline(always)]
pub fn copy<S: Simt>(s: S, elements: S::Global<U32x4>, copies: S::Global<U32x4>, _: Batch) {
    let index = s.block() * s.threads() + s.thread();
    s.store(copies, index, s.load(elements, index));
}
