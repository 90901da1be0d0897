//! Layers of butterflies on the numbers that a thread holds.

use ctru_math::ntt::cyclic::{Layers, butterfly};
use ctru_math::reduce::{Packed, Reducer};

use super::super::FactorWord;
use crate::simt::{Simt, Word};

/// Applies layers to the numbers that a thread holds, from distant pairs to neighbours: three
/// layers to eight numbers, four layers to sixteen. `factor(2^l + i)` returns the factor of block
/// `i` of layer `l`; `first` is the number of the first layer in the plan.
///
/// The layers are written one by one, because an array lies in registers only if the compiler knows
/// every index.
#[inline(always)]
pub(super) fn forward<M: Reducer, const HELD: usize>(
    x: [M::Residue; HELD],
    plan: Layers,
    first: u32,
    factor: impl Fn(u32) -> M::Factor,
) -> [M::Residue; HELD] {
    const { assert!(HELD == 8 || HELD == 16) };
    let x = layer::<M, HELD>(x, HELD / 2, plan.normalises(first), |_| factor(1));
    let x = layer::<M, HELD>(x, HELD / 4, plan.normalises(first + 1), |low| {
        factor(2 + low / (HELD as u32 / 2))
    });
    let x = layer::<M, HELD>(x, HELD / 8, plan.normalises(first + 2), |low| {
        factor(4 + low / (HELD as u32 / 4))
    });
    if HELD == 8 {
        return x;
    }
    layer::<M, HELD>(x, HELD / 16, plan.normalises(first + 3), |low| {
        factor(8 + low / (HELD as u32 / 8))
    })
}

/// Applies as many layers as [`forward`], from neighbours to distant pairs. `factor(2^l + i)`
/// returns the factor of position `i` of layer `l`; `first` is the number of the first layer in the
/// plan.
#[inline(always)]
pub(super) fn inverse<M: Reducer, const HELD: usize>(
    x: [M::Residue; HELD],
    plan: Layers,
    first: u32,
    factor: impl Fn(u32) -> M::Factor,
) -> [M::Residue; HELD] {
    const { assert!(HELD == 8 || HELD == 16) };
    let x = layer::<M, HELD>(x, 1, plan.normalises(first), |_| factor(1));
    let x = layer::<M, HELD>(x, 2, plan.normalises(first + 1), |low| factor(2 + low % 2));
    let x = layer::<M, HELD>(x, 4, plan.normalises(first + 2), |low| factor(4 + low % 4));
    if HELD == 8 {
        return x;
    }
    layer::<M, HELD>(x, 8, plan.normalises(first + 3), |low| factor(8 + low % 8))
}

/// Applies butterflies to pairs of numbers that are `half` apart. `factor` receives the index of
/// the first number of a pair.
#[inline(always)]
fn layer<M: Reducer, const HELD: usize>(
    mut x: [M::Residue; HELD],
    half: usize,
    normalise: bool,
    factor: impl Fn(u32) -> M::Factor,
) -> [M::Residue; HELD] {
    for low in 0..HELD {
        if low & half == 0 {
            (x[low], x[low + half]) =
                butterfly::<M>(x[low], x[low + half], factor(low as u32), normalise);
        }
    }
    x
}

/// Returns entry `index` of a table of factors.
#[inline(always)]
pub(super) fn factor<S: Simt, M: Reducer>(
    s: S,
    table: S::Global<FactorWord<M>>,
    index: u32,
) -> M::Factor
where
    FactorWord<M>: Word,
{
    M::Factor::from_word(s.load(table, index))
}
