//! Sealed private keys: encrypted under a key of the server, for one owner and one scheme.
//!
//! | bytes | field |
//! |---:|---|
//! | 1 | version, 1 |
//! | 8 | identifier of the sealing key |
//! | 24 | nonce: 16 random bytes, 4 of the owner, 4 of the SHA-256 of these 20 |
//! | as the private key | ciphertext of XChaCha20 |
//! | 16 | tag of Poly1305 |
//!
//! The associated data are the version, the identifier, the set (1 byte), the encoding (1 byte) and
//! the [`Owner`] (32 bytes), so a sealed key is of no use to another client or for another scheme.
//!
//! The nonce names the owner, so that each server can tell another client's key from a damaged one
//! without a list of clients. Nothing depends on the name but the status code of a refusal.

use std::sync::{Arc, PoisonError, RwLock};

use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{Tag, XNonce};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::fault::Fault;
use crate::identity::Owner;
use crate::scheme::Scheme;
use crate::sealing_keys::{IDENTIFIER, SealingKey, SealingKeys};

const VERSION: u8 = 1;
const NONCE: usize = 24;
/// The random bytes of a nonce. With 128 random bits, no two nonces of a key are the same.
const RANDOM: usize = 16;
/// The bytes of the owner in a nonce, and those of the sum that shows that it is not damaged.
const NAME: usize = 4;
const TAG: usize = 16;
const HEADER: usize = 1 + IDENTIFIER + NONCE;
/// The number of bytes by which a sealed key is longer than a plain one.
pub(crate) const OVERHEAD: usize = HEADER + TAG;

/// Seals and opens private keys. The sealing keys can be replaced while calls go on.
#[derive(Debug)]
pub(crate) struct Sealer(RwLock<Arc<SealingKeys>>);

impl Sealer {
    pub(crate) fn new(keys: SealingKeys) -> Self {
        Self(RwLock::new(Arc::new(keys)))
    }

    /// Replaces the sealing keys.
    pub(crate) fn replace(&self, keys: SealingKeys) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
    }

    /// Returns whether there is no sealing key.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys().0.is_empty()
    }

    fn keys(&self) -> Arc<SealingKeys> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns whether an item begins like a key that was sealed under one of the sealing keys.
    pub(crate) fn knows(&self, item: &[u8]) -> bool {
        let identifier = item.get(1..1 + IDENTIFIER);
        item.first() == Some(&VERSION)
            && self.keys().0.iter().any(|key| Some(&key.identifier[..]) == identifier)
    }

    /// Appends the sealed form of a private key to `sealed`.
    ///
    /// # Errors
    /// [`Fault::NoSealingKey`], or [`Fault::Internal`] if the system provides no randomness.
    pub(crate) fn seal(
        &self,
        scheme: Scheme,
        owner: Owner,
        key: &[u8],
        sealed: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let keys = self.keys();
        let SealingKey { identifier, cipher } = keys.0.last().ok_or(Fault::NoSealingKey)?;
        let mut random = [0; RANDOM];
        getrandom::fill(&mut random).map_err(|_| Fault::Internal)?;
        let nonce = nonce(&random, owner);
        sealed.push(VERSION);
        sealed.extend_from_slice(identifier);
        sealed.extend_from_slice(&nonce);
        let start = sealed.len();
        sealed.extend_from_slice(key);
        let data = associated_data(identifier, scheme, owner);
        let tag = cipher
            .encrypt_inout_detached(&XNonce::from(nonce), &data, (&mut sealed[start..]).into())
            .map_err(|_| Fault::Internal)?;
        sealed.extend_from_slice(&tag);
        Ok(())
    }

    /// Opens a sealed private key.
    ///
    /// `field` and `item` say where the key stands in the request.
    ///
    /// # Errors
    /// - [`Fault::NoSealingKey`] if the server has no sealing key.
    /// - [`Fault::OtherOwner`] if it does not open and names another client, also if it is damaged.
    /// - [`Fault::Invalid`] if it does not open for another reason.
    pub(crate) fn open(
        &self,
        scheme: Scheme,
        owner: Owner,
        sealed: &[u8],
        field: &'static str,
        item: Option<usize>,
    ) -> Result<Zeroizing<Vec<u8>>, Fault> {
        let keys = self.keys();
        if keys.0.is_empty() {
            return Err(Fault::NoSealingKey);
        }
        let invalid = |reason: &str| Fault::invalid(field, item, reason);
        let parts = sealed.split_at_checked(HEADER).and_then(|(header, rest)| {
            rest.split_last_chunk::<TAG>().map(|(text, tag)| (header, text, tag))
        });
        let (header, text, tag) = parts.ok_or_else(|| invalid("the sealed key is too short"))?;
        if header[0] != VERSION {
            return Err(invalid("the sealed key has an unknown version"));
        }
        let (identifier, nonce) = header[1..].split_at(IDENTIFIER);
        let Some(key) = keys.0.iter().find(|key| key.identifier == identifier) else {
            return Err(invalid("the server does not have the sealing key of this sealed key"));
        };
        let is_others = names_other(nonce, owner);
        let nonce = XNonce::try_from(nonce).map_err(|_| Fault::Internal)?;
        let tag = Tag::from(*tag);
        let mut plain = Zeroizing::new(text.to_vec());
        let data = associated_data(&key.identifier, scheme, owner);
        let buffer = plain.as_mut_slice().into();
        match key.cipher.decrypt_inout_detached(&nonce, &data, buffer, &tag) {
            Ok(()) => Ok(plain),
            Err(_) if is_others => Err(Fault::OtherOwner { field, item }),
            Err(_) => Err(invalid("the sealed key is damaged, or was sealed for another scheme")),
        }
    }
}

/// Returns the nonce that names an owner: the random bytes, the first bytes of the owner, and the
/// first bytes of the SHA-256 of both.
fn nonce(random: &[u8; RANDOM], Owner(owner): Owner) -> [u8; NONCE] {
    let mut nonce = [0; NONCE];
    let (named, sum) = nonce.split_at_mut(RANDOM + NAME);
    named[..RANDOM].copy_from_slice(random);
    named[RANDOM..].copy_from_slice(&owner[..NAME]);
    sum.copy_from_slice(&Sha256::digest(&*named)[..NAME]);
    nonce
}

/// Returns whether a nonce is not damaged and names another owner.
fn names_other(nonce: &[u8], Owner(owner): Owner) -> bool {
    let (named, sum) = nonce.split_at(RANDOM + NAME);
    named[RANDOM..] != owner[..NAME] && Sha256::digest(named)[..NAME] == *sum
}

/// Returns what a sealed key is bound to.
fn associated_data(identifier: &[u8; IDENTIFIER], scheme: Scheme, Owner(owner): Owner) -> Vec<u8> {
    [&[VERSION][..], identifier, &scheme.numbers(), &owner].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(numbers: &[u8]) -> SealingKeys {
        let key = |&number: &u8| SealingKey::new([number; IDENTIFIER], &[number; 32]);
        SealingKeys(numbers.iter().map(key).collect())
    }

    fn scheme(index: usize) -> Scheme {
        Scheme::all().nth(index).unwrap()
    }

    #[test]
    fn sealed_keys_open_for_their_owner_and_scheme_only() {
        let sealer = Sealer::new(keys(&[1]));
        let (own, other) = (Owner([1; 32]), Owner([2; 32]));
        let mut sealed = Vec::new();
        sealer.seal(scheme(2), own, b"private", &mut sealed).unwrap();
        assert_eq!(sealed.len(), 7 + OVERHEAD);
        let open = |scheme, owner, sealed: &[u8]| sealer.open(scheme, owner, sealed, "k", Some(3));
        assert_eq!(open(scheme(2), own, &sealed).unwrap().as_slice(), b"private");
        let is_invalid = |result| matches!(result, Err(Fault::Invalid { item: Some(3), .. }));
        assert!(is_invalid(open(scheme(3), own, &sealed)));
        // No server needs to have seen the owner.
        let refused = open(scheme(2), other, &sealed).unwrap_err();
        assert_eq!(refused, Fault::OtherOwner { field: "k", item: Some(3) });
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert!(is_invalid(open(scheme(2), own, &changed)), "byte {index}");
            assert!(is_invalid(open(scheme(2), own, &sealed[..index])));
            // What says whose the key is: the version, the identifier and the nonce.
            let is_others = open(scheme(2), other, &changed).unwrap_err() == refused;
            assert_eq!(is_others, index >= HEADER, "byte {index}");
        }
    }

    /// Keys open by their tag alone, so those with other nonces open, too.
    #[test]
    fn the_name_in_the_nonce_opens_nothing() {
        let (own, other) = (Owner([1; 32]), Owner([2; 32]));
        let all = keys(&[1]);
        let SealingKey { identifier, cipher } = &all.0[0];
        let (nonce, mut text) = (nonce(&[7; RANDOM], other), *b"private");
        let data = associated_data(identifier, scheme(2), own);
        let tag = cipher
            .encrypt_inout_detached(&XNonce::from(nonce), &data, text.as_mut_slice().into())
            .unwrap();
        let sealed = [&[VERSION][..], identifier, &nonce, &text, &tag].concat();
        let sealer = Sealer::new(keys(&[1]));
        let opened = sealer.open(scheme(2), own, &sealed, "k", None).unwrap();
        assert_eq!(opened.as_slice(), b"private");
        assert!(sealer.open(scheme(2), other, &sealed, "k", None).is_err());
    }

    #[test]
    fn the_newest_key_seals_and_all_open() {
        let sealer = Sealer::new(SealingKeys::default());
        let (scheme, owner) = (scheme(0), Owner::default());
        let mut old = Vec::new();
        let none = sealer.seal(scheme, owner, b"a", &mut old);
        assert_eq!(none, Err(Fault::NoSealingKey));
        sealer.replace(keys(&[1]));
        sealer.seal(scheme, owner, b"a", &mut old).unwrap();
        sealer.replace(keys(&[1, 2]));
        let mut new = Vec::new();
        sealer.seal(scheme, owner, b"b", &mut new).unwrap();
        assert_eq!((old[1], new[1]), (1, 2));
        assert!(sealer.knows(&old) && sealer.knows(&new) && !sealer.knows(b"\x01none"));
        assert_eq!(sealer.open(scheme, owner, &old, "k", None).unwrap().as_slice(), b"a");
        sealer.replace(keys(&[2]));
        assert!(sealer.open(scheme, owner, &old, "k", None).is_err());
        assert_eq!(sealer.open(scheme, owner, &new, "k", None).unwrap().as_slice(), b"b");
    }
}
