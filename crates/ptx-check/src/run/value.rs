//! Values of registers: at most 64 bits, whatever they mean.

/// Computes a result from up to four operands.
pub(super) type Compute = Box<dyn Fn(&[u64; 4]) -> u64 + Send + Sync>;

/// Returns the lowest bits of a value.
pub(super) const fn low(value: u64, bits: u32) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

/// Returns the lowest bits of a value as a signed number.
pub(super) const fn signed(value: u64, bits: u32) -> i64 {
    let unused = 64 - bits;
    ((value << unused) as i64) >> unused
}
