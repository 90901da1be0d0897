//! Reads the keys of a request, and writes sealed ones.

use std::marker::PhantomData;
use std::sync::Arc;

use bytes::Bytes;
use ctru_kem::{DecapsulationKey, EncapsulationKey, ParameterSet};
use rayon::prelude::*;

use crate::decapsulations::KeyHash;
use crate::fault::Fault;
use crate::identity::Owner;
use crate::job::{Form, Shared};
use crate::scheme::Scheme;
use crate::sealing;

/// From this number of keys on, all cores read them.
const PARALLEL: usize = 64;

/// Reads the keys of one request.
pub(super) struct Reader<'a, P> {
    scheme: Scheme,
    owner: Owner,
    shared: &'a Shared,
    parameter_set: PhantomData<P>,
}

type PrivateKeys<P> = Vec<DecapsulationKey<P>>;

impl<'a, P: ParameterSet> Reader<'a, P> {
    pub(super) fn new(scheme: Scheme, owner: Owner, shared: &'a Shared) -> Self {
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

    /// Reads the field `private_key`.
    ///
    /// # Errors
    /// The faults of opening a sealed key, [`Fault::Invalid`] if the key is refused.
    pub(super) fn private_key(
        &self,
        form: Form,
        bytes: &[u8],
    ) -> Result<DecapsulationKey<P>, Fault> {
        self.private(form, bytes, "private_key", None)
    }

    /// Reads the field `private_keys`.
    ///
    /// # Errors
    /// The fault of the first key that does not open or is refused.
    pub(super) fn private_keys(&self, form: Form, bytes: &[u8]) -> Result<PrivateKeys<P>, Fault> {
        let sealed = usize::from(form == Form::Sealed) * sealing::OVERHEAD;
        let placeholder = DecapsulationKey::placeholder();
        read_all(bytes, P::DECAPSULATION_KEY_BYTES + sealed, placeholder, |item, bytes| {
            self.private(form, bytes, "private_keys", Some(item))
        })
    }

    fn private(
        &self,
        form: Form,
        bytes: &[u8],
        field: &'static str,
        item: Option<usize>,
    ) -> Result<DecapsulationKey<P>, Fault> {
        let opened;
        let plain = match form {
            Form::Sealed => {
                opened = self.shared.sealer.open(self.scheme, self.owner, bytes, field, item)?;
                &opened
            }
            _ => bytes,
        };
        let key = DecapsulationKey::from_bytes(plain);
        key.map_err(|error| Fault::invalid(field, item, error.to_string()))
    }

    /// Seals keys for the owner.
    ///
    /// # Errors
    /// [`Fault::NoSealingKey`], or [`Fault::Internal`] if the system provides no randomness.
    pub(super) fn seal<'k>(
        &self,
        keys: impl ExactSizeIterator<Item = &'k [u8]>,
    ) -> Result<Bytes, Fault> {
        let size = P::DECAPSULATION_KEY_BYTES + sealing::OVERHEAD;
        let mut sealed = Vec::with_capacity(keys.len() * size);
        for key in keys {
            self.shared.sealer.seal(self.scheme, self.owner, key, &mut sealed)?;
        }
        Ok(sealed.into())
    }

    /// Returns the hashes of the public keys.
    pub(super) fn hashes(&self, keys: &[DecapsulationKey<P>]) -> Arc<[KeyHash]> {
        keys.iter().map(hash).collect()
    }

    /// Counts decapsulations with a key.
    ///
    /// # Errors
    /// [`Fault::KeySpent`] if the key would exceed its limit.
    pub(super) fn spend(&self, key: &DecapsulationKey<P>, count: usize) -> Result<(), Fault> {
        match &self.shared.decapsulations {
            Some(decapsulations) => decapsulations.spend(hash(key), count),
            None => Ok(()),
        }
    }

    /// Counts decapsulations with loaded keys: `count` with a single key, or one with each.
    ///
    /// # Errors
    /// [`Fault::KeySpent`] if a key would exceed its limit.
    pub(super) fn spend_loaded(
        &self,
        hashes: Option<&[KeyHash]>,
        count: usize,
    ) -> Result<(), Fault> {
        match (&self.shared.decapsulations, hashes) {
            (Some(decapsulations), Some([hash])) => decapsulations.spend(*hash, count),
            (Some(decapsulations), Some(hashes)) => {
                hashes.iter().try_for_each(|hash| decapsulations.spend(*hash, 1))
            }
            _ => Ok(()),
        }
    }
}

fn hash<P: ParameterSet>(key: &DecapsulationKey<P>) -> KeyHash {
    KeyHash::of(key.encapsulation_key().as_ref())
}

/// Reads items of `size` bytes each. Keys are written in place of copies of `placeholder`, because
/// a list that grows leaves copies behind that nobody wipes.
///
/// # Errors
/// The fault of the first item that `read` refuses.
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
        Err(fault) => Some((item, fault)),
    };
    let first = if count < PARALLEL {
        keys.iter_mut().zip(bytes.chunks_exact(size)).enumerate().find_map(fill)
    } else {
        let items = keys.par_iter_mut().zip(bytes.par_chunks_exact(size)).enumerate();
        items.filter_map(fill).min_by_key(|(item, _)| *item)
    };
    match first {
        Some((_, fault)) => Err(fault),
        None => Ok(keys),
    }
}
