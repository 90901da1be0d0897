//! Keys as PKCS#8 and SubjectPublicKeyInfo in DER, the forms of other programs.
//!
//! A private key is the seed of its key pair in these forms. Reading generates the key.

use ctru_kem::key_file::{decode_public_key, decode_seed, encode_public_key, encode_seed, oid};
use ctru_kem::pkcs8::der::asn1::AnyRef;
use ctru_kem::pkcs8::der::{Decode, Tag, Tagged};
use ctru_kem::pkcs8::spki::{self, SubjectPublicKeyInfoRef};
use ctru_kem::pkcs8::{self, ObjectIdentifier, PrivateKeyInfoRef};
use ctru_kem::{InvalidSeed, KeyPairSeed, ParameterSet};
use zeroize::Zeroizing;

use crate::problem::Problem;
use crate::selection::{Encoding, Selection, Set, Visitor};

fn identifier(set: Set) -> ObjectIdentifier {
    match set {
        Set::N653 => oid::CTRU_PRIME_653,
        Set::N761 => oid::CTRU_PRIME_761,
        Set::N1277 => oid::CTRU_PRIME_1277,
    }
}

/// Returns the selection with this identifier.
fn selection(oid: ObjectIdentifier) -> Result<Selection, pkcs8::Error> {
    let set = Set::ALL.into_iter().find(|&set| identifier(set) == oid);
    let set = set.ok_or(spki::Error::OidUnknown { oid })?;
    Ok(Selection { set, encoding: Encoding::MixedRadix })
}

/// Returns whether the bytes are one sequence in DER, as all keys of other programs are.
pub(crate) fn is_sequence(bytes: &[u8]) -> bool {
    AnyRef::from_der(bytes).is_ok_and(|any| any.tag() == Tag::Sequence)
}

/// Returns the private key with this seed as PKCS#8.
pub(crate) fn encode_private(set: Set, seed: &[u8]) -> Zeroizing<Vec<u8>> {
    encode_seed(identifier(set), seed).expect("a seed is short").to_bytes()
}

/// Returns a public key as SubjectPublicKeyInfo.
pub(crate) fn encode_public(set: Set, key: &[u8]) -> Zeroizing<Vec<u8>> {
    let document = encode_public_key(identifier(set), key).expect("a key is short");
    Zeroizing::new(document.into_vec())
}

/// Returns the selection and the bytes of the private key in a PKCS#8 document.
///
/// # Errors
/// [`Problem`] if it is not the private key of a parameter set.
pub(crate) fn decode_private(der: &[u8]) -> Result<(Selection, Zeroizing<Vec<u8>>), Problem> {
    let info = PrivateKeyInfoRef::try_from(der)?;
    let selection = selection(info.algorithm.oid)?;
    let seed = decode_seed(identifier(selection.set), der)?;
    Ok((selection, selection.tested(Expand { seed })??))
}

/// Returns the selection and the bytes of the public key in a SubjectPublicKeyInfo.
///
/// # Errors
/// [`Problem`] if it is not the public key of a parameter set.
pub(crate) fn decode_public(der: &[u8]) -> Result<(Selection, Zeroizing<Vec<u8>>), Problem> {
    let info = SubjectPublicKeyInfoRef::try_from(der).map_err(pkcs8::Error::from)?;
    let selection = selection(info.algorithm.oid)?;
    let key = decode_public_key(identifier(selection.set), der).map_err(pkcs8::Error::from)?;
    Ok((selection, Zeroizing::new(key.to_vec())))
}

/// Generates the private key of a seed.
struct Expand<'a> {
    seed: &'a [u8],
}

impl Visitor for Expand<'_> {
    type Output = Result<Zeroizing<Vec<u8>>, InvalidSeed>;

    fn visit<P: ParameterSet>(self) -> Self::Output {
        let seed = KeyPairSeed::<P>::from_bytes(self.seed)?;
        Ok(Zeroizing::new(seed.decapsulation_key().as_ref().to_vec()))
    }
}
