//! The three rings of CTRU-Prime and the constants that follow from them.

use core::fmt::Debug;
use core::hash::Hash;

use crate::array::{Array, Element};
use crate::compiled::Compiled;

/// A ring `R_q = Z_q[x]/(x^n - x - 1)` of CTRU-Prime.
///
/// `q` is prime and `x^n - x - 1` is irreducible modulo `q`, so `R_q` is a field. A ring also sets
/// the power of two `q2` to which ciphertext coefficients are rounded, and the parameter `eta` of
/// the centred binomial distribution. All sizes follow from `N`, `Q`, `Q2_BITS` and `ETA`. The
/// associated array types repeat the sizes, because generic code cannot compute array lengths, and
/// const code checks them.
///
/// The trait is sealed: [`R653`], [`R761`] and [`R1277`] are the only rings.
///
/// Source: CTRU-Prime paper, Table 1.
pub trait Ring:
    Compiled
    + Copy
    + Clone
    + Debug
    + Default
    + PartialEq
    + Eq
    + PartialOrd
    + Ord
    + Hash
    + Send
    + Sync
    + 'static
{
    /// Degree `n` of the ring, a prime: 653, 761 or 1277.
    const N: usize;
    /// The prime modulus `q`, below 2^13.
    const Q: u32;
    /// `log2(q2)`: 10 or 11.
    const Q2_BITS: u32;
    /// Parameter of the centred binomial distribution: sampled coefficients lie in `-ETA..=ETA`.
    const ETA: u32;

    /// The modulus `q2 = 2^Q2_BITS` of ciphertext coefficients.
    const Q2: u32 = 1 << Self::Q2_BITS;
    /// Bytes of a message, `floor(n / 16)`: a block of 8 coefficients carries one nibble.
    const MESSAGE_BYTES: usize = Self::N / 16;
    /// Number of coefficients that carry the message. The others follow them.
    const CODED_COEFFS: usize = 16 * Self::MESSAGE_BYTES;
    /// Bytes of uniform coins for one sampled polynomial, `ceil(2 eta n / 8)`.
    const COIN_BYTES: usize = (2 * Self::ETA as usize * Self::N).div_ceil(8);
    /// Bytes of a ciphertext: `n` coefficients of `Q2_BITS` bits.
    const CIPHERTEXT_BYTES: usize = (Self::Q2_BITS as usize * Self::N).div_ceil(8);
    /// Bytes of `n` coefficients of 13 bits.
    const PACKED13_BYTES: usize = (13 * Self::N).div_ceil(8);
    /// Bytes of `n` nibbles: the secret polynomial of a decapsulation key.
    const SECRET_POLY_BYTES: usize = Self::N.div_ceil(2);

    /// `[T; N]`.
    type Coeffs<T: Element>: Array<T>;
    /// `[u8; MESSAGE_BYTES]`.
    type MessageBytes: Array<u8>;
    /// `[u8; COIN_BYTES]`.
    type CoinBytes: Array<u8>;
    /// `[u8; CIPHERTEXT_BYTES]`.
    type CiphertextBytes: Array<u8>;
    /// `[u8; PACKED13_BYTES]`.
    type Packed13Bytes: Array<u8>;
    /// The bytes of `n` coefficients in NTRU Prime's mixed-radix encoding: 994, 1158 or 2067.
    type MixedRadixBytes: Array<u8>;
    /// `[u8; SECRET_POLY_BYTES]`.
    type SecretPolyBytes: Array<u8>;
}

macro_rules! ring {
    ($(#[$doc:meta])* $name:ident {
        n: $n:literal, q: $q:literal, q2_bits: $q2_bits:literal, eta: $eta:literal,
        message: $message:literal, coins: $coins:literal,
        ciphertext: $ciphertext:literal, packed13: $packed13:literal,
        mixed_radix: $mixed_radix:literal, secret_poly: $secret_poly:literal $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name;

        impl Ring for $name {
            const N: usize = $n;
            const Q: u32 = $q;
            const Q2_BITS: u32 = $q2_bits;
            const ETA: u32 = $eta;
            type Coeffs<T: Element> = [T; $n];
            type MessageBytes = [u8; $message];
            type CoinBytes = [u8; $coins];
            type CiphertextBytes = [u8; $ciphertext];
            type Packed13Bytes = [u8; $packed13];
            type MixedRadixBytes = [u8; $mixed_radix];
            type SecretPolyBytes = [u8; $secret_poly];
        }

        const _: () = {
            assert!($name::MESSAGE_BYTES == $message && $name::COIN_BYTES == $coins);
            assert!($name::CIPHERTEXT_BYTES == $ciphertext && $name::PACKED13_BYTES == $packed13);
            assert!($name::SECRET_POLY_BYTES == $secret_poly);
        };
    };
}

ring! {
    /// `Z_4621[x]/(x^653 - x - 1)`, `q2 = 2048`, `eta = 3`.
    R653 { n: 653, q: 4621, q2_bits: 11, eta: 3, message: 40, coins: 490,
        ciphertext: 898, packed13: 1062, mixed_radix: 994, secret_poly: 327 }
}
ring! {
    /// `Z_4591[x]/(x^761 - x - 1)`, `q2 = 1024`, `eta = 2`.
    R761 { n: 761, q: 4591, q2_bits: 10, eta: 2, message: 47, coins: 381,
        ciphertext: 952, packed13: 1237, mixed_radix: 1158, secret_poly: 381 }
}
ring! {
    /// `Z_7879[x]/(x^1277 - x - 1)`, `q2 = 1024`, `eta = 2`.
    R1277 { n: 1277, q: 7879, q2_bits: 10, eta: 2, message: 79, coins: 639,
        ciphertext: 1597, packed13: 2076, mixed_radix: 2067, secret_poly: 639 }
}
