//! Sixteen dependent products an element by factors that are known beforehand, as in a transform: what a reduction costs
//! when nothing else does.

use core::array;

use ctru_math::reduce::{Packed, Reducer, Residue, centre};

use super::FactorWord;
use crate::descriptor::{Batch, Shape};
use crate::simt::{Simt, U32x4, Word};

/// Products of an element.
pub const LENGTH: usize = 16;

/// Four elements a thread.
#[must_use]
pub const fn shape(threads: u32) -> Shape {
    Shape { threads, per_block: threads, shared_bytes: 0 }
}

/// Multiplies every element, canonical, by all [`LENGTH`] factors, one after the other; results are canonical. An
/// operation is one [`U32x4`] of elements, and there are as many as whole blocks take.
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

/// Copies every element, and does nothing else: how long the arrays of [`chain`] take to be read and written.
#[inline(always)]
pub fn copy<S: Simt>(s: S, elements: S::Global<U32x4>, copies: S::Global<U32x4>, _: Batch) {
    let index = s.block() * s.threads() + s.thread();
    s.store(copies, index, s.load(elements, index));
}
