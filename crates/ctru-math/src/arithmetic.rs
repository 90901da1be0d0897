//! What is compiled for a ring.

use crate::ring::Ring;
use crate::{codec, compress, e8, invert, mul, sample};

/// A ring with the functions of this crate: the bound of code that computes in any ring. [`Ring`]
/// holds the numbers alone.
///
/// The trait is sealed. Every [`Ring`] implements it.
pub trait Arithmetic:
    Ring
    + mul::Compiled<Self>
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
