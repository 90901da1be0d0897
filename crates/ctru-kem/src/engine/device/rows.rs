//! The device engine on rows of bytes, whose parameter set is chosen at run time. The device checks
//! rows as it decodes them. Small batches, which take a single launch, are an exception: the host
//! checks their rows while the device computes.

use std::thread;

use ctru_gpu_runtime::{Device, Queue};

use super::batch_keys::BatchKeys;
use super::check::{Faults, decapsulation_key_error, encapsulation_key_error, no_fault};
use super::{CheckError, DeviceEngine, ResidentSeeds};
use crate::bytes::values_mut;
use crate::engine::rows::{check_generation, check_lengths, without_secrets_if_refused};
use crate::engine::{EngineError, KEY_PAIR_SEED_BYTES, RowEngine, RowError, Seeds};
use crate::error::InvalidRow;
use crate::hash::{SEED_BYTES, SHARED_SECRET_BYTES};
use crate::keys::{DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::parameters::Parameters;
use crate::params::ParameterSet;

/// Memory of a device of type `D`.
type Memory<D> = <<D as Device>::Queue as Queue>::Memory;

/// Runs batches of one parameter set on rows in device memory. The parameter set is chosen at run
/// time.
///
/// The operations are those of [`Resident`](super::Resident), with checks of all keys. One row of
/// keys serves all operations, or there is one for each. Operations follow those that have been
/// issued to the queue `after`. When a call returns, its results are complete, and nothing is under
/// way.
pub trait ResidentRowEngine<D: Device>: RowEngine {
    /// Generates one key pair for each row of the outputs.
    ///
    /// # Errors
    /// [`RowError::Engine`] with the errors of [`Resident`](super::Resident#errors).
    fn generate_resident(
        &self,
        after: &D::Queue,
        seeds: ResidentSeeds<'_, Memory<D>>,
        encapsulation_keys: &Memory<D>,
        decapsulation_keys: &Memory<D>,
    ) -> Result<(), RowError>;

    /// Encapsulates once for each row of the outputs.
    ///
    /// # Errors
    /// [`RowError::EncapsulationKey`] if a row is refused, and [`RowError::Engine`] with the errors
    /// of [`Resident`](super::Resident#errors).
    fn encapsulate_resident(
        &self,
        after: &D::Queue,
        keys: &Memory<D>,
        seeds: ResidentSeeds<'_, Memory<D>>,
        ciphertexts: &Memory<D>,
        shared_secrets: &Memory<D>,
    ) -> Result<(), RowError>;

    /// Decapsulates each row of `ciphertexts`.
    ///
    /// # Errors
    /// [`RowError::DecapsulationKey`] if a row is refused, and [`RowError::Engine`] with the errors
    /// of [`Resident`](super::Resident#errors).
    fn decapsulate_resident(
        &self,
        after: &D::Queue,
        keys: &Memory<D>,
        ciphertexts: &Memory<D>,
        shared_secrets: &Memory<D>,
    ) -> Result<(), RowError>;
}

impl<E: core::error::Error> From<CheckError<E>> for RowError
where
    InvalidRow<E>: Into<Self>,
{
    fn from(error: CheckError<E>) -> Self {
        match error {
            CheckError::Row(row) => row.into(),
            CheckError::Engine(error) => error.into(),
        }
    }
}

impl<P: ParameterSet, D: Device> ResidentRowEngine<D> for DeviceRows<P, D> {
    fn generate_resident(
        &self,
        after: &D::Queue,
        seeds: ResidentSeeds<'_, Memory<D>>,
        encapsulation_keys: &Memory<D>,
        decapsulation_keys: &Memory<D>,
    ) -> Result<(), RowError> {
        let resident = self.engine.resident(after);
        Ok(resident.generate(seeds, encapsulation_keys, decapsulation_keys)?)
    }

    fn encapsulate_resident(
        &self,
        after: &D::Queue,
        keys: &Memory<D>,
        seeds: ResidentSeeds<'_, Memory<D>>,
        ciphertexts: &Memory<D>,
        shared_secrets: &Memory<D>,
    ) -> Result<(), RowError> {
        let resident = self.engine.resident(after);
        Ok(resident.check_and_encapsulate(keys, seeds, ciphertexts, shared_secrets)?)
    }

    fn decapsulate_resident(
        &self,
        after: &D::Queue,
        keys: &Memory<D>,
        ciphertexts: &Memory<D>,
        shared_secrets: &Memory<D>,
    ) -> Result<(), RowError> {
        Ok(self.engine.resident(after).check_and_decapsulate(keys, ciphertexts, shared_secrets)?)
    }
}

/// A device engine for rows of one parameter set. The device checks the rows of large batches, and
/// the host those of small ones.
///
/// If a batch has one key per operation, the device computes with a row that is not a key before
/// the check has refused it. So all ciphertexts may be written when the batch is refused.
#[derive(Debug)]
pub struct DeviceRows<P: ParameterSet, D: Device> {
    engine: DeviceEngine<P, D>,
}

impl<P: ParameterSet, D: Device> DeviceRows<P, D> {
    /// Returns an engine for rows that computes on the devices of `engine`.
    #[must_use]
    pub fn new(engine: DeviceEngine<P, D>) -> Self {
        Self { engine }
    }

    /// Returns the engine, for example to [wipe](DeviceEngine::wipe) its memory.
    #[must_use]
    pub fn engine(&self) -> &DeviceEngine<P, D> {
        &self.engine
    }
}

/// Runs `check` on a thread of its own while `compute` runs. Returns the error of `check` first.
fn checked<E: Send + Into<RowError>>(
    check: impl Fn() -> Result<(), E> + Sync,
    compute: impl FnOnce() -> Result<(), EngineError>,
) -> Result<(), RowError> {
    thread::scope(|scope| {
        let Ok(checking) = thread::Builder::new().spawn_scoped(scope, &check) else {
            // The system starts no further thread, so this thread checks first.
            check().map_err(E::into)?;
            return Ok(compute()?);
        };
        let computed = compute();
        checking
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            .map_err(E::into)?;
        Ok(computed?)
    })
}

impl<P: ParameterSet, D: Device> RowEngine for DeviceRows<P, D> {
    fn parameters(&self) -> Parameters {
        P::PARAMETERS
    }

    fn generate(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        encapsulation_keys: &mut [u8],
        decapsulation_keys: &mut [u8],
    ) -> Result<(), RowError> {
        let sizes = P::PARAMETERS.sizes();
        check_generation(sizes, seeds, encapsulation_keys, decapsulation_keys)?;
        Ok(self.engine.batches.generate(seeds, encapsulation_keys, decapsulation_keys)?)
    }

    fn encapsulate(
        &self,
        keys: &[u8],
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), RowError> {
        let sizes = P::PARAMETERS.sizes();
        let rows =
            check_lengths(sizes.encapsulation_key, keys, sizes, ciphertexts, shared_secrets)?;
        seeds.check(shared_secrets.len() / SHARED_SECRET_BYTES)?;
        let secrets = values_mut::<SharedSecret>(shared_secrets).expect("whole rows");
        let batches = &self.engine.batches;
        let check = || EncapsulationKey::<P>::check_rows(keys);
        let result = if rows == 1 {
            check().map_err(RowError::from).and_then(|()| {
                Ok(batches.encapsulate(BatchKeys::One(keys), seeds, ciphertexts, secrets)?)
            })
        } else if batches.checks_on_host(rows) {
            let keys = BatchKeys::Each(keys);
            checked(check, || batches.encapsulate(keys, seeds, ciphertexts, secrets))
        } else {
            let faults = Faults::default();
            let keys = BatchKeys::Unchecked(keys, &faults);
            let computed = batches.encapsulate(keys, seeds, ciphertexts, secrets);
            // A refused key counts more than the end of the batch: the caller may use the outputs
            // that the other error names.
            no_fault(faults.first(), encapsulation_key_error::<P>)
                .map_err(RowError::from)
                .and_then(|()| Ok(computed?))
        };
        without_secrets_if_refused(result, shared_secrets)
    }

    fn decapsulate(
        &self,
        keys: &[u8],
        ciphertexts: &[u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), RowError> {
        let sizes = P::PARAMETERS.sizes();
        let rows =
            check_lengths(sizes.decapsulation_key, keys, sizes, ciphertexts, shared_secrets)?;
        let secrets = values_mut::<SharedSecret>(shared_secrets).expect("whole rows");
        let batches = &self.engine.batches;
        let check = || DecapsulationKey::<P>::check_rows(keys);
        let result = if rows == 1 {
            check().map_err(RowError::from).and_then(|()| {
                Ok(batches.decapsulate(BatchKeys::One(keys), ciphertexts, secrets)?)
            })
        } else if batches.checks_on_host(rows) {
            let keys = BatchKeys::Each(keys);
            checked(check, || batches.decapsulate(keys, ciphertexts, secrets))
        } else {
            let faults = Faults::default();
            let keys = BatchKeys::Unchecked(keys, &faults);
            let computed = batches.decapsulate(keys, ciphertexts, secrets);
            // A refused key counts more than the end of the batch: the caller may use the outputs
            // that the other error names.
            no_fault(faults.first(), decapsulation_key_error::<P>)
                .map_err(RowError::from)
                .and_then(|()| Ok(computed?))
        };
        without_secrets_if_refused(result, shared_secrets)
    }
}
