//! Sealed private keys: encrypted under a key of the server, for one owner and one scheme.
//!
//! | bytes | field |
//! |---:|---|
//! | 1 | version, 2 |
//! | 8 | identifier of the sealing key |
//! | 8 | seconds since 1970 at which the key was generated or first sealed, big-endian |
//! | 24 | nonce: 16 random bytes, 4 of the owner, 4 of the SHA-256 of these 20 |
//! | as the private key | ciphertext of XChaCha20 |
//! | 16 | tag of Poly1305 |
//!
//! The associated data are the version, the identifier, the time, the set (1 byte), the encoding
//! (1 byte) and the [`Owner`] (32 bytes), so a sealed key is of no use to another client or for
//! another scheme, and nobody else can make it younger.
//!
//! The nonce names the owner, so that each server can tell another client's key from a damaged one
//! without a list of clients. The owner in the nonce affects only the status code of a refusal.

use ctru_kem::Parameters;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{Tag, XNonce};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::fault::Fault;
use crate::identity::Owner;
use crate::scheme;
use crate::sealing_keys::{IDENTIFIER, SealingKey, SealingKeys};

const VERSION: u8 = 2;
const TIME: usize = size_of::<u64>();
const NONCE: usize = 24;
/// The random bytes of a nonce. With 128 random bits, no two nonces of a key are the same.
const RANDOM: usize = 16;
/// The number of bytes in a nonce that identify the owner, and of those that form its checksum.
const NAME: usize = 4;
const TAG: usize = 16;
const HEADER: usize = 1 + IDENTIFIER + TIME + NONCE;
/// The number of bytes by which a sealed key is longer than a plain one.
pub(crate) const OVERHEAD: usize = HEADER + TAG;

/// When a private key was generated, or first sealed if it came plain, in seconds since 1970.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Birth(u64);

impl Birth {
    /// Returns the birth of a key that is generated now. A clock that is before 1970 gives 1970.
    pub(crate) fn now() -> Self {
        Self(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()))
    }

    /// Returns the birth that a sealed key states. It is authentic only if the key opens.
    pub(crate) fn of_sealed(sealed: &[u8]) -> Option<Self> {
        Parts::of(sealed).map(|parts| Self(u64::from_be_bytes(*parts.time)))
    }

    /// Returns the age at the time `now`. A key from the future, which a server with a wrong clock
    /// has sealed, is new.
    fn age(self, now: Self) -> Duration {
        Duration::from_secs(now.0.saturating_sub(self.0))
    }
}

/// Seals and opens private keys. The sealing keys can be replaced while calls go on.
#[derive(Debug)]
pub(crate) struct Sealer {
    keys: RwLock<Arc<SealingKeys>>,
    /// The greatest age of sealed keys that are used.
    max_age: Option<Duration>,
}

impl Sealer {
    pub(crate) fn new(keys: SealingKeys, max_age: Option<Duration>) -> Self {
        Self { keys: RwLock::new(Arc::new(keys)), max_age }
    }

    /// Replaces the sealing keys.
    pub(crate) fn replace(&self, keys: SealingKeys) {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
    }

    /// Returns whether there is no sealing key.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys().0.is_empty()
    }

    fn keys(&self) -> Arc<SealingKeys> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns whether an item begins like a key that was sealed under one of the sealing keys.
    pub(crate) fn knows(&self, item: &[u8]) -> bool {
        let identifier = item.get(1..1 + IDENTIFIER);
        item.first() == Some(&VERSION)
            && self.keys().0.iter().any(|key| Some(&key.identifier[..]) == identifier)
    }

    /// Checks that a sealed key is young enough to be used.
    ///
    /// `field` and `item` say where the key stands in the request.
    ///
    /// # Errors
    /// [`Fault::KeyTooOld`] if it is not.
    pub(crate) fn check_age(
        &self,
        birth: Birth,
        field: &'static str,
        item: Option<usize>,
    ) -> Result<(), Fault> {
        match self.max_age {
            Some(most) if birth.age(Birth::now()) > most => {
                Err(Fault::KeyTooOld { field, item, most })
            }
            _ => Ok(()),
        }
    }

    /// Appends the sealed form of a private key to `sealed`.
    ///
    /// # Errors
    /// [`Fault::NoSealingKey`], or [`Fault::Internal`] if the system provides no randomness.
    pub(crate) fn seal(
        &self,
        scheme: Parameters,
        owner: Owner,
        key: &[u8],
        birth: Birth,
        sealed: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let keys = self.keys();
        let newest = keys.0.last().ok_or(Fault::NoSealingKey)?;
        let SealingKey { identifier, cipher } = &**newest;
        let mut random = [0; RANDOM];
        getrandom::fill(&mut random).map_err(|_| Fault::Internal)?;
        let nonce = nonce(&random, owner);
        sealed.push(VERSION);
        sealed.extend_from_slice(identifier);
        let time = birth.0.to_be_bytes();
        sealed.extend_from_slice(&time);
        sealed.extend_from_slice(&nonce);
        let start = sealed.len();
        sealed.extend_from_slice(key);
        let data = associated_data(identifier, time, scheme, owner);
        let tag = cipher
            .encrypt_inout_detached(&XNonce::from(nonce), &data, (&mut sealed[start..]).into())
            .map_err(|_| Fault::Internal)?;
        sealed.extend_from_slice(&tag);
        Ok(())
    }

    /// Opens a sealed private key of any age.
    ///
    /// `field` and `item` say where the key stands in the request.
    ///
    /// # Errors
    /// - [`Fault::NoSealingKey`] if the server has no sealing key.
    /// - [`Fault::OtherOwner`] if it does not open and names another client, also if it is damaged.
    /// - [`Fault::Invalid`] if it does not open for another reason.
    pub(crate) fn open(
        &self,
        scheme: Parameters,
        owner: Owner,
        sealed: &[u8],
        field: &'static str,
        item: Option<usize>,
    ) -> Result<Zeroizing<Vec<u8>>, Fault> {
        let keys = self.keys();
        if keys.0.is_empty() {
            return Err(Fault::NoSealingKey);
        }
        let invalid = |reason: String| Fault::invalid(field, item, reason);
        match sealed.first() {
            Some(&VERSION) => {}
            Some(version) => {
                let reason = format!(
                    "the sealed key has version {version}, and this server opens version {VERSION}"
                );
                return Err(invalid(reason));
            }
            None => return Err(invalid("the sealed key is too short".into())),
        }
        let parts = Parts::of(sealed);
        let Parts { identifier, time, nonce, text, tag } =
            parts.ok_or_else(|| invalid("the sealed key is too short".into()))?;
        let Some(key) = keys.0.iter().find(|key| key.identifier == *identifier) else {
            let reason = "the server does not have the sealing key of this sealed key";
            return Err(invalid(reason.into()));
        };
        let mut plain = Zeroizing::new(text.to_vec());
        let data = associated_data(identifier, *time, scheme, owner);
        let buffer = plain.as_mut_slice().into();
        let (of_nonce, of_tag) = (XNonce::from(*nonce), Tag::from(*tag));
        match key.cipher.decrypt_inout_detached(&of_nonce, &data, buffer, &of_tag) {
            Ok(()) => Ok(plain),
            Err(_) if names_other(nonce, owner) => Err(Fault::OtherOwner { field, item }),
            Err(_) => {
                let reason = "the sealed key is damaged, or was sealed for another scheme";
                Err(invalid(reason.into()))
            }
        }
    }
}

/// The parts of a sealed key after its version.
struct Parts<'a> {
    identifier: &'a [u8; IDENTIFIER],
    time: &'a [u8; TIME],
    nonce: &'a [u8; NONCE],
    text: &'a [u8],
    tag: &'a [u8; TAG],
}

impl<'a> Parts<'a> {
    /// Returns the parts, unless the sealed key is too short.
    fn of(sealed: &'a [u8]) -> Option<Self> {
        let (_, rest) = sealed.split_first()?;
        let (identifier, rest) = rest.split_first_chunk()?;
        let (time, rest) = rest.split_first_chunk()?;
        let (nonce, rest) = rest.split_first_chunk()?;
        let (text, tag) = rest.split_last_chunk()?;
        Some(Self { identifier, time, nonce, text, tag })
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
fn associated_data(
    identifier: &[u8; IDENTIFIER],
    time: [u8; TIME],
    scheme: Parameters,
    Owner(owner): Owner,
) -> Vec<u8> {
    [&[VERSION][..], identifier, &time, &scheme::numbers(scheme), &owner].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locked::Locked;

    const BIRTH: Birth = Birth(1_700_000_000);
    const OWNER: Owner = Owner([1; 32]);

    fn keys(numbers: &[u8]) -> SealingKeys {
        let key = |&number: &u8| Locked::new(SealingKey::new([number; IDENTIFIER], &[number; 32]));
        SealingKeys(numbers.iter().map(key).collect())
    }

    fn scheme(index: usize) -> Parameters {
        Parameters::ALL[index]
    }

    #[test]
    fn sealed_keys_open_for_their_owner_and_scheme_only() {
        let sealer = Sealer::new(keys(&[1]), None);
        let (own, other) = (Owner([1; 32]), Owner([2; 32]));
        let mut sealed = Vec::new();
        sealer.seal(scheme(2), own, b"private", BIRTH, &mut sealed).unwrap();
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
            let time = 1 + IDENTIFIER..1 + IDENTIFIER + TIME;
            assert_eq!(is_others, time.contains(&index) || index >= HEADER, "byte {index}");
        }
    }

    /// Keys open by their tag alone, so those with other nonces open, too.
    #[test]
    fn the_name_in_the_nonce_opens_nothing() {
        let (own, other) = (Owner([1; 32]), Owner([2; 32]));
        let all = keys(&[1]);
        let SealingKey { identifier, cipher } = &*all.0[0];
        let (nonce, mut text) = (nonce(&[7; RANDOM], other), *b"private");
        let data = associated_data(identifier, [7; TIME], scheme(2), own);
        let tag = cipher
            .encrypt_inout_detached(&XNonce::from(nonce), &data, text.as_mut_slice().into())
            .unwrap();
        let sealed = [&[VERSION][..], identifier, &[7; TIME], &nonce, &text, &tag].concat();
        let sealer = Sealer::new(keys(&[1]), None);
        let opened = sealer.open(scheme(2), own, &sealed, "k", None).unwrap();
        assert_eq!(opened.as_slice(), b"private");
        assert!(sealer.open(scheme(2), other, &sealed, "k", None).is_err());
    }

    /// The layout is that of `kem.proto`.
    #[test]
    fn the_time_is_a_part_of_the_sealed_key() {
        let sealer = Sealer::new(keys(&[1]), None);
        let mut sealed = Vec::new();
        sealer.seal(scheme(0), OWNER, b"private", BIRTH, &mut sealed).unwrap();
        assert_eq!(OVERHEAD, 1 + 8 + 8 + 24 + 16);
        assert_eq!((sealed[0], &sealed[9..17]), (2, &1_700_000_000_u64.to_be_bytes()[..]));
        let open = |sealed: &[u8]| sealer.open(scheme(0), OWNER, sealed, "k", None);
        assert!(open(&sealed).is_ok());
        assert_eq!(Birth::of_sealed(&sealed), Some(BIRTH));
        sealed[16] ^= 1;
        assert!(matches!(open(&sealed), Err(Fault::Invalid { .. })));
        // The form before it had a time.
        sealed[0] = 1;
        let Err(Fault::Invalid { reason, .. }) = open(&sealed) else { panic!("it opens") };
        assert!(reason.contains("version 1"), "{reason}");
    }

    #[test]
    fn keys_are_used_until_they_are_too_old() {
        let most = Duration::from_secs(100);
        let sealer = Sealer::new(keys(&[1]), Some(most));
        let check = |birth| sealer.check_age(birth, "k", Some(1));
        let Birth(now) = Birth::now();
        let fault = Fault::KeyTooOld { field: "k", item: Some(1), most };
        let old = Err(fault.clone());
        assert_eq!(check(Birth(now)), Ok(()));
        assert_eq!(check(Birth(now - 50)), Ok(()));
        assert_eq!(check(Birth(now - 150)), old);
        // Clocks that are wrong, as far as clocks can be.
        assert_eq!(check(Birth(0)), old);
        assert_eq!(check(Birth(now + 1000)), Ok(()));
        assert_eq!(check(Birth(u64::MAX)), Ok(()));
        assert_eq!(Birth(0).age(Birth(u64::MAX)), Duration::from_secs(u64::MAX));
        assert_eq!(Sealer::new(keys(&[1]), None).check_age(Birth(0), "k", None), Ok(()));
        let shown = fault.to_string();
        assert!(shown.contains("1m 40s"), "{shown}");
    }

    #[test]
    fn the_newest_key_seals_and_all_open() {
        let sealer = Sealer::new(SealingKeys::default(), None);
        let (scheme, owner) = (scheme(0), Owner::default());
        let mut old = Vec::new();
        let none = sealer.seal(scheme, owner, b"a", BIRTH, &mut old);
        assert_eq!(none, Err(Fault::NoSealingKey));
        sealer.replace(keys(&[1]));
        sealer.seal(scheme, owner, b"a", BIRTH, &mut old).unwrap();
        sealer.replace(keys(&[1, 2]));
        let mut new = Vec::new();
        sealer.seal(scheme, owner, b"b", BIRTH, &mut new).unwrap();
        assert_eq!((old[1], new[1]), (1, 2));
        assert!(sealer.knows(&old) && sealer.knows(&new) && !sealer.knows(b"\x02none"));
        assert_eq!(sealer.open(scheme, owner, &old, "k", None).unwrap().as_slice(), b"a");
        sealer.replace(keys(&[2]));
        assert!(sealer.open(scheme, owner, &old, "k", None).is_err());
        assert_eq!(sealer.open(scheme, owner, &new, "k", None).unwrap().as_slice(), b"b");
    }
}
