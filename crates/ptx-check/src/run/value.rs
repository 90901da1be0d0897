//! Values of registers: at most 64 bits, whatever they mean.

use crate::syntax::{Kind, Type};

/// A value for each lane of a warp.
pub(super) type Lanes = [u64; 32];

/// What computes a result.
pub(super) type Compute = Box<dyn Function>;

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
        for (lane, result) in results.iter_mut().enumerate() {
            if set >> lane & 1 == 1 {
                *result = low(self(&operands.map(|values| values[lane])), bits);
            }
        }
    }
}

/// Boxes a closure. The bound tells the compiler the type of its parameter.
pub(super) fn function(of: impl Fn(&[u64; 4]) -> u64 + Send + Sync + 'static) -> Compute {
    Box::new(of)
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
