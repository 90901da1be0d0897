//! A fast source of random numbers with a fixed seed, so that each run gives the same numbers.

/// Steele, Lea and Flood's SplitMix64.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// Starts the sequence of a seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns 64 bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// Returns a number in `0..1`.
    pub(super) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number of the centred binomial law with parameter `eta`.
    pub(super) fn small(&mut self, eta: usize) -> i8 {
        let mask = (1 << eta) - 1;
        let bits = self.bits();
        ((bits & mask).count_ones() as i8) - ((bits >> 32 & mask).count_ones() as i8)
    }

    /// Fills an array with random bytes.
    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.bits().to_le_bytes()[..chunk.len()]);
        }
    }
}
