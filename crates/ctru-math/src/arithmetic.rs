//! What is compiled for a ring.

use crate::ring::{NtruPrimeRing, Ring};
use crate::{codec, compress, e8, invert, mul, sample, short, ternary};

/// A ring with the functions that CTRU-Prime needs: the bound of code that computes in any of its
/// rings. [`Ring`] holds the numbers alone.
///
/// The trait is sealed. Every [`Ring`] implements it.
pub trait Arithmetic:
    Ring
    + mul::Compiled<Self>
    + mul::CompiledRounded<Self>
    + invert::Compiled<Self>
    + sample::Compiled<Self>
    + compress::Compiled<Self>
    + e8::Compiled<Self>
    + codec::bits::Compiled<Self>
    + codec::mixed_radix::Compiled<Self>
    + codec::secret_poly::Compiled<Self>
{
}

macro_rules! arithmetic {
    ($ring:ident $n:literal $numbers:tt) => {
        impl Arithmetic for crate::ring::$ring {}
    };
}
crate::ring::for_each_ring!(arithmetic);

/// A ring with the functions that Streamlined NTRU Prime needs: the bound of code that computes in
/// any of its rings. [`NtruPrimeRing`] holds the numbers alone.
///
/// The trait is sealed. Every [`NtruPrimeRing`] implements it.
pub trait NtruPrimeArithmetic:
    NtruPrimeRing
    + mul::Compiled<Self>
    + invert::Compiled<Self>
    + ternary::Compiled<Self>
    + short::Compiled<Self>
    + codec::mixed_radix::Compiled<Self>
    + codec::ternary::Compiled<Self>
{
}

macro_rules! ntru_prime_arithmetic {
    ($ring:ident $n:literal $numbers:tt) => {
        impl NtruPrimeArithmetic for crate::ring::$ring {}
    };
}
crate::ring::for_each_ntru_prime_ring!(ntru_prime_arithmetic);
