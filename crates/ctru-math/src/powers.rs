//! Powers and inverses of public constants.

/// Returns `base^exponent mod modulus`, for a modulus below 2^32.
#[must_use]
pub const fn power(base: u64, mut exponent: u64, modulus: u64) -> u64 {
    let (mut square, mut result) = (base % modulus, 1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * square % modulus;
        }
        square = square * square % modulus;
        exponent >>= 1;
    }
    result
}

/// Returns `a^-1` modulo a prime below 2^32 (Fermat), or 0 if the prime divides `a`.
#[must_use]
pub const fn inverse_mod(a: u64, prime: u64) -> u64 {
    power(a, prime - 2, prime)
}
