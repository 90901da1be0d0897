//! Parameter sets and public-key encodings, as zero-sized types.

use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

use ctru_math::array::Array;
use ctru_math::codec::{bits, mixed_radix};
use ctru_math::{Poly, R653, R761, R1277, Ring};

use crate::error::InvalidEncapsulationKey;

/// Bytes of a shared secret.
pub const SHARED_SECRET_BYTES: usize = 32;
/// Bytes of every seed: of key generation, of encapsulation, and of implicit rejection (`z`).
pub const SEED_BYTES: usize = 32;
/// Bytes of `ID(pk)`: the first bytes of the encoded public key, which enter every hash of a message.
pub const KEY_ID_BYTES: usize = 33;

mod sealed {
    pub trait Sealed {}
}

/// What zero-sized type parameters have to be so that derives on generic types work.
pub trait Marker: Copy + Debug + Default + Eq + Ord + Hash + Send + Sync + 'static {}
impl<T: Copy + Debug + Default + Eq + Ord + Hash + Send + Sync + 'static> Marker for T {}

/// How the coefficients of a public key become bytes. Keys with different encodings are different keys: the bytes
/// enter the hashes.
pub trait PublicKeyEncoding: Marker + sealed::Sealed {
    /// Name in records and vectors.
    const NAME: &'static str;

    /// The encoded polynomial.
    type Bytes<R: Ring>: Array<u8>;

    /// Encodes `h`.
    fn encode<R: Ring>(h: &Poly<R>) -> Self::Bytes<R>;

    /// Decodes the encoding of a polynomial.
    ///
    /// # Errors
    /// [`InvalidEncapsulationKey`], never its length variant, if the string is the encoding of no polynomial.
    fn decode<R: Ring>(bytes: &Self::Bytes<R>) -> Result<Poly<R>, InvalidEncapsulationKey>;

    /// Decodes a string that [`decode`](Self::decode) accepts, without checking it again where that costs time.
    fn decode_validated<R: Ring>(bytes: &Self::Bytes<R>) -> Poly<R>;
}

/// The mixed-radix encoding of NTRU Prime, the default: 994, 1158 or 2067 bytes.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MixedRadix;

/// Thirteen bits a coefficient: 1062, 1237 or 2076 bytes, faster to decode.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Packed13;

impl sealed::Sealed for MixedRadix {}
impl sealed::Sealed for Packed13 {}

impl PublicKeyEncoding for MixedRadix {
    const NAME: &'static str = "mixed-radix";
    type Bytes<R: Ring> = R::MixedRadixBytes;

    fn encode<R: Ring>(h: &Poly<R>) -> Self::Bytes<R> {
        mixed_radix::encode(h)
    }
    fn decode<R: Ring>(bytes: &Self::Bytes<R>) -> Result<Poly<R>, InvalidEncapsulationKey> {
        mixed_radix::decode_canonical(bytes).map_err(|_| InvalidEncapsulationKey::NotCanonical)
    }
    fn decode_validated<R: Ring>(bytes: &Self::Bytes<R>) -> Poly<R> {
        mixed_radix::decode(bytes)
    }
}

impl PublicKeyEncoding for Packed13 {
    const NAME: &'static str = "packed13";
    type Bytes<R: Ring> = R::Packed13Bytes;

    fn encode<R: Ring>(h: &Poly<R>) -> Self::Bytes<R> {
        bits::pack13(h)
    }
    fn decode<R: Ring>(bytes: &Self::Bytes<R>) -> Result<Poly<R>, InvalidEncapsulationKey> {
        bits::unpack13(bytes).map_err(InvalidEncapsulationKey::from)
    }
    fn decode_validated<R: Ring>(bytes: &Self::Bytes<R>) -> Poly<R> {
        bits::unpack13(bytes).expect("a validated encapsulation key")
    }
}

/// A parameter set of CTRU-Prime with a public-key encoding. Sealed: the six of this crate are all there are.
///
/// Sizes in bytes, mixed-radix / 13-bit:
///
/// | set | encapsulation key | decapsulation key | ciphertext | shared secret |
/// |---|---:|---:|---:|---:|
/// | [`CtruPrime653`] | 994 / 1062 | 1353 / 1421 | 898 | 32 |
/// | [`CtruPrime761`] | 1158 / 1237 | 1571 / 1650 | 952 | 32 |
/// | [`CtruPrime1277`] | 2067 / 2076 | 2738 / 2747 | 1597 | 32 |
pub trait ParameterSet: Marker + sealed::Sealed {
    /// The ring and its distribution.
    type Ring: Ring;
    /// The public-key encoding.
    type Encoding: PublicKeyEncoding;
    /// The bytes of a decapsulation key: secret polynomial, encapsulation key, `z`.
    type DecapsulationKeyBytes: Array<u8>;

    /// Name of the set without its encoding, such as `CTRU-Prime-761`.
    const NAME: &'static str;
    /// Bytes of an encapsulation key.
    const ENCAPSULATION_KEY_BYTES: usize = <EncapsulationKeyBytes<Self> as Array<u8>>::LEN;
    /// Bytes of a decapsulation key.
    const DECAPSULATION_KEY_BYTES: usize = <Self::DecapsulationKeyBytes as Array<u8>>::LEN;
    /// Bytes of a ciphertext.
    const CIPHERTEXT_BYTES: usize = Self::Ring::CIPHERTEXT_BYTES;
}

/// The bytes of an encapsulation key of `P`.
pub type EncapsulationKeyBytes<P> =
    <<P as ParameterSet>::Encoding as PublicKeyEncoding>::Bytes<<P as ParameterSet>::Ring>;
/// The bytes of a ciphertext of `P`.
pub type CiphertextBytes<P> = <<P as ParameterSet>::Ring as Ring>::CiphertextBytes;

macro_rules! parameter_set {
    ($(#[$doc:meta])* $name:ident, $ring:ty, $text:literal, $($encoding:ident => $bytes:literal),*) => {
        $(#[$doc])*
        #[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name<E = MixedRadix>(PhantomData<E>);

        impl<E> sealed::Sealed for $name<E> {}

        $(
            impl ParameterSet for $name<$encoding> {
                type Ring = $ring;
                type Encoding = $encoding;
                type DecapsulationKeyBytes = [u8; $bytes];
                const NAME: &'static str = $text;
            }
            const _: () = assert!(
                $bytes == <$ring>::SECRET_POLY_BYTES
                    + <$name<$encoding> as ParameterSet>::ENCAPSULATION_KEY_BYTES
                    + SEED_BYTES
            );
        )*
    };
}

parameter_set! {
    /// n = 653, q = 4621, q2 = 2048, eta = 3.
    CtruPrime653, R653, "CTRU-Prime-653", MixedRadix => 1353, Packed13 => 1421
}
parameter_set! {
    /// n = 761, q = 4591, q2 = 1024, eta = 2.
    CtruPrime761, R761, "CTRU-Prime-761", MixedRadix => 1571, Packed13 => 1650
}
parameter_set! {
    /// n = 1277, q = 7879, q2 = 1024, eta = 2. Its claimed failure rate does not hold; see the crate's security notes.
    CtruPrime1277, R1277, "CTRU-Prime-1277", MixedRadix => 2738, Packed13 => 2747
}
