//! The two encodings of encapsulation keys, as zero-sized types.

use core::fmt::Debug;
use core::hash::Hash;

use ctru_math::array::Array;
use ctru_math::codec::{bits, mixed_radix};
use ctru_math::{Arithmetic, Poly};

use crate::error::InvalidEncapsulationKey;
use crate::parameters::Encoding;

/// An encoding of encapsulation keys: [`MixedRadix`] or [`Packed13`].
///
/// The two encodings of a polynomial are different keys. The first bytes of a key are part of the
/// input of hashes, so ciphertexts and shared secrets differ as well.
pub trait Encode: Copy + Debug + Default + Eq + Ord + Hash + Send + Sync + 'static {
    /// The encoding as a value.
    const ENCODING: Encoding;

    /// An encoded polynomial, an array of bytes.
    type Bytes<R: Arithmetic>: Array<u8>;

    /// Encodes the polynomial `h` of an encapsulation key.
    fn encode<R: Arithmetic>(h: &Poly<R>) -> Self::Bytes<R>;

    /// Decodes the encoding of a polynomial.
    ///
    /// # Errors
    /// [`InvalidEncapsulationKey`] if the bytes are not the encoding of a polynomial. The variant
    /// is never [`Length`](InvalidEncapsulationKey::Length).
    fn decode<R: Arithmetic>(bytes: &Self::Bytes<R>) -> Result<Poly<R>, InvalidEncapsulationKey>;

    /// Decodes bytes that [`decode`](Self::decode) accepts. Does not branch on whether a
    /// mixed-radix encoding is canonical: a hybrid decodes a key that it has made of its secret
    /// seed.
    fn decode_validated<R: Arithmetic>(bytes: &Self::Bytes<R>) -> Poly<R>;
}

/// The mixed-radix encoding of NTRU Prime, the default: 994, 1158 or 2067 bytes.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MixedRadix;

/// The encoding with 13 bits per coefficient: 1062, 1237 or 2076 bytes. Keys are faster to decode
/// than with [`MixedRadix`].
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Packed13;

impl Encode for MixedRadix {
    const ENCODING: Encoding = Encoding::MixedRadix;
    type Bytes<R: Arithmetic> = R::MixedRadixBytes;

    fn encode<R: Arithmetic>(h: &Poly<R>) -> Self::Bytes<R> {
        mixed_radix::encode(h)
    }

    fn decode<R: Arithmetic>(bytes: &Self::Bytes<R>) -> Result<Poly<R>, InvalidEncapsulationKey> {
        mixed_radix::decode_canonical(bytes).map_err(|_| InvalidEncapsulationKey::NotCanonical)
    }

    fn decode_validated<R: Arithmetic>(bytes: &Self::Bytes<R>) -> Poly<R> {
        mixed_radix::decode(bytes)
    }
}

impl Encode for Packed13 {
    const ENCODING: Encoding = Encoding::Packed13;
    type Bytes<R: Arithmetic> = R::Packed13Bytes;

    fn encode<R: Arithmetic>(h: &Poly<R>) -> Self::Bytes<R> {
        bits::pack13(h)
    }

    fn decode<R: Arithmetic>(bytes: &Self::Bytes<R>) -> Result<Poly<R>, InvalidEncapsulationKey> {
        bits::unpack13(bytes).map_err(InvalidEncapsulationKey::from)
    }

    fn decode_validated<R: Arithmetic>(bytes: &Self::Bytes<R>) -> Poly<R> {
        bits::unpack13(bytes).expect("a validated encapsulation key")
    }
}
