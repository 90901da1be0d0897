//! Helpers that unit tests share.

/// A linear congruential generator with a fixed seed: its numbers look random enough for tests.
pub(crate) struct Random(u32);

impl Random {
    /// Starts the sequence.
    pub(crate) fn new() -> Self {
        Self(1)
    }

    /// Returns the next number. Its upper bits look more random than its lower bits.
    pub(crate) fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        self.0
    }
}
