//! Values of registers: at most 64 bits, whatever they mean.

use crate::syntax::{Kind, Type};

/// A value for each lane of a warp.
pub(super) type Lanes = [u64; 32];

/// Returns the lanes in a set.
pub(super) fn each(set: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| set >> lane & 1 == 1)
}

/// Returns the set of those lanes of a set for which this holds.
pub(super) fn chosen(set: u32, holds: impl Fn(usize) -> bool) -> u32 {
    each(set).filter(|&lane| holds(lane)).fold(0, |all, lane| all | 1 << lane)
}

/// What computes a result.
pub(super) struct Compute {
    /// The number of operands.
    pub(super) takes: usize,
    pub(super) function: Box<dyn Function>,
}

/// A function of up to four operands.
pub(super) trait Function: Send + Sync {
    /// Computes a result.
    fn of(&self, operands: &[u64; 4]) -> u64;

    /// Computes the lowest `bits` bits of the results of all lanes in a set. A call for each lane
    /// would take longer than most functions.
    fn of_lanes(&self, operands: [&Lanes; 4], set: u32, bits: u32, results: &mut Lanes);
}

impl<F: Fn(&[u64; 4]) -> u64 + Send + Sync> Function for F {
    fn of(&self, operands: &[u64; 4]) -> u64 {
        self(operands)
    }

    fn of_lanes(&self, operands: [&Lanes; 4], set: u32, bits: u32, results: &mut Lanes) {
        for lane in each(set) {
            results[lane] = low(self(&operands.map(|values| values[lane])), bits);
        }
    }
}

/// Returns a function of this many operands.
pub(super) fn several(
    takes: usize,
    of: impl Fn(&[u64; 4]) -> u64 + Send + Sync + 'static,
) -> Option<Compute> {
    Some(Compute { takes, function: Box::new(of) })
}

pub(super) fn one(of: impl Fn(u64) -> u64 + Send + Sync + 'static) -> Option<Compute> {
    several(1, move |[a, ..]| of(*a))
}

pub(super) fn two(of: impl Fn(u64, u64) -> u64 + Send + Sync + 'static) -> Option<Compute> {
    several(2, move |[a, b, ..]| of(*a, *b))
}

pub(super) fn three(of: impl Fn(u64, u64, u64) -> u64 + Send + Sync + 'static) -> Option<Compute> {
    several(3, move |[a, b, c, _]| of(*a, *b, *c))
}

/// Returns the lowest bits of a value.
pub(super) const fn low(value: u64, bits: u32) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

/// Returns the lowest bits of a value as a signed number.
pub(super) const fn signed(value: u64, bits: u32) -> i64 {
    let unused = 64 - bits;
    ((value << unused) as i64) >> unused
}

/// Returns the number that bits mean.
pub(super) fn value_of(bits: u64, kind: Type) -> i128 {
    match kind.kind {
        Kind::Signed => signed(bits, kind.bits).into(),
        _ => low(bits, kind.bits).into(),
    }
}
