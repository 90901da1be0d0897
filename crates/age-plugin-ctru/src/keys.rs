//! Recipients and identities, and the stanzas that carry file keys to them.
//!
//! A recipient is the byte of its set and an encapsulation key; an identity is the byte of its set
//! and a decapsulation key, 32 bytes. The body of a stanza is a ciphertext, then the file key,
//! encrypted with ChaCha20-Poly1305 under a key that HKDF-SHA256 derives from the shared secret.

use std::sync::OnceLock;

use age_core::format::{FILE_KEY_BYTES, FileKey, Stanza};
use age_core::primitives::{aead_decrypt, aead_encrypt, hkdf};
use age_core::secrecy::ExposeSecret;
use ctru_hybrid::{
    Ciphertext, DecapsulationKey, EncapsulationKey, InvalidEncapsulationKey, InvalidSeed,
    ParameterSet, Set, SharedSecret, WrongAnswer, known_answer_test, with_hybrid,
};
use thiserror::Error;
use zeroize::Zeroizing;

/// The type of our stanzas.
pub(crate) const STANZA: &str = "ctru-prime-x25519";

/// Tests this machine with known answers before the first use of a set.
///
/// # Errors
/// [`WrongAnswer`] if it computes wrongly.
fn known_answers(set: Set) -> Result<(), WrongAnswer> {
    static RESULTS: [OnceLock<Result<(), WrongAnswer>>; Set::ALL.len()] =
        [const { OnceLock::new() }; Set::ALL.len()];
    *RESULTS[usize::from(set.number()) - 1]
        .get_or_init(|| with_hybrid!(set, P => known_answer_test::<P>()))
}

/// The reason why bytes are no recipient, no identity or no stanza.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Invalid {
    /// There is no byte of a set, or no set has this byte.
    #[error("no parameter set of CTRU-Prime")]
    Set,
    /// The bytes after that of the set are no encapsulation key.
    #[error("no public key: {0}")]
    Recipient(#[from] InvalidEncapsulationKey),
    /// The number of bytes after that of the set is wrong.
    #[error("no private key: {0}")]
    Identity(#[from] InvalidSeed),
    /// This machine computes wrongly.
    #[error(transparent)]
    Machine(#[from] WrongAnswer),
    /// The body of the stanza has another length than those of its set.
    #[error("the body of the stanza has to have {expected} bytes, it has {actual}")]
    Body { expected: usize, actual: usize },
}

/// A key to which files are encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recipient {
    set: Set,
    /// A valid encapsulation key.
    key: Vec<u8>,
}

/// A key that decrypts files. Wiped when dropped.
#[derive(Clone)]
pub(crate) struct Identity {
    set: Set,
    /// A decapsulation key.
    key: Zeroizing<Vec<u8>>,
}

/// Splits a key into the byte of its set and the rest, and tests this machine with known answers
/// for the set.
fn split(bytes: &[u8]) -> Result<(Set, &[u8]), Invalid> {
    let (first, key) = bytes.split_first().ok_or(Invalid::Set)?;
    let set = Set::ALL.iter().copied().find(|set| set.number() == *first).ok_or(Invalid::Set)?;
    known_answers(set)?;
    Ok((set, key))
}

/// Puts the byte of a set before a key.
fn joined(set: Set, key: &[u8]) -> Vec<u8> {
    // The vector never grows, because its old memory would keep a copy of a private key.
    [&[set.number()], key].concat()
}

/// Returns the key that encrypts a file key.
fn wrapping_key(set: Set, secret: &SharedSecret) -> Zeroizing<[u8; 32]> {
    let info = format!("age-plugin-ctru v1 {}", set.id());
    Zeroizing::new(hkdf(&[], info.as_bytes(), secret.as_ref()))
}

impl Recipient {
    /// Reads a recipient.
    ///
    /// # Errors
    /// [`Invalid`] if there is no such set, or the key is invalid.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Invalid> {
        fn check<P: ParameterSet>(key: &[u8]) -> Result<(), InvalidEncapsulationKey> {
            EncapsulationKey::<P>::from_bytes(key).map(drop)
        }
        let (set, key) = split(bytes)?;
        with_hybrid!(set, P => check::<P>(key))?;
        Ok(Self { set, key: key.to_vec() })
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        joined(self.set, &self.key)
    }

    /// Encrypts a file key with fresh randomness.
    ///
    /// # Errors
    /// A text if the operating system gives no randomness.
    pub(crate) fn wrap(&self, file_key: &FileKey) -> Result<Stanza, String> {
        fn encapsulate<P: ParameterSet>(key: &[u8]) -> Result<(Vec<u8>, SharedSecret), String> {
            let key = EncapsulationKey::<P>::from_bytes(key).map_err(|error| error.to_string())?;
            let (ciphertext, secret) = key.try_encapsulate().map_err(|error| error.to_string())?;
            Ok((ciphertext.as_ref().to_vec(), secret))
        }
        let (mut body, secret) = with_hybrid!(self.set, P => encapsulate::<P>(&self.key))?;
        let key = wrapping_key(self.set, &secret);
        body.extend(aead_encrypt(&key, file_key.expose_secret()));
        Ok(Stanza { tag: STANZA.into(), args: vec![self.set.id().into()], body })
    }
}

impl Identity {
    /// Generates an identity with the operating system's randomness, and tests that it decapsulates
    /// what its recipient encapsulates.
    ///
    /// # Errors
    /// A text if there is no randomness, or if this machine computes wrongly.
    pub(crate) fn generate(set: Set) -> Result<Self, String> {
        fn generate<P: ParameterSet>() -> Result<Zeroizing<Vec<u8>>, String> {
            let key = DecapsulationKey::<P>::try_generate().map_err(|error| error.to_string())?;
            let sent = key.encapsulation_key().try_encapsulate();
            let (ciphertext, secret) = sent.map_err(|error| error.to_string())?;
            if key.decapsulate(&ciphertext) != secret {
                return Err("the pairwise test of the new key failed".into());
            }
            Ok(Zeroizing::new(key.as_ref().to_vec()))
        }
        known_answers(set).map_err(|error| error.to_string())?;
        Ok(Self { set, key: with_hybrid!(set, P => generate::<P>())? })
    }

    /// Reads an identity.
    ///
    /// # Errors
    /// [`Invalid`] if there is no such set, or the key has a wrong length.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Invalid> {
        fn check<P: ParameterSet>(key: &[u8]) -> Result<(), InvalidSeed> {
            DecapsulationKey::<P>::from_bytes(key).map(drop)
        }
        let (set, key) = split(bytes)?;
        with_hybrid!(set, P => check::<P>(key))?;
        Ok(Self { set, key: Zeroizing::new(key.to_vec()) })
    }

    pub(crate) fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(joined(self.set, &self.key))
    }

    /// Returns the recipient that belongs to the identity.
    pub(crate) fn recipient(&self) -> Recipient {
        fn public<P: ParameterSet>(key: &[u8]) -> Vec<u8> {
            let key = DecapsulationKey::<P>::from_bytes(key).expect("the key has been checked");
            key.encapsulation_key().as_ref().to_vec()
        }
        Recipient { set: self.set, key: with_hybrid!(self.set, P => public::<P>(&self.key)) }
    }

    /// Decrypts the file key of a stanza. Returns `None` if the stanza is for somebody else: if it
    /// has another type, other arguments than one set that we know, as later versions may, or
    /// another set, or if its file key does not decrypt.
    ///
    /// # Errors
    /// [`Invalid::Body`] if no stanza of its set has a body of this length. This does not depend on
    /// the identity.
    pub(crate) fn unwrap(&self, stanza: &Stanza) -> Result<Option<FileKey>, Invalid> {
        fn ciphertext_bytes<P: ParameterSet>() -> usize {
            P::CIPHERTEXT_BYTES
        }
        fn decapsulate<P: ParameterSet>(
            key: &[u8],
            ciphertext: &[u8],
        ) -> Result<SharedSecret, InvalidSeed> {
            let key = DecapsulationKey::<P>::from_bytes(key)?;
            let ciphertext = Ciphertext::from_bytes(ciphertext).expect("the length is right");
            Ok(key.decapsulate(&ciphertext))
        }
        if stanza.tag != STANZA {
            return Ok(None);
        }
        let [name] = &stanza.args[..] else { return Ok(None) };
        let Ok(set) = name.parse::<Set>() else { return Ok(None) };
        let start = with_hybrid!(set, P => ciphertext_bytes::<P>());
        let expected = start + FILE_KEY_BYTES + TAG_BYTES;
        if stanza.body.len() != expected {
            return Err(Invalid::Body { expected, actual: stanza.body.len() });
        }
        if set != self.set {
            return Ok(None);
        }
        let secret = with_hybrid!(set, P => decapsulate::<P>(&self.key, &stanza.body[..start]))?;
        let key = wrapping_key(self.set, &secret);
        let decrypted = aead_decrypt(&key, FILE_KEY_BYTES, &stanza.body[start..]);
        Ok(decrypted.ok().map(|bytes| {
            let bytes = Zeroizing::new(bytes);
            FileKey::init_with_mut(|file_key| file_key.copy_from_slice(&bytes))
        }))
    }
}

/// Bytes by which ChaCha20-Poly1305 makes a text longer.
const TAG_BYTES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn file_key() -> FileKey {
        FileKey::new(Box::new(*b"a key for a file"))
    }

    #[test]
    fn round_trips() {
        for &set in Set::ALL {
            let identity = Identity::generate(set).unwrap();
            let identity = Identity::from_bytes(&identity.to_bytes()).unwrap();
            let recipient = identity.recipient();
            assert_eq!(Recipient::from_bytes(&recipient.to_bytes()).as_ref(), Ok(&recipient));
            let stanza = recipient.wrap(&file_key()).unwrap();
            assert_eq!(stanza.args, [set.id()]);
            let unwrapped = identity.unwrap(&stanza).unwrap().unwrap();
            assert_eq!(unwrapped.expose_secret(), file_key().expose_secret());

            // Another identity of the same set, and one of another set.
            for &other in Set::ALL {
                let other = Identity::generate(other).unwrap();
                assert!(other.unwrap(&stanza).unwrap().is_none());
            }
        }
    }

    #[test]
    fn altered_stanzas_give_no_key() {
        let identity = Identity::generate(Set::ALL[0]).unwrap();
        let wrapped = || identity.recipient().wrap(&file_key()).unwrap();
        let length = wrapped().body.len();
        for byte in (0..length).step_by(7).chain(length - 48..length) {
            let mut stanza = wrapped();
            stanza.body[byte] ^= 0x80;
            assert!(identity.unwrap(&stanza).unwrap().is_none(), "byte {byte}");
        }
        // Bodies of another length, also for an identity of another set.
        let other = Identity::generate(Set::ALL[1]).unwrap();
        for change in [-1, 1] {
            let mut stanza = wrapped();
            stanza.body.resize(length.saturating_add_signed(change), 0);
            for identity in [&identity, &other] {
                let Err(Invalid::Body { expected, actual }) = identity.unwrap(&stanza) else {
                    panic!("{change} bytes more")
                };
                assert_eq!((expected, actual), (length, stanza.body.len()));
            }
        }
        // Stanzas of later versions.
        for args in [&[][..], &["654"], &["653", "653"]] {
            let args = args.iter().map(|&text| text.into()).collect();
            let stanza = Stanza { args, body: vec![0; 5], ..wrapped() };
            assert!(identity.unwrap(&stanza).unwrap().is_none());
        }
        let other = Stanza { tag: "X25519".into(), args: Vec::new(), body: Vec::new() };
        assert!(identity.unwrap(&other).unwrap().is_none());
    }

    #[test]
    fn malformed_keys_are_refused() {
        for bytes in [&[][..], &[0], &[4], &[255; 97]] {
            assert_eq!(Recipient::from_bytes(bytes), Err(Invalid::Set));
            assert!(matches!(Identity::from_bytes(bytes), Err(Invalid::Set)));
        }
        let identity = Identity::generate(Set::ALL[1]).unwrap();
        let recipient = identity.recipient().to_bytes();
        let short = Recipient::from_bytes(&recipient[..recipient.len() - 1]);
        assert!(matches!(short, Err(Invalid::Recipient(_))));
        let bytes = identity.to_bytes();
        assert!(matches!(Identity::from_bytes(&bytes[..32]), Err(Invalid::Identity(_))));
        // An identity from before keys were bound to a set.
        let Err(old) = Identity::from_bytes(&[2; 97]) else { panic!("an old identity is read") };
        assert!(old.to_string().contains("before 2026-11"), "{old}");
    }
}
