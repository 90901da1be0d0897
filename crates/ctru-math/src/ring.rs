//! The list of rings, and the numbers and array types that follow from it.

use core::fmt::Debug;
use core::hash::Hash;

use crate::array::{Array, Element};
use crate::mixed_radix::Plan;

mod sealed {
    pub trait Sealed {}
}
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) mod small;
use sealed::Sealed;

/// Calls the macro `$callback` for each ring: `$callback! { NAME n { ... } }`, with the numbers of
/// the lists below.
///
/// A ring is one entry of these lists, from which everything else follows. The macros are for the
/// crates of this workspace. They may change at any time.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_ntru_prime_ring {
    ($callback:ident) => {
        $crate::for_each_ring!($callback);
        $crate::call_for_each! { $callback
            R857 857 { q: 5167, weight: 322 }
            R953 953 { q: 6343, weight: 396 }
            R1013 1013 { q: 7177, weight: 448 }
        }
    };
}
pub(crate) use for_each_ntru_prime_ring;

/// Calls the macro `$callback` for each ring of CTRU-Prime, as [`for_each_ntru_prime_ring`] does
/// for all.
/// `for_each_ring!([$callback])` is the array of the values of these calls.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_ring {
    ($callback:tt) => {
        $crate::call_for_each! { $callback
            R653 653 {
                q: 4621, weight: 288, q2_bits: 11, eta: 3,
                inversion_chain: [1 1] [2 2] [4 4] [8 8] [16 16] [32 32] [64 64]
                    [128 4] [128 132] [260 260] [520 132]
            }
            R761 761 {
                q: 4591, weight: 286, q2_bits: 10, eta: 2,
                inversion_chain: [1 1] [2 2] [4 4] [8 8] [16 16] [32 32] [64 8]
                    [64 72] [136 72] [136 208] [344 208] [552 208]
            }
            R1277 1277 {
                q: 7879, weight: 492, q2_bits: 10, eta: 2,
                inversion_chain: [1 1] [2 2] [4 4] [8 8] [16 16] [32 32] [64 32]
                    [96 4] [96 100] [196 196] [392 392] [784 392] [1176 100]
            }
        }
    };
}
pub(crate) use for_each_ring;

/// Does the work of [`for_each_ntru_prime_ring`] and [`for_each_ring`].
#[doc(hidden)]
#[macro_export]
macro_rules! call_for_each {
    ([$callback:ident] $($ring:ident $n:literal $numbers:tt)+) => {
        [$($callback! { $ring $n $numbers }),+]
    };
    ($callback:ident $($ring:ident $n:literal $numbers:tt)+) => {
        $($callback! { $ring $n $numbers })+
    };
}

/// A ring `R_q = Z_q[x]/(x^n - x - 1)` of Streamlined NTRU Prime.
///
/// `q` is prime and `x^n - x - 1` is irreducible modulo `q`, so `R_q` is a field. All sizes follow
/// from the numbers. The associated types name the arrays of these sizes, because generic code
/// cannot compute array lengths.
///
/// The trait is sealed: only the rings of this crate implement it. [`Ring`] has the numbers
/// that only CTRU-Prime needs.
///
/// Source: NTRU Prime, round-3 specification (2020), section 4.1.
pub trait NtruPrimeRing:
    Sealed
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
    /// Degree `n` of the ring, a prime.
    const N: usize;
    /// The prime modulus `q`, below 2^13.
    const Q: u32;
    /// Number of coefficients that are not 0 in a short polynomial of Streamlined NTRU Prime.
    const WEIGHT: usize;
    /// Largest absolute value of a coefficient of a small polynomial.
    const SMALL: u32;

    /// Bytes of `n` coefficients of two bits.
    const TERNARY_BYTES: usize = Self::N.div_ceil(4);
    /// The plan of the mixed-radix encoding of `n` coefficients.
    #[doc(hidden)]
    const MIXED_RADIX: Plan = Plan::new(Self::N, Self::Q);
    /// The plan of the mixed-radix encoding of `n` multiples of 3.
    #[doc(hidden)]
    const MIXED_RADIX_THIRDS: Plan = Plan::new(Self::N, Self::Q.div_ceil(3));

    /// `[T; N]`.
    type Coeffs<T: Element>: Array<T>;
    /// The bytes of `n` coefficients in NTRU Prime's mixed-radix encoding.
    type MixedRadixBytes: Array<u8>;
    /// The bytes of `n` multiples of 3 in NTRU Prime's mixed-radix encoding.
    type MixedRadixThirdsBytes: Array<u8>;
    /// `[u8; TERNARY_BYTES]`.
    type TernaryBytes: Array<u8>;
}

/// A ring of CTRU-Prime.
///
/// CTRU-Prime also sets the power of two `q2` to which ciphertext coefficients are rounded, and the
/// parameter `eta` of the centred binomial distribution. Each such ring also implements
/// [`Arithmetic`](crate::Arithmetic), the bound of generic code that calls this crate's functions.
///
/// Source: CTRU-Prime paper, Table 1.
pub trait Ring: NtruPrimeRing {
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
    /// An addition chain for `n - 1`: step `k` computes the sum of `INVERSION_CHAIN[k]`. See
    /// [`frobenius`](crate::kernel::frobenius).
    #[doc(hidden)]
    const INVERSION_CHAIN: &'static [[usize; 2]];

    /// `[u8; MESSAGE_BYTES]`.
    type MessageBytes: Array<u8>;
    /// `[u8; COIN_BYTES]`.
    type CoinBytes: Array<u8>;
    /// `[u8; CIPHERTEXT_BYTES]`.
    type CiphertextBytes: Array<u8>;
    /// `[u8; PACKED13_BYTES]`.
    type Packed13Bytes: Array<u8>;
    /// `[u8; SECRET_POLY_BYTES]`.
    type SecretPolyBytes: Array<u8>;
}

macro_rules! ring {
    ($name:ident $n:literal {
        q: $q:literal, weight: $weight:literal, q2_bits: $q2_bits:literal, eta: $eta:literal,
        inversion_chain: $([$i:literal $j:literal])+
    }) => {
        ring! { @ $name $n $q $weight, 2 * $eta + 1,
            concat!("`Z_", $q, "[x]/(x^", $n, " - x - 1)`, `q2 = 2^", $q2_bits, "`, `eta = ", $eta,
                "`.") }

        impl Ring for $name {
            const Q2_BITS: u32 = $q2_bits;
            const ETA: u32 = $eta;
            const INVERSION_CHAIN: &'static [[usize; 2]] = &[$([$i, $j]),+];
            type MessageBytes = [u8; Self::MESSAGE_BYTES];
            type CoinBytes = [u8; Self::COIN_BYTES];
            type CiphertextBytes = [u8; Self::CIPHERTEXT_BYTES];
            type Packed13Bytes = [u8; Self::PACKED13_BYTES];
            type SecretPolyBytes = [u8; Self::SECRET_POLY_BYTES];
        }
    };
    ($name:ident $n:literal { q: $q:literal, weight: $weight:literal }) => {
        ring! { @ $name $n $q $weight, 1, concat!("`Z_", $q, "[x]/(x^", $n, " - x - 1)`.") }
    };
    (@ $name:ident $n:literal $q:literal $weight:literal, $small:expr, $doc:expr) => {
        #[doc = $doc]
        #[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name;

        impl Sealed for $name {}

        impl NtruPrimeRing for $name {
            const N: usize = $n;
            const Q: u32 = $q;
            const WEIGHT: usize = $weight;
            const SMALL: u32 = $small;
            type Coeffs<T: Element> = [T; $n];
            type MixedRadixBytes = [u8; Self::MIXED_RADIX.bytes()];
            type MixedRadixThirdsBytes = [u8; Self::MIXED_RADIX_THIRDS.bytes()];
            type TernaryBytes = [u8; Self::TERNARY_BYTES];
        }
    };
}
for_each_ntru_prime_ring!(ring);
