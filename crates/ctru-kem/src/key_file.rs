//! Keys as SubjectPublicKeyInfo (RFC 5280) and PKCS#8 (RFC 5958), which other programs can carry.
//!
//! The traits [`EncodePublicKey`], [`DecodePublicKey`], [`EncodePrivateKey`] and
//! [`DecodePrivateKey`] of the crate `pkcs8` are implemented for keys in mixed-radix encoding. A
//! private key is the 32 bytes of its [`KeyPairSeed`], in the form of RFC 9935: the octet string
//! `privateKey` holds the seed with the tag `[0]`. A file has exactly one form: algorithms with
//! parameters, private keys with attributes or with a public key, and everything that is not DER
//! are refused.
//!
//! **The object identifiers in [`oid`] are placeholders**, so no other program knows these keys.
//!
//! ```
//! use ctru_kem::pkcs8::{DecodePrivateKey, EncodePrivateKey};
//! use ctru_kem::{CtruPrime761, DecapsulationKey, KeyPairSeed};
//!
//! let seed = KeyPairSeed::<CtruPrime761>::from_bytes(&[7; 32])?;
//! let file = seed.to_pkcs8_der()?;
//! let key = DecapsulationKey::<CtruPrime761>::from_pkcs8_der(file.as_bytes())?;
//! assert_eq!(key, seed.decapsulation_key());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The functions of this module serve crates with keys of other forms.

use pkcs8::der::asn1::{AnyRef, BitStringRef, OctetStringRef};
use pkcs8::der::{Decode, Document, Encode, Length, SecretDocument, Tag, TagNumber, Tagged};
use pkcs8::spki::{self, AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};
use pkcs8::{
    AssociatedOid, DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, KeyError,
    ObjectIdentifier, PrivateKeyInfoRef,
};
use zeroize::Zeroizing;

use crate::encoding::MixedRadix;
use crate::error::InvalidSeed;
use crate::key_pair_seed::KeyPairSeed;
use crate::keys::{DecapsulationKey, EncapsulationKey};
use crate::parameters::Set;
use crate::params::{self, ParameterSet};

/// Placeholders for object identifiers.
///
/// No identifier is registered for these keys. These belong to the arc for documentation (RFC
/// 5612), so anybody may use them for anything. They will change when there are registered ones.
pub mod oid {
    use pkcs8::ObjectIdentifier;

    use crate::parameters::{Scheme, Set};

    /// Returns the identifier of keys of a set in mixed-radix encoding.
    #[must_use]
    pub const fn of(set: Set) -> ObjectIdentifier {
        match set.scheme() {
            Scheme::CtruPrime => in_arc("1.3.6.1.4.1.32473.1", set.number()),
            // The numbers of these sets begin at 11.
            Scheme::NtruPrime => in_arc("1.3.6.1.4.1.32473.3", set.number() - 10),
        }
    }

    /// Returns the identifier of keys of a set of CTRU-Prime with X25519.
    #[must_use]
    pub const fn x25519_ctru_prime(set: Set) -> ObjectIdentifier {
        in_arc("1.3.6.1.4.1.32473.2", set.number())
    }

    /// Returns the identifier with the last number `number` in an arc.
    const fn in_arc(arc: &str, number: u8) -> ObjectIdentifier {
        match ObjectIdentifier::new_unwrap(arc).push_arc(number as u32) {
            Ok(identifier) => identifier,
            Err(_) => unreachable!(),
        }
    }
}

/// The tag of a seed in a private key: `[0]`, implicit.
const SEED: Tag = Tag::ContextSpecific { constructed: false, number: TagNumber(0) };

/// Returns the identifier of an algorithm without parameters.
fn algorithm(oid: ObjectIdentifier) -> AlgorithmIdentifierRef<'static> {
    AlgorithmIdentifierRef { oid, parameters: None }
}

/// Encodes a public key as SubjectPublicKeyInfo. Its bit string holds the bytes of the key.
///
/// # Errors
/// [`spki::Error`] if the key is longer than DER can say.
pub fn encode_public_key(oid: ObjectIdentifier, key: &[u8]) -> spki::Result<Document> {
    let subject_public_key = BitStringRef::from_bytes(key)?;
    Document::try_from(SubjectPublicKeyInfoRef { algorithm: algorithm(oid), subject_public_key })
}

/// Returns the bytes of the public key in a SubjectPublicKeyInfo.
///
/// # Errors
/// - [`spki::Error::OidUnknown`] with the identifier in the file if it is another one.
/// - [`spki::Error::Asn1`] if the bytes are not DER of this form, or the algorithm has parameters.
/// - [`spki::Error::KeyMalformed`] if the number of bits is not a multiple of 8.
pub fn decode_public_key(oid: ObjectIdentifier, der: &[u8]) -> spki::Result<&[u8]> {
    let info = SubjectPublicKeyInfoRef::try_from(der)?;
    info.algorithm.assert_algorithm_oid(oid)?;
    if let Some(parameters) = info.algorithm.parameters {
        return Err(parameters.tag().unexpected_error(None).to_error().into());
    }
    info.subject_public_key.as_bytes().ok_or(spki::Error::KeyMalformed)
}

/// Encodes the seed of a private key as PKCS#8.
///
/// # Errors
/// [`pkcs8::Error`] if the seed is longer than DER can say.
pub fn encode_seed(oid: ObjectIdentifier, seed: &[u8]) -> pkcs8::Result<SecretDocument> {
    let private_key = Zeroizing::new(AnyRef::new(SEED, seed)?.to_der()?);
    let private_key = OctetStringRef::new(&private_key)?;
    SecretDocument::try_from(PrivateKeyInfoRef::new(algorithm(oid), private_key))
}

/// Returns the seed of the private key in a PKCS#8 document. It can have any length.
///
/// # Errors
/// - [`spki::Error::OidUnknown`] inside [`pkcs8::Error::PublicKey`], with the identifier in the
///   file, if it is another one.
/// - [`pkcs8::Error::ParametersMalformed`] if the algorithm has parameters.
/// - [`pkcs8::Error::KeyMalformed`] if the file holds attributes, a public key or more.
/// - [`pkcs8::Error::Asn1`] if the bytes are not DER of this form, or the private key is not a
///   seed.
pub fn decode_seed(oid: ObjectIdentifier, der: &[u8]) -> pkcs8::Result<&[u8]> {
    let info = PrivateKeyInfoRef::try_from(der)?;
    info.algorithm.assert_algorithm_oid(oid)?;
    if info.algorithm.parameters.is_some() {
        return Err(pkcs8::Error::ParametersMalformed);
    }
    let private_key = AnyRef::from_der(info.private_key.as_bytes())?;
    private_key.tag().assert_eq(SEED)?;
    // `info` does not have the attributes, so the file is longer if there are any.
    if info.public_key.is_some() || info.encoded_len()? != Length::try_from(der.len())? {
        return Err(KeyError::Invalid.into());
    }
    Ok(private_key.value())
}

/// Gives [`pkcs8::Error::KeyMalformed`]. Private keys from before seeds were bound to a set are too
/// long.
impl From<InvalidSeed> for pkcs8::Error {
    fn from(error: InvalidSeed) -> Self {
        let too_short =
            matches!(error, InvalidSeed::Length(error) if error.actual < error.expected);
        Self::KeyMalformed(if too_short { KeyError::TooShort } else { KeyError::TooLong })
    }
}

/// Implements [`AssociatedOid`] for each set with keys in mixed-radix encoding.
macro_rules! identifiers {
    ($($(#[$doc:meta])* $name:ident($ring:ident) = $code:literal: $number:literal, $text:literal {
        $($encoding:ident => $known_answer:literal;)*
    })+) => {$(
        impl AssociatedOid for params::$name<MixedRadix> {
            const OID: ObjectIdentifier = oid::of(Set::$name);
        }
    )+};
}
sets!(identifiers!);

impl<P: ParameterSet + AssociatedOid> EncodePublicKey for EncapsulationKey<P> {
    fn to_public_key_der(&self) -> spki::Result<Document> {
        encode_public_key(P::OID, self.as_ref())
    }
}

impl<P: ParameterSet + AssociatedOid> DecodePublicKey for EncapsulationKey<P> {
    /// Reads a key. A key that [`from_bytes`](Self::from_bytes) refuses gives
    /// [`spki::Error::KeyMalformed`].
    fn from_public_key_der(der: &[u8]) -> spki::Result<Self> {
        let bytes = decode_public_key(P::OID, der)?;
        Self::from_bytes(bytes).map_err(|_| spki::Error::KeyMalformed)
    }

    #[cfg(feature = "pem")]
    fn from_public_key_pem(text: &str) -> spki::Result<Self> {
        crate::pem::public_key(text)
    }
}

impl<P: ParameterSet + AssociatedOid> EncodePrivateKey for KeyPairSeed<P> {
    fn to_pkcs8_der(&self) -> pkcs8::Result<SecretDocument> {
        encode_seed(P::OID, self.as_ref())
    }
}

impl<P: ParameterSet + AssociatedOid> DecodePrivateKey for KeyPairSeed<P> {
    fn from_pkcs8_der(der: &[u8]) -> pkcs8::Result<Self> {
        Ok(Self::from_bytes(decode_seed(P::OID, der)?)?)
    }

    #[cfg(feature = "pem")]
    fn from_pkcs8_pem(text: &str) -> pkcs8::Result<Self> {
        crate::pem::private_key(text)
    }
}

impl<P: ParameterSet + AssociatedOid> DecodePrivateKey for DecapsulationKey<P> {
    /// Reads a seed, and generates the key that it determines.
    fn from_pkcs8_der(der: &[u8]) -> pkcs8::Result<Self> {
        Ok(KeyPairSeed::from_pkcs8_der(der)?.decapsulation_key())
    }

    #[cfg(feature = "pem")]
    fn from_pkcs8_pem(text: &str) -> pkcs8::Result<Self> {
        crate::pem::private_key(text)
    }
}
