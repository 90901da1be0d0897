//! Sampling of single coefficients from the centred binomial distribution.

/// Returns the coefficient for `2 eta` coins.
///
/// Input: the coins in the low bits, zeros above them; `eta` is 2 or 3. Output: `-eta..=eta`.
#[inline(always)]
#[must_use]
pub fn centred_binomial(eta: u32, coins: u8) -> i8 {
    // Two fields of eta bits count the ones of the two halves, one bit of each half at a time.
    let lowest = 1 | 1 << eta;
    let mut counts = 0;
    for bit in 0..eta {
        counts += coins >> bit & lowest;
    }
    (counts & ((1 << eta) - 1)) as i8 - (counts >> eta) as i8
}

/// Splits six bytes of coins into eight fields of six bits. Each field gets a byte of its own.
#[inline(always)]
#[must_use]
pub fn spread_sextets(coins: [u8; 6]) -> [u8; 8] {
    let [a, b, c, d, e, f] = coins;
    let halves = u64::from(u32::from_le_bytes([a, b, c, 0]))
        | u64::from(u32::from_le_bytes([d, e, f, 0])) << 32;
    // The upper 12 of the 24 bits of each half move up, then the upper 6 of the 12 bits of each
    // quarter.
    let quarters = halves & 0x0000_0fff_0000_0fff | (halves & 0x00ff_f000_00ff_f000) << 4;
    let eighths = quarters & 0x003f_003f_003f_003f | (quarters & 0x0fc0_0fc0_0fc0_0fc0) << 2;
    eighths.to_le_bytes()
}
