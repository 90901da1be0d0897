//! Reads the keys of a request, and writes sealed ones.

use std::marker::PhantomData;
use std::sync::Arc;

use bytes::Bytes;
use ctru_kem::{DecapsulationKey, EncapsulationKey, ParameterSet, Parameters};
use rayon::prelude::*;

use crate::decapsulations::KeyHash;
use crate::fault::Fault;
use crate::identity::Owner;
use crate::job::{Form, Shared};
use crate::sealing::{self, Birth};

/// The least number of keys that all cores read together.
const PARALLEL: usize = 64;

/// Reads the keys of one request.
pub(super) struct Reader<'a, P> {
    scheme: Parameters,
    owner: Owner,
    shared: &'a Shared,
    parameter_set: PhantomData<P>,
}

type PrivateKeys<P> = Vec<DecapsulationKey<P>>;

/// The use for which keys are read.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// They decapsulate, so sealed keys must not be too old.
    Use,
    /// They are sealed again, with their age.
    Seal,
}

impl<'a, P: ParameterSet> Reader<'a, P> {
    pub(super) fn new(scheme: Parameters, owner: Owner, shared: &'a Shared) -> Self {
        Self { scheme, owner, shared, parameter_set: PhantomData }
    }

    /// Reads the field `public_key`.
    ///
    /// # Errors
    /// [`Fault::Invalid`] if the key is refused.
    pub(super) fn public_key(&self, bytes: &[u8]) -> Result<EncapsulationKey<P>, Fault> {
        let key = EncapsulationKey::from_bytes(bytes);
        key.map_err(|error| Fault::invalid("public_key", None, error.to_string()))
    }

    /// Reads the field `public_keys`.
    ///
    /// # Errors
    /// [`Fault::Invalid`] with the first key that is refused.
    pub(super) fn public_keys(&self, bytes: &[u8]) -> Result<Vec<EncapsulationKey<P>>, Fault> {
        let placeholder = EncapsulationKey::placeholder();
        read_all(bytes, P::ENCAPSULATION_KEY_BYTES, placeholder, |item, bytes| {
            let key = EncapsulationKey::from_bytes(bytes);
            key.map_err(|error| Fault::invalid("public_keys", item, error.to_string()))
        })
    }

    /// Reads the field `private_key`, for use.
    ///
    /// # Errors
    /// The faults of opening a sealed key, [`Fault::KeyTooOld`], or [`Fault::Invalid`] if the key
    /// is refused.
    pub(super) fn private_key(
        &self,
        form: Form,
        bytes: &[u8],
    ) -> Result<DecapsulationKey<P>, Fault> {
        self.private(form, Purpose::Use, bytes, "private_key", None)
    }

    /// Reads the field `private_keys`.
    ///
    /// # Errors
    /// The fault of the first key that does not open, is refused or is too old for its purpose.
    /// Keys after it are not read.
    pub(super) fn private_keys(
        &self,
        form: Form,
        purpose: Purpose,
        bytes: &[u8],
    ) -> Result<PrivateKeys<P>, Fault> {
        let placeholder = DecapsulationKey::placeholder();
        read_all(bytes, Self::size(form), placeholder, |item, bytes| {
            self.private(form, purpose, bytes, "private_keys", Some(item))
        })
    }

    /// Returns the bytes of a private key.
    fn size(form: Form) -> usize {
        P::DECAPSULATION_KEY_BYTES + usize::from(form == Form::Sealed) * sealing::OVERHEAD
    }

    /// Returns the time at which each key of a field was generated or first sealed, or `None` if
    /// the keys are not sealed.
    pub(super) fn births(form: Form, bytes: &[u8]) -> Option<impl Iterator<Item = Birth>> {
        let sealed = bytes.chunks_exact(Self::size(form));
        (form == Form::Sealed).then(|| sealed.filter_map(Birth::of_sealed))
    }

    fn private(
        &self,
        form: Form,
        purpose: Purpose,
        bytes: &[u8],
        field: &'static str,
        item: Option<usize>,
    ) -> Result<DecapsulationKey<P>, Fault> {
        let opened;
        let plain = match form {
            Form::Sealed => {
                let sealer = &self.shared.sealer;
                opened = sealer.open(self.scheme, self.owner, bytes, field, item)?;
                if let (Purpose::Use, Some(birth)) = (purpose, Birth::of_sealed(bytes)) {
                    sealer.check_age(birth, field, item)?;
                }
                &opened
            }
            _ => bytes,
        };
        let key = DecapsulationKey::from_bytes(plain).and_then(|key| match form {
            // A sealed key was checked when it was plain. Without the check, a client could put
            // another's public key into its own private key, and spend the limit of the other.
            Form::Plain => key.check().map(|()| key),
            _ => Ok(key),
        });
        key.map_err(|error| Fault::invalid(field, item, error.to_string()))
    }

    /// Seals keys, with their ages, for the owner.
    ///
    /// # Errors
    /// [`Fault::NoSealingKey`], or [`Fault::Internal`] if the system provides no randomness.
    pub(super) fn seal(
        &self,
        keys: &[DecapsulationKey<P>],
        births: impl Iterator<Item = Birth>,
    ) -> Result<Bytes, Fault> {
        let mut sealed = Vec::with_capacity(keys.len() * Self::size(Form::Sealed));
        for (key, birth) in keys.iter().zip(births) {
            self.shared.sealer.seal(self.scheme, self.owner, key.as_ref(), birth, &mut sealed)?;
        }
        Ok(sealed.into())
    }

    /// Returns the hashes of the public keys, if decapsulations of this scheme are counted.
    pub(super) fn hashes(&self, keys: &[DecapsulationKey<P>]) -> Option<Arc<[KeyHash]>> {
        let hash = |key: &DecapsulationKey<P>| KeyHash::of(key.encapsulation_key().as_ref());
        self.shared.decapsulations.limit(self.scheme)?;
        Some(match keys.len() {
            ..PARALLEL => keys.iter().map(hash).collect(),
            _ => keys.par_iter().map(hash).collect::<Vec<_>>().into(),
        })
    }

    /// Counts `count` decapsulations with each key.
    ///
    /// # Errors
    /// [`Fault::KeySpent`] if a key would exceed its limit; then nothing is counted.
    pub(super) fn spend(&self, keys: &[DecapsulationKey<P>], count: usize) -> Result<(), Fault> {
        self.spend_hashed(self.hashes(keys).as_deref(), count)
    }

    /// Counts `count` decapsulations with each key that has these hashes, if there are hashes.
    ///
    /// # Errors
    /// [`Fault::KeySpent`] if a key would exceed its limit; then nothing is counted.
    pub(super) fn spend_hashed(
        &self,
        hashes: Option<&[KeyHash]>,
        count: usize,
    ) -> Result<(), Fault> {
        match hashes {
            Some(hashes) => {
                self.shared.decapsulations.spend(self.scheme, self.owner, hashes, count)
            }
            None => Ok(()),
        }
    }
}

/// Reads items of `size` bytes each. Keys are written in place of copies of `placeholder`, because
/// a list that grows leaves copies behind that nobody wipes.
///
/// # Errors
/// The fault of the first item that `read` refuses. Other threads may read a few items after it.
fn read_all<K: Clone + Send>(
    bytes: &[u8],
    size: usize,
    placeholder: K,
    read: impl Fn(usize, &[u8]) -> Result<K, Fault> + Sync,
) -> Result<Vec<K>, Fault> {
    let count = bytes.len() / size;
    let mut keys = vec![placeholder; count];
    let fill = |(item, (key, bytes)): (usize, (&mut K, &[u8]))| match read(item, bytes) {
        Ok(read) => {
            *key = read;
            None
        }
        Err(fault) => Some(fault),
    };
    let first = if count < PARALLEL {
        keys.iter_mut().zip(bytes.chunks_exact(size)).enumerate().find_map(fill)
    } else {
        let items = keys.par_iter_mut().zip(bytes.par_chunks_exact(size)).enumerate();
        items.find_map_first(fill)
    };
    match first {
        Some(fault) => Err(fault),
        None => Ok(keys),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    /// Reads lists of numbers, of which those from some item on are refused.
    #[test]
    fn the_first_bad_item_ends_the_reading() {
        for (count, bad) in [(10, 3), (10, 10), (5000, 0), (5000, 4999), (5000, 5000)] {
            let (reads, begun) = (AtomicUsize::new(0), AtomicBool::new(false));
            let read = |item, bytes: &[u8]| {
                reads.fetch_add(1, Ordering::Relaxed);
                // The thread with the first item may begin late. The others wait for it, so that
                // they do not read all items before.
                begun.fetch_or(item == 0, Ordering::Release);
                while !begun.load(Ordering::Acquire) {
                    thread::yield_now();
                }
                assert_eq!(bytes, [item as u8; 2]);
                if item < bad { Ok(item) } else { Err(Fault::invalid("k", item, "bad")) }
            };
            let bytes: Vec<u8> = (0..count).flat_map(|item| [item as u8; 2]).collect();
            match read_all(&bytes, 2, 0, read) {
                Ok(keys) => assert_eq!(keys, (0..bad).collect::<Vec<_>>()),
                Err(fault) => assert_eq!(fault, Fault::invalid("k", bad, "bad")),
            }
            let reads = reads.into_inner();
            assert!(reads >= count.min(bad + 1));
            assert!(bad > 0 || reads < count / 2, "{reads} of {count} items are read");
        }
    }
}
