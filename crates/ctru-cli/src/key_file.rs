//! Keys as PKCS#8 and SubjectPublicKeyInfo in DER, the forms of other programs.
//!
//! A private key is the seed of its key pair in these forms. Reading generates the key.

use ctru_kem::key_file::{decode_public_key, decode_seed, encode_public_key, encode_seed, oid};
use ctru_kem::pkcs8::der::asn1::AnyRef;
use ctru_kem::pkcs8::der::{Decode, Tag, Tagged};
use ctru_kem::pkcs8::spki::{self, SubjectPublicKeyInfoRef};
use ctru_kem::pkcs8::{self, ObjectIdentifier, PrivateKeyInfoRef};
use ctru_kem::{InvalidSeed, KeyPairSeed, ParameterSet, Parameters, Set};
use zeroize::Zeroizing;

use crate::parameters::tested;
use crate::problem::Problem;

/// Returns the parameters with this identifier.
fn parameters(identifier: ObjectIdentifier) -> Result<Parameters, pkcs8::Error> {
    let set = Set::ALL.iter().copied().find(|&set| oid::of(set) == identifier);
    let set = set.ok_or(spki::Error::OidUnknown { oid: identifier })?;
    Ok(set.into())
}

/// Returns whether the bytes are one sequence in DER, as all keys of other programs are.
pub(crate) fn is_sequence(bytes: &[u8]) -> bool {
    AnyRef::from_der(bytes).is_ok_and(|any| any.tag() == Tag::Sequence)
}

/// Returns the private key with this seed as PKCS#8.
pub(crate) fn encode_private(set: Set, seed: &[u8]) -> Zeroizing<Vec<u8>> {
    encode_seed(oid::of(set), seed).expect("a seed is short").to_bytes()
}

/// Returns a public key as SubjectPublicKeyInfo.
pub(crate) fn encode_public(set: Set, key: &[u8]) -> Zeroizing<Vec<u8>> {
    let document = encode_public_key(oid::of(set), key).expect("a key is short");
    Zeroizing::new(document.into_vec())
}

/// Returns the parameters and the bytes of the private key in a PKCS#8 document.
///
/// # Errors
/// [`Problem`] if it is not the private key of a parameter set.
pub(crate) fn decode_private(der: &[u8]) -> Result<(Parameters, Zeroizing<Vec<u8>>), Problem> {
    let info = PrivateKeyInfoRef::try_from(der)?;
    let parameters = parameters(info.algorithm.oid)?;
    let seed = decode_seed(oid::of(parameters.set()), der)?;
    Ok((parameters, tested!(parameters, P => expand::<P>(seed))??))
}

/// Returns the parameters and the bytes of the public key in a SubjectPublicKeyInfo.
///
/// # Errors
/// [`Problem`] if it is not the public key of a parameter set.
pub(crate) fn decode_public(der: &[u8]) -> Result<(Parameters, Zeroizing<Vec<u8>>), Problem> {
    let info = SubjectPublicKeyInfoRef::try_from(der).map_err(pkcs8::Error::from)?;
    let parameters = parameters(info.algorithm.oid)?;
    let key = decode_public_key(oid::of(parameters.set()), der).map_err(pkcs8::Error::from)?;
    Ok((parameters, Zeroizing::new(key.to_vec())))
}

/// Generates the private key of a seed.
fn expand<P: ParameterSet>(seed: &[u8]) -> Result<Zeroizing<Vec<u8>>, InvalidSeed> {
    let seed = KeyPairSeed::<P>::from_bytes(seed)?;
    Ok(Zeroizing::new(seed.decapsulation_key().as_ref().to_vec()))
}
