//! Sampling of small polynomials (specification, section 5).

use crate::strings::bit;

/// Returns the first `n` coefficients in `-eta..=eta` that the coins determine.
pub(crate) fn sample(coins: &[u8], n: usize, eta: i64) -> Vec<i64> {
    let eta = eta as usize;
    let ones = |from: usize| -> i64 { (from..from + eta).map(|k| bit(coins, k)).sum() };
    (0..n).map(|i| ones(2 * eta * i) - ones(2 * eta * i + eta)).collect()
}

#[test]
fn examples() {
    assert_eq!(sample(&[0xe2, 0xca], 4, 2), [1, -1, 0, -2]);
    assert_eq!(sample(&[0x0a, 0x27, 0x56], 4, 3), [0, -1, 0, 1]);
}
