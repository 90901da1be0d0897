//! Reads the private keys of a request, and writes sealed ones.

use std::sync::Arc;

use bytes::Bytes;
use ctru_kem::{
    DecapsulationKey, EncapsulationKey, InvalidRow, ParameterSet, Parameters, with_parameters,
};
use rayon::prelude::*;
use zeroize::Zeroizing;

use crate::checked::KeyBytes;
use crate::decapsulations::KeyHash;
use crate::fault::Fault;
use crate::identity::Owner;
use crate::job::{Form, Shared};
use crate::sealing::{self, Birth};

/// The least number of keys that all cores read together.
const PARALLEL: usize = 64;

/// Reads the keys of one request.
pub(super) struct Reader<'a> {
    scheme: Parameters,
    owner: Owner,
    shared: &'a Shared,
}

/// The use for which keys are read.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// They decapsulate, so sealed keys must not be too old.
    Use,
    /// They are sealed again, with their age.
    Seal,
}

/// Returns the name of the field with private keys, and with an item the item.
fn field(name: [&'static str; 2], item: Option<usize>) -> &'static str {
    name[usize::from(item.is_some())]
}

/// Checks rows of public keys. With `is_single`, they are the field `public_key`.
///
/// # Errors
/// [`Fault::Invalid`] with the first row that is not a key.
pub(super) fn check_public(scheme: Parameters, is_single: bool, rows: &[u8]) -> Result<(), Fault> {
    let checked = with_parameters!(scheme, P => EncapsulationKey::<P>::check_rows(rows));
    checked.map_err(|InvalidRow { row, error }| invalid_public(is_single, row, &error))
}

/// Checks rows of private keys. With `is_single`, they are the field `private_key`.
///
/// # Errors
/// [`Fault::Invalid`] with the first row that is not a key.
pub(super) fn check_private(scheme: Parameters, is_single: bool, rows: &[u8]) -> Result<(), Fault> {
    let checked = with_parameters!(scheme, P => DecapsulationKey::<P>::check_rows(rows));
    checked.map_err(|InvalidRow { row, error }| invalid_private(is_single, row, &error))
}

/// Returns the fault of a row that is not a public key.
pub(super) fn invalid_public(is_single: bool, row: usize, error: &impl ToString) -> Fault {
    let item = (!is_single).then_some(row);
    Fault::invalid(field(["public_key", "public_keys"], item), item, error.to_string())
}

/// Returns the fault of a row that is not a private key.
pub(super) fn invalid_private(is_single: bool, row: usize, error: &impl ToString) -> Fault {
    let item = (!is_single).then_some(row);
    Fault::invalid(field(["private_key", "private_keys"], item), item, error.to_string())
}

/// Checks that the parts of a private key belong together.
fn check_consistency<P: ParameterSet>(row: &[u8]) -> Result<(), String> {
    let key = DecapsulationKey::<P>::from_bytes(row).map_err(|error| error.to_string())?;
    key.check().map_err(|error| error.to_string())
}

impl<'a> Reader<'a> {
    pub(super) fn new(scheme: Parameters, owner: Owner, shared: &'a Shared) -> Self {
        Self { scheme, owner, shared }
    }

    /// Returns the rows of the field `private_key`, with `is_single`, or `private_keys`.
    ///
    /// Sealed keys were checked when they were plain. Plain keys that are sealed or counted are
    /// checked here: otherwise a client could put another's public key into its own private key,
    /// and spend the limit of the other. Other plain keys are checked by the engine as it decodes
    /// them.
    ///
    /// # Errors
    /// The fault of the first key that does not open, is refused or is too old for its purpose.
    /// Keys after it are not read.
    pub(super) fn private(
        &self,
        form: Form,
        purpose: Purpose,
        is_single: bool,
        bytes: &Bytes,
    ) -> Result<KeyBytes, Fault> {
        let row = self.scheme.sizes().decapsulation_key;
        if form == Form::Sealed {
            let count = bytes.len() / self.size(form);
            // A later key may be refused, and those that are open are wiped then too.
            let mut rows = Zeroizing::new(vec![0; count * row]);
            read_all(bytes, self.size(form), &mut rows, row, |item, sealed, row| {
                let item = (!is_single).then_some(item);
                self.open(purpose, sealed, item).map(|plain| row.copy_from_slice(&plain))
            })?;
            return Ok(KeyBytes { bytes: Bytes::from_owner(rows), are_keys: true });
        }
        let is_counted = self.shared.decapsulations.limit(self.scheme).is_some();
        let are_keys = is_counted || purpose == Purpose::Seal;
        if are_keys {
            let check = with_parameters!(self.scheme, P => check_consistency::<P>);
            read_all(bytes, row, &mut [], 0, |item, row, _| {
                check(row).map_err(|error| invalid_private(is_single, item, &error))
            })?;
        }
        Ok(KeyBytes { bytes: bytes.clone(), are_keys })
    }

    /// Opens a sealed key.
    fn open(
        &self,
        purpose: Purpose,
        sealed: &[u8],
        item: Option<usize>,
    ) -> Result<impl std::ops::Deref<Target = Vec<u8>>, Fault> {
        let (sealer, field) = (&self.shared.sealer, field(["private_key", "private_keys"], item));
        let plain = sealer.open(self.scheme, self.owner, sealed, field, item)?;
        if let (Purpose::Use, Some(birth)) = (purpose, Birth::of_sealed(sealed)) {
            sealer.check_age(birth, field, item)?;
        }
        Ok(plain)
    }

    /// Returns the bytes of a private key in a message.
    fn size(&self, form: Form) -> usize {
        let sealing = usize::from(form == Form::Sealed) * sealing::OVERHEAD;
        self.scheme.sizes().decapsulation_key + sealing
    }

    /// Returns the time at which each key of a field was generated or first sealed, or `None` if
    /// the keys are not sealed.
    pub(super) fn births<'b>(
        &self,
        form: Form,
        bytes: &'b [u8],
    ) -> Option<impl Iterator<Item = Birth> + use<'b>> {
        let sealed = bytes.chunks_exact(self.size(form));
        (form == Form::Sealed).then(|| sealed.filter_map(Birth::of_sealed))
    }

    /// Seals keys, with their ages, for the owner.
    ///
    /// # Errors
    /// [`Fault::NoSealingKey`], or [`Fault::Internal`] if the system provides no randomness.
    pub(super) fn seal(
        &self,
        rows: &[u8],
        births: impl Iterator<Item = Birth>,
    ) -> Result<Bytes, Fault> {
        let row = self.scheme.sizes().decapsulation_key;
        let mut sealed = Vec::with_capacity(rows.len() / row * self.size(Form::Sealed));
        for (key, birth) in rows.chunks_exact(row).zip(births) {
            self.shared.sealer.seal(self.scheme, self.owner, key, birth, &mut sealed)?;
        }
        Ok(sealed.into())
    }

    /// Returns the hashes of the public keys in rows of private keys, if decapsulations of this
    /// scheme are counted.
    pub(super) fn hashes(&self, rows: &[u8]) -> Option<Arc<[KeyHash]>> {
        let row = self.scheme.sizes().decapsulation_key;
        let hash = |key: &[u8]| KeyHash::of(self.scheme.encapsulation_key_of(key));
        self.shared.decapsulations.limit(self.scheme)?;
        Some(match rows.len() / row {
            ..PARALLEL => rows.chunks_exact(row).map(hash).collect(),
            _ => rows.par_chunks_exact(row).map(hash).collect::<Vec<_>>().into(),
        })
    }

    /// Counts `count` decapsulations with each key that has these hashes, if there are hashes.
    ///
    /// # Errors
    /// [`Fault::KeySpent`] if a key would exceed its limit; then nothing is counted.
    pub(super) fn spend(&self, hashes: Option<&[KeyHash]>, count: usize) -> Result<(), Fault> {
        match hashes {
            Some(hashes) => {
                self.shared.decapsulations.spend(self.scheme, self.owner, hashes, count)
            }
            None => Ok(()),
        }
    }
}

/// Reads items of `size` bytes each. `read` gets the number of an item, its bytes, and its row of
/// `row` bytes in `rows`, to which it writes.
///
/// # Errors
/// The fault of the first item that `read` refuses. Other threads may read a few items after it.
fn read_all(
    bytes: &[u8],
    size: usize,
    rows: &mut [u8],
    row: usize,
    read: impl Fn(usize, &[u8], &mut [u8]) -> Result<(), Fault> + Sync,
) -> Result<(), Fault> {
    let count = bytes.len() / size;
    let mut rest = rows;
    let rows: Vec<&mut [u8]> =
        (0..count).map(|_| rest.split_off_mut(..row).unwrap_or_default()).collect();
    let items = bytes.chunks_exact(size).zip(rows).enumerate();
    let read = |(item, (bytes, row)): (usize, (&[u8], &mut [u8]))| read(item, bytes, row).err();
    let first = if count < PARALLEL {
        items.map(read).find_map(|fault| fault)
    } else {
        let items: Vec<_> = items.collect();
        items.into_par_iter().find_map_first(read)
    };
    first.map_or(Ok(()), Err)
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
            let read = |item, bytes: &[u8], row: &mut [u8]| {
                reads.fetch_add(1, Ordering::Relaxed);
                // The thread with the first item may begin late. The others wait for it, so that
                // they do not read all items before.
                begun.fetch_or(item == 0, Ordering::Release);
                while !begun.load(Ordering::Acquire) {
                    thread::yield_now();
                }
                assert_eq!(bytes, [item as u8; 2]);
                row.fill(item as u8);
                if item < bad { Ok(()) } else { Err(Fault::invalid("k", item, "bad")) }
            };
            let bytes: Vec<u8> = (0..count).flat_map(|item| [item as u8; 2]).collect();
            let mut rows = vec![0; 3 * count];
            match read_all(&bytes, 2, &mut rows, 3, read) {
                Ok(()) => {
                    assert_eq!(bad, count);
                    assert!(rows.chunks(3).enumerate().all(|(i, row)| row == [i as u8; 3]));
                }
                Err(fault) => assert_eq!(fault, Fault::invalid("k", bad, "bad")),
            }
            let reads = reads.into_inner();
            assert!(reads >= count.min(bad + 1));
            assert!(bad > 0 || reads < count / 2, "{reads} of {count} items are read");
        }
    }
}
