//! Checks of rows of bytes in device memory that may not be keys.

use core::iter;

use ctru_gpu_runtime::{Device, DeviceMemory, Queue, RuntimeError};
use thiserror::Error;

use super::run::Part;
use super::{Memory, Resident, ResidentKeys, ResidentSeeds, RowKeys, check_bytes, rows};
use crate::engine::EngineError;
use crate::engine::device::check::{
    Faults, decapsulation_key_error, encapsulation_key_error, no_fault,
};
use crate::engine::device::slot::Slot;
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey, InvalidRow};
use crate::hash::SEED_BYTES;
use crate::params::ParameterSet;

/// The reason why rows in device memory were not found to be keys.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CheckError<E: core::error::Error> {
    /// A row is not a key. It is the first one.
    #[error(transparent)]
    Row(InvalidRow<E>),
    /// The check failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// The first refused row with the word of its faults, and how the batch ended.
type Checked = (Option<(usize, u64)>, Result<(), EngineError>);

impl<P: ParameterSet, D: Device> Resident<'_, P, D> {
    /// Checks that rows of bytes are encapsulation keys.
    ///
    /// # Errors
    /// [`CheckError::Row`] with the first row that is not a key, and the reason why
    /// [`EncapsulationKey::from_bytes`](crate::EncapsulationKey::from_bytes) refuses it;
    /// [`CheckError::Engine`] with the errors of [`Resident`](Self#errors).
    pub fn check_encapsulation_keys(
        &self,
        keys: &Memory<D>,
    ) -> Result<(), CheckError<InvalidEncapsulationKey>> {
        let device = self.device_of(iter::once(keys))?;
        let (fault, computed) =
            self.first_fault(device, keys, P::ENCAPSULATION_KEY_BYTES, |slot, part| {
                slot.check_encapsulation_part(part, keys)
            })?;
        no_fault(fault, encapsulation_key_error::<P>).map_err(CheckError::Row)?;
        Ok(computed?)
    }

    /// Checks that rows of bytes are decapsulation keys.
    ///
    /// For each row, the device computes one word: 0 for a key, else whether the secret polynomial
    /// is at fault and what is wrong with the encapsulation key. It runs the same instructions on
    /// the same addresses for all rows. The host searches the words for the first that is not 0. So
    /// time and result show about secrets only which row is the first bad one, and whether its
    /// secret polynomial is at fault.
    ///
    /// # Errors
    /// [`CheckError::Row`] with the first row that is not a key, and the reason why
    /// [`DecapsulationKey::from_bytes`](crate::DecapsulationKey::from_bytes) refuses it;
    /// [`CheckError::Engine`] with the errors of [`Resident`](Self#errors).
    pub fn check_decapsulation_keys(
        &self,
        keys: &Memory<D>,
    ) -> Result<(), CheckError<InvalidDecapsulationKey>> {
        let device = self.device_of(iter::once(keys))?;
        let (fault, computed) =
            self.first_fault(device, keys, P::DECAPSULATION_KEY_BYTES, |slot, part| {
                slot.check_decapsulation_part(part, keys)
            })?;
        no_fault(fault, decapsulation_key_error::<P>).map_err(CheckError::Row)?;
        Ok(computed?)
    }

    /// Checks that rows of bytes are encapsulation keys, and encapsulates once per row of the
    /// outputs. One pass over the rows takes less time than
    /// [`check_encapsulation_keys`](Self::check_encapsulation_keys) and
    /// [`encapsulate`](Self::encapsulate) one after the other.
    ///
    /// If a row is refused, operations of all rows may have been done, also of this one, and every
    /// shared secret is overwritten with zeros. The ciphertext of a row whose polynomial is 0 shows
    /// its message, so do not use any.
    ///
    /// # Errors
    /// Those of both functions.
    pub fn check_and_encapsulate(
        &self,
        keys: &Memory<D>,
        seeds: ResidentSeeds<'_, Memory<D>>,
        ciphertexts: &Memory<D>,
        shared_secrets: &Memory<D>,
    ) -> Result<(), CheckError<InvalidEncapsulationKey>> {
        let count = self.count(ciphertexts, shared_secrets)?;
        seeds.check::<SEED_BYTES>(count)?;
        let row = P::ENCAPSULATION_KEY_BYTES;
        let arrays = [keys, ciphertexts, shared_secrets].into_iter().chain(seeds.memory());
        let device = self.device_of(arrays)?;
        if keys.bytes() == row {
            self.without_secrets_if_refused(self.check_encapsulation_keys(keys), shared_secrets)?;
            return Ok(self.encapsulate(
                ResidentKeys::Rows(keys),
                seeds,
                ciphertexts,
                shared_secrets,
            )?);
        }
        check_bytes("keys", count * row, keys)?;
        let (fault, computed) = self.first_fault(device, keys, row, |slot, part| {
            slot.check_encapsulation_part(part, keys)?;
            slot.encapsulate_part(part, RowKeys::Checked, seeds, ciphertexts, shared_secrets)
        })?;
        let checked = no_fault(fault, encapsulation_key_error::<P>).map_err(CheckError::Row);
        self.without_secrets_if_refused(checked, shared_secrets)?;
        Ok(computed?)
    }

    /// Checks that rows of bytes are decapsulation keys, and decapsulates each row of the
    /// ciphertexts. One pass over the rows takes less time than
    /// [`check_decapsulation_keys`](Self::check_decapsulation_keys) and
    /// [`decapsulate`](Self::decapsulate) one after the other.
    ///
    /// If a row is refused, every shared secret is overwritten with zeros.
    ///
    /// # Errors
    /// Those of both functions.
    pub fn check_and_decapsulate(
        &self,
        keys: &Memory<D>,
        ciphertexts: &Memory<D>,
        shared_secrets: &Memory<D>,
    ) -> Result<(), CheckError<InvalidDecapsulationKey>> {
        let count = self.count(ciphertexts, shared_secrets)?;
        let row = P::DECAPSULATION_KEY_BYTES;
        let device = self.device_of([keys, ciphertexts, shared_secrets].into_iter())?;
        if keys.bytes() == row {
            self.without_secrets_if_refused(self.check_decapsulation_keys(keys), shared_secrets)?;
            return Ok(self.decapsulate(ResidentKeys::Rows(keys), ciphertexts, shared_secrets)?);
        }
        check_bytes("keys", count * row, keys)?;
        let (fault, computed) = self.first_fault(device, keys, row, |slot, part| {
            slot.check_decapsulation_part(part, keys)?;
            slot.decapsulate_part(part, RowKeys::Checked, ciphertexts, shared_secrets)
        })?;
        let checked = no_fault(fault, decapsulation_key_error::<P>).map_err(CheckError::Row);
        self.without_secrets_if_refused(checked, shared_secrets)?;
        Ok(computed?)
    }

    /// Calls `check` for each chunk of rows on `device`, to issue their check and maybe more.
    /// Returns the first row that was found not to be a key, with the word that describes its
    /// faults, and how the batch ended.
    ///
    /// A refused row counts more than a failed or cancelled batch, whose error tells the caller
    /// which outputs are good: those of a refused row are not.
    fn first_fault(
        &self,
        device: usize,
        keys: &Memory<D>,
        row: usize,
        check: impl FnMut(&mut Slot<D::Queue>, &Part) -> Result<(), RuntimeError>,
    ) -> Result<Checked, EngineError> {
        let faults = Faults::default();
        let computed = self.engine.batches.run_resident(
            device,
            self.after,
            rows("keys", row, keys)?,
            check,
            |slot, part| slot.note_faults(part, &faults),
        );
        Ok((faults.first(), computed))
    }

    /// Returns the result of a check. If a row was refused, overwrites the shared secrets with
    /// zeros, so that those of other rows or of an earlier batch are not left in memory.
    fn without_secrets_if_refused<E: core::error::Error>(
        &self,
        checked: Result<(), CheckError<E>>,
        shared_secrets: &Memory<D>,
    ) -> Result<(), CheckError<E>> {
        if let Err(CheckError::Row(_)) = checked {
            let wiped = self.after.wipe(shared_secrets);
            self.after.settle();
            wiped.map_err(EngineError::from)?;
        }
        checked
    }
}
