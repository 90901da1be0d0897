//! Coefficients of the secret polynomial as nibbles.

/// Returns the nibble of a coefficient.
///
/// Input: a coefficient in `-bound..=bound`, where `bound` is `SmallPoly::BOUND`. Output: `0..=2
/// bound`.
#[inline(always)]
#[must_use]
pub(crate) fn nibble(bound: u8, coefficient: i8) -> u8 {
    bound.wrapping_sub(coefficient as u8)
}

/// Returns the coefficient of a nibble: the inverse of [`nibble`].
#[inline(always)]
#[must_use]
pub(crate) fn coefficient(bound: u8, nibble: u8) -> i8 {
    bound.wrapping_sub(nibble) as i8
}
