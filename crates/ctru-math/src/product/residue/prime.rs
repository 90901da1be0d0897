//! The primes of the transforms.

use crate::lanes::Modulus;

/// The smallest primes that are 1 modulo 512: 7681 * 10753 = 82.6 million covers products by small elements, with 11777
/// also products of any two elements.
pub(super) const MODULI: [Modulus; 3] =
    [Modulus::new(7681), Modulus::new(10753), Modulus::new(11777)];

pub(super) const fn power(base: u64, mut exponent: u64, p: u64) -> u64 {
    let (mut square, mut result) = (base % p, 1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * square % p;
        }
        square = square * square % p;
        exponent >>= 1;
    }
    result
}

pub(super) const fn inverse_mod(x: u64, p: u64) -> u64 {
    power(x, p - 2, p)
}

/// Some root of unity of order 512 modulo a prime `p = 1 mod 512`.
pub(super) const fn root_of_order_512(p: u64) -> u64 {
    assert!(p % 512 == 1);
    let mut candidate = 2;
    loop {
        let root = power(candidate, (p - 1) / 512, p);
        // The order divides 512, and it is 512 exactly where the 256th power is -1.
        if power(root, 256, p) == p - 1 {
            return root;
        }
        candidate += 1;
    }
}
