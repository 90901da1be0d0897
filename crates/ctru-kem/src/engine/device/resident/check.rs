//! Checks of rows of bytes in device memory that may not be keys.

use ctru_gpu_kernels::descriptor::RingKernels;
use ctru_gpu_kernels::kernels::keys::validate::{COEFFICIENT, NOT_CANONICAL, SECRET_POLYNOMIAL};
use ctru_gpu_runtime::Device;
use thiserror::Error;

use super::{Memory, Resident, rows};
use crate::encoding::{Encode, Encoding};
use crate::engine::EngineError;
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey, InvalidRow};
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
        let kernels = self.engine.batches.set().encoding.check_encapsulation_key;
        let fault = self.first_fault(kernels, keys, P::ENCAPSULATION_KEY_BYTES)?;
        fault.map_or(Ok(()), |(row, word)| {
            let error = encapsulation_key_error::<P>(word);
            Err(CheckError::Row(InvalidRow { row, error }))
        })
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
        let kernels = self.engine.batches.set().encoding.check_decapsulation_key;
        let fault = self.first_fault(kernels, keys, P::DECAPSULATION_KEY_BYTES)?;
        fault.map_or(Ok(()), |(row, word)| {
            let error = if word & SECRET_POLYNOMIAL != 0 {
                InvalidDecapsulationKey::SecretPolynomial
            } else {
                InvalidDecapsulationKey::EncapsulationKey(encapsulation_key_error::<P>(word))
            };
            Err(CheckError::Row(InvalidRow { row, error }))
        })
    }

    /// Returns the first row that is not a key, with the word that describes its faults.
    fn first_fault(
        &self,
        kernels: &'static RingKernels,
        keys: &Memory<D>,
        row: usize,
    ) -> Result<Option<(usize, u64)>, EngineError> {
        let mut first = None::<(usize, u64)>;
        self.engine.batches.run_resident(
            self.device_of(keys)?,
            self.after,
            rows("keys", row, keys)?,
            |slot, part| slot.check_part(part, kernels, keys, row),
            |slot, part| {
                let fault = slot.first_fault(part)?;
                first = first.into_iter().chain(fault).min_by_key(|&(row, _)| row);
                Ok(())
            },
        )?;
        Ok(first)
    }
}

/// Returns the error that a word of faults describes. The word is not 0.
fn encapsulation_key_error<P: ParameterSet>(word: u64) -> InvalidEncapsulationKey {
    match ((word >> COEFFICIENT) as usize, word & NOT_CANONICAL) {
        (0, 0) => InvalidEncapsulationKey::Zero,
        (0, _) => match P::Encoding::ENCODING {
            Encoding::MixedRadix => InvalidEncapsulationKey::NotCanonical,
            Encoding::Packed13 => InvalidEncapsulationKey::Padding,
        },
        (position, _) => InvalidEncapsulationKey::Coefficient { index: position - 1 },
    }
}
