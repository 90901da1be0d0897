//! The device engine on rows of bytes. The host checks the rows while the device computes.

use std::thread;

use ctru_gpu_runtime::Device;

use super::DeviceEngine;
use super::batch::BatchKeys;
use crate::engine::rows::{check_lengths, input, output, without_secrets_if_refused};
use crate::engine::{Engine, EngineError, KEY_PAIR_SEED_BYTES, RowEngine, RowError, Seeds};
use crate::hash::SEED_BYTES;
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::ParameterSet;

/// A device engine for rows of one parameter set. All cores of the host check the rows.
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
    fn generate(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        encapsulation_keys: &mut [u8],
        decapsulation_keys: &mut [u8],
    ) -> Result<(), RowError> {
        // Nothing reads these slices before the engine has written keys to them.
        let encapsulation_keys: &mut [EncapsulationKey<P>] =
            output("encapsulation keys", encapsulation_keys)?;
        let decapsulation_keys: &mut [DecapsulationKey<P>] =
            output("decapsulation keys", decapsulation_keys)?;
        Ok(self.engine.generate(seeds, encapsulation_keys, decapsulation_keys)?)
    }

    fn encapsulate(
        &self,
        keys: &[u8],
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), RowError> {
        let rows: &[EncapsulationKey<P>] = input("keys", keys)?;
        let of_bytes: &[Ciphertext<P>] = input("ciphertexts", ciphertexts)?;
        let count = of_bytes.len();
        let secrets: &mut [SharedSecret] = output("shared secrets", shared_secrets)?;
        check_lengths(rows.len(), count, secrets.len())?;
        seeds.check(secrets.len())?;
        let batches = &self.engine.batches;
        let check = || EncapsulationKey::<P>::check_rows(keys);
        let result = if let [_] = rows {
            check().map_err(RowError::from).and_then(|()| {
                Ok(batches.encapsulate(BatchKeys::One(keys), seeds, ciphertexts, secrets)?)
            })
        } else {
            let keys = BatchKeys::Each(keys);
            checked(check, || batches.encapsulate(keys, seeds, ciphertexts, secrets))
        };
        without_secrets_if_refused(result, secrets)
    }

    fn decapsulate(
        &self,
        keys: &[u8],
        ciphertexts: &[u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), RowError> {
        let rows: &[DecapsulationKey<P>] = input("keys", keys)?;
        let of_bytes: &[Ciphertext<P>] = input("ciphertexts", ciphertexts)?;
        let secrets: &mut [SharedSecret] = output("shared secrets", shared_secrets)?;
        check_lengths(rows.len(), of_bytes.len(), secrets.len())?;
        let batches = &self.engine.batches;
        let check = || DecapsulationKey::<P>::check_rows(keys);
        let result = if let [_] = rows {
            check().map_err(RowError::from).and_then(|()| {
                Ok(batches.decapsulate(BatchKeys::One(keys), ciphertexts, secrets)?)
            })
        } else {
            let keys = BatchKeys::Each(keys);
            checked(check, || batches.decapsulate(keys, ciphertexts, secrets))
        };
        without_secrets_if_refused(result, secrets)
    }
}
