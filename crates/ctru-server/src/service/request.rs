//! Checks requests before they are queued: sizes, numbers, and permissions. Keys are read later, by
//! the thread that computes.

use bytes::Bytes;
use ctru_kem::{Parameters, SHARED_SECRET_BYTES, Sizes};

use crate::fault::Fault;
use crate::job::{Form, Keys};
use crate::loaded::{Loaded, Side};
use crate::proto::{decapsulate_request, encapsulate_request};
use crate::sealing::{self, Sealer};

/// Room for tags and lengths in a message.
const FRAMING: usize = 64;

/// The most items of one message, by scheme and size of messages.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) keys: usize,
    /// Encapsulations with a key each.
    pub(crate) encapsulations: usize,
    /// Decapsulations with a sealed key each.
    pub(crate) decapsulations: usize,
    /// Encapsulations with one key.
    answers: usize,
    /// Decapsulations with one key.
    ciphertexts: usize,
}

impl Limits {
    /// Returns the limits for messages of at most `bytes` bytes.
    pub(crate) fn new(scheme: Parameters, bytes: usize) -> Self {
        let Sizes { encapsulation_key, decapsulation_key, ciphertext } = scheme.sizes();
        let sealed = decapsulation_key + sealing::OVERHEAD;
        let answer = ciphertext + SHARED_SECRET_BYTES;
        let room = bytes.saturating_sub(FRAMING);
        Self {
            keys: room / (encapsulation_key + sealed),
            encapsulations: room / encapsulation_key.max(answer),
            decapsulations: room / (sealed + ciphertext),
            answers: room / answer,
            ciphertexts: room / ciphertext,
        }
    }

    /// Returns the limits of all schemes.
    pub(crate) fn of_all(bytes: usize) -> [Self; Parameters::ALL.len()] {
        std::array::from_fn(|index| Self::new(Parameters::ALL[index], bytes))
    }

    /// Returns the most operations of one message.
    pub(crate) fn operations(&self) -> usize {
        self.answers.max(self.ciphertexts)
    }

    /// Checks the number of keys to generate, seal or load.
    ///
    /// # Errors
    /// [`Fault::Invalid`] if there are too many.
    pub(crate) fn check_keys(&self, field: &'static str, count: usize) -> Result<(), Fault> {
        if count <= self.keys {
            return Ok(());
        }
        let most = self.keys;
        Err(Fault::invalid(field, None, format!("{count} keys, a message has at most {most}")))
    }
}

/// Returns the number of items of `size` bytes in a field.
///
/// # Errors
/// [`Fault::Invalid`] with the last item, if it is incomplete.
pub(super) fn items(field: &'static str, bytes: &[u8], size: usize) -> Result<usize, Fault> {
    let count = bytes.len() / size;
    if bytes.len().is_multiple_of(size) {
        return Ok(count);
    }
    let reason = format!("{} bytes in all, which is not a multiple of {size} bytes", bytes.len());
    Err(Fault::invalid(field, count, reason))
}

/// Checks the length of a field with one item.
///
/// # Errors
/// [`Fault::Invalid`] if it is wrong.
fn one(field: &'static str, bytes: &[u8], size: usize) -> Result<(), Fault> {
    if bytes.len() == size {
        return Ok(());
    }
    let reason = format!("{} bytes, a key has {size} bytes", bytes.len());
    Err(Fault::invalid(field, None, reason))
}

/// The forms of private keys that the server allows.
#[derive(Copy, Clone, Debug)]
pub(super) struct Private<'a> {
    pub(super) sealer: &'a Sealer,
    /// Whether plain keys are accepted and given.
    pub(super) plain: bool,
}

impl Private<'_> {
    /// Checks that keys of this form are allowed.
    ///
    /// # Errors
    /// [`Fault::PlainKeys`] or [`Fault::NoSealingKey`].
    pub(super) fn allow(self, form: Form) -> Result<Form, Fault> {
        match form {
            Form::Plain if !self.plain => Err(Fault::PlainKeys),
            Form::Sealed if self.sealer.is_empty() => Err(Fault::NoSealingKey),
            form => Ok(form),
        }
    }

    /// Returns the form and the number of the keys in `private_keys`.
    ///
    /// # Errors
    /// [`Fault::Invalid`] if the length fits neither form, or the faults of [`allow`](Self::allow).
    pub(super) fn forms(self, scheme: Parameters, bytes: &[u8]) -> Result<(Form, usize), Fault> {
        let plain = scheme.sizes().decapsulation_key;
        let sealed = plain + sealing::OVERHEAD;
        let fits = |size| bytes.len().is_multiple_of(size);
        // Some thousand keys of one form are as long as some thousand of the other.
        let are_sealed = || !self.plain || bytes.chunks(sealed).all(|key| self.sealer.knows(key));
        let (form, size) = match (fits(plain), fits(sealed)) {
            (true, true) if are_sealed() => (Form::Sealed, sealed),
            (false, true) => (Form::Sealed, sealed),
            (true, _) => (Form::Plain, plain),
            (false, false) => {
                let reason = format!(
                    "{} bytes in all, which is a multiple neither of {plain} bytes (plain) nor of \
                     {sealed} bytes (sealed)",
                    bytes.len()
                );
                let size = if self.sealer.knows(bytes) { sealed } else { plain };
                return Err(Fault::invalid("private_keys", bytes.len() / size, reason));
            }
        };
        if bytes.is_empty() {
            return Ok((Form::Plain, 0));
        }
        Ok((self.allow(form)?, bytes.len() / size))
    }

    /// Returns the form of `count` keys in `private_keys`, or with `is_single` of the one key in
    /// `private_key`.
    ///
    /// # Errors
    /// [`Fault::Invalid`] if the length fits neither form, or the faults of [`allow`](Self::allow).
    fn form_of(
        self,
        scheme: Parameters,
        is_single: bool,
        bytes: &[u8],
        count: usize,
    ) -> Result<Form, Fault> {
        let plain = scheme.sizes().decapsulation_key;
        let sealed = plain + sealing::OVERHEAD;
        if bytes.len() == count * sealed {
            return self.allow(Form::Sealed);
        }
        if bytes.len() == count * plain {
            return self.allow(Form::Plain);
        }
        let reason = format!(
            "{} bytes in all, not {count} times {plain} bytes (plain) or {sealed} bytes (sealed)",
            bytes.len()
        );
        if is_single {
            return Err(Fault::invalid("private_key", None, reason));
        }
        let size = if self.sealer.knows(bytes) { sealed } else { plain };
        // The number of the first key that is incomplete or missing, or that nothing asks for.
        Err(Fault::invalid("private_keys", count.min(bytes.len() / size), reason))
    }
}

/// Returns the keys of a batch of `count` operations with loaded keys, and the number of
/// operations. Several keys serve as many operations.
///
/// # Errors
/// [`Fault::Invalid`] if the keys are of another scheme, of the other kind, or too many or too few.
fn loaded(
    scheme: Parameters,
    keys: Loaded,
    is_public: bool,
    field: &'static str,
    count: usize,
) -> Result<(Keys, usize), Fault> {
    let wrong = |reason: String| Err(Fault::invalid("loaded", None, reason));
    if keys.scheme != scheme {
        return wrong(format!("these keys are of {}, not of {scheme}", keys.scheme));
    }
    match (&keys.keys, is_public) {
        (Side::Private(_), true) => return wrong("these keys are private keys".into()),
        (Side::Public(_), false) => return wrong("these keys are public keys".into()),
        _ => {}
    }
    let operations = match keys.count {
        1 => count,
        several if count == several => several,
        several if count == 0 && is_public => several,
        several => {
            let reason = format!("{count} operations, but {several} loaded keys");
            return Err(Fault::invalid(field, None, reason));
        }
    };
    Ok((Keys::Loaded(keys), operations))
}

/// Checks the keys of an encapsulation. Returns them and the number of operations.
///
/// `find` finds loaded keys.
///
/// # Errors
/// [`Fault::Invalid`] if a length or a number is wrong, or the fault of `find`.
pub(super) fn encapsulation(
    scheme: Parameters,
    limits: Limits,
    key: Option<encapsulate_request::Key>,
    count: usize,
    find: impl FnOnce(&str) -> Result<Loaded, Fault>,
) -> Result<(Keys, usize), Fault> {
    use encapsulate_request::Key;
    let size = scheme.sizes().encapsulation_key;
    let (keys, operations, field) = match key {
        None => return Err(Fault::invalid("key", None, "there is no key")),
        Some(Key::PublicKeys(bytes)) => {
            let keys = items("public_keys", &bytes, size)?;
            if count != 0 && count != keys {
                let reason = format!("{count}, but there are {keys} keys");
                return Err(Fault::invalid("count", None, reason));
            }
            (Keys::Each(Form::Public, bytes), keys, "public_keys")
        }
        Some(Key::PublicKey(bytes)) => {
            one("public_key", &bytes, size)?;
            (Keys::One(Form::Public, bytes), count, "count")
        }
        Some(Key::Loaded(name)) => {
            let (keys, operations) = loaded(scheme, find(&name)?, true, "count", count)?;
            (keys, operations, if count == 0 { "loaded" } else { "count" })
        }
    };
    if operations > limits.answers {
        let most = limits.answers;
        let reason = format!("{operations} operations, an answer has room for {most}");
        return Err(Fault::invalid(field, None, reason));
    }
    Ok((keys, operations))
}

/// Checks the keys and ciphertexts of a decapsulation. Returns the keys and the number of
/// operations.
///
/// `find` finds loaded keys.
///
/// # Errors
/// [`Fault::Invalid`] if a length or a number is wrong, the fault of `find`, or the faults of
/// [`Private::allow`].
pub(super) fn decapsulation(
    scheme: Parameters,
    private: Private<'_>,
    key: Option<decapsulate_request::Key>,
    ciphertexts: &Bytes,
    find: impl FnOnce(&str) -> Result<Loaded, Fault>,
) -> Result<(Keys, usize), Fault> {
    use decapsulate_request::Key;
    let count = items("ciphertexts", ciphertexts, scheme.sizes().ciphertext)?;
    match key {
        None => Err(Fault::invalid("key", None, "there is no key")),
        Some(Key::PrivateKeys(bytes)) => {
            let form = match (bytes.len(), count) {
                (0, 0) => Form::Plain,
                _ => private.form_of(scheme, false, &bytes, count)?,
            };
            Ok((Keys::Each(form, bytes), count))
        }
        Some(Key::PrivateKey(bytes)) => {
            Ok((Keys::One(private.form_of(scheme, true, &bytes, 1)?, bytes), count))
        }
        Some(Key::Loaded(name)) => loaded(scheme, find(&name)?, false, "ciphertexts", count),
    }
}
