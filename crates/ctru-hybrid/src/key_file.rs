//! Keys as SubjectPublicKeyInfo and PKCS#8, in the form of [`ctru_kem::key_file`].

use ctru_kem::key_file::{decode_public_key, decode_seed, encode_public_key, encode_seed, oid};
use ctru_kem::pkcs8::der::{Document, SecretDocument};
use ctru_kem::pkcs8::{
    self, AssociatedOid, DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey,
    ObjectIdentifier, spki,
};
use ctru_kem::{Set, for_each_ctru_prime_set, sets};

use crate::keys::{DecapsulationKey, EncapsulationKey};
use crate::params::{ParameterSet, X25519CtruPrime};

/// Implements [`AssociatedOid`] for the hybrid of a set.
macro_rules! identifier {
    ($size:ident $set:ident $name:literal $($encoding:ident)*) => {
        impl AssociatedOid for X25519CtruPrime<sets::$set> {
            const OID: ObjectIdentifier = oid::x25519_ctru_prime(Set::$set);
        }
    };
}
for_each_ctru_prime_set!(identifier);

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
        ctru_kem::pem::public_key(text)
    }
}

impl<P: ParameterSet + AssociatedOid> EncodePrivateKey for DecapsulationKey<P> {
    fn to_pkcs8_der(&self) -> pkcs8::Result<SecretDocument> {
        encode_seed(P::OID, self.as_ref())
    }
}

impl<P: ParameterSet + AssociatedOid> DecodePrivateKey for DecapsulationKey<P> {
    fn from_pkcs8_der(der: &[u8]) -> pkcs8::Result<Self> {
        Ok(Self::from_bytes(decode_seed(P::OID, der)?)?)
    }

    #[cfg(feature = "pem")]
    fn from_pkcs8_pem(text: &str) -> pkcs8::Result<Self> {
        ctru_kem::pem::private_key(text)
    }
}
