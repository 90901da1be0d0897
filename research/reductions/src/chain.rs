//! Chains of sixteen dependent products per element by precomputed factors, as in a transform. They
//! measure the cost of a modular reduction alone.

use core::array;

use research_arithmetic::reduce::{Packed, Reducer};

use super::FactorWord;
use ctru_simt::descriptor::{Batch, Shape};
use ctru_simt::simt::{Simt, U32x4, Word};

/// Number of products per element.
pub const LENGTH: usize = 16;

/// Returns the block shape: `threads` threads, one operation of four elements per thread.
#[must_use]
pub const fn shape(threads: u32) -> Shape {
    Shape::new(threads, threads, 0)
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
    let mut x = s.load(elements, index).0.map(M::from_canonical);
    let factors: [M::Factor; LENGTH] =
        array::from_fn(|i| M::Factor::from_word(s.load(factors, i as u32)));
    for w in factors {
        x = x.map(|x| M::mul(x, w));
    }
    s.store(products, index, U32x4(x.map(M::canonical)));
}

/// Number of [`U32x4`] that a thread of [`copy`] loads before it stores the first one.
const COPIED: u32 = 4;

/// Returns the block shape of [`copy`]: `threads` threads, four operations per thread.
#[must_use]
pub const fn copy_shape(threads: u32) -> Shape {
    Shape::new(threads, COPIED * threads, 0)
}

/// Copies every element. Measures the time that a device needs to read and write arrays. One
/// operation is one [`U32x4`]. The last block is always full.
///
/// Threads: one per four operations. Neighbouring threads access neighbouring elements.
/// Arrays: `elements` and `copies`, rows of one [`U32x4`].
#[inline(always)]
pub fn copy<S: Simt>(s: S, elements: S::Global<U32x4>, copies: S::Global<U32x4>, _: Batch) {
    let place = |i| (s.block() * COPIED + i) * s.threads() + s.thread();
    // As single numbers, because vectors as a whole do not stay in registers.
    let load = |i| {
        let U32x4([a, b, c, d]) = s.load(elements, place(i));
        [a, b, c, d]
    };
    let loaded = [load(0), load(1), load(2), load(3)];
    for (i, &[a, b, c, d]) in (0..).zip(&loaded) {
        s.store(copies, place(i), U32x4([a, b, c, d]));
    }
}
