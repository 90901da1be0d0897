//! Chains of sixteen dependent products per element by precomputed factors, as in a transform. They
//! measure the cost of a modular reduction alone.

use core::array;

use ctru_math::reduce::{Packed, Reducer, Residue, centre};

use super::FactorWord;
use crate::descriptor::{Batch, Shape};
use crate::simt::{Simt, U32x4, Word};

/// Number of products per element.
pub const LENGTH: usize = 16;

/// Returns the block shape: `threads` threads, one operation of four elements per thread.
#[must_use]
pub const fn shape(threads: u32) -> Shape {
    Shape { threads, per_block: threads, shared_bytes: 0 }
}

/// Multiplies every element by all [`LENGTH`] factors, one after another. One operation is one
/// [`U32x4`] of elements. The last block is always full.
///
/// Threads: one per operation.
/// Arrays: `factors`, one row of [`LENGTH`] factors; `elements` and `products`, rows of one
/// [`U32x4`], in `0..q`.
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

/// Copies every element. Measures the time that a device needs to read and write the arrays of
/// [`chain`].
///
/// Threads: one per operation.
/// Arrays: `elements` and `copies`, rows of one [`U32x4`].
#[inline(always)]
pub fn copy<S: Simt>(s: S, elements: S::Global<U32x4>, copies: S::Global<U32x4>, _: Batch) {
    let index = s.block() * s.threads() + s.thread();
    s.store(copies, index, s.load(elements, index));
}
