//! The device engine on rows of bytes. The host checks the rows while the device computes.

use core::fmt;

use ctru_gpu_runtime::Device;

use super::DeviceEngine;
use super::batch::BatchKeys;
use crate::bytes::shared_secrets_mut;
use crate::engine::rows::{decapsulation, encapsulation, output};
use crate::engine::{
    CpuEngine, EngineError, KEY_PAIR_SEED_BYTES, RowEngine, RowError, Seeds, check_length,
};
use crate::hash::SEED_BYTES;
use crate::params::{DecapsulationKeyBytes, EncapsulationKeyBytes, ParameterSet};

/// A device engine for rows of one parameter set, with threads of the host that check the rows.
///
/// If a batch has one key per operation, the device computes with a row that is not a key before
/// the check has refused it. So all outputs may be written when the batch is refused.
pub struct DeviceRows<P: ParameterSet, D: Device> {
    engine: DeviceEngine<P, D>,
    host: CpuEngine,
}

impl<P: ParameterSet, D: Device> DeviceRows<P, D> {
    /// Returns an engine that computes on the devices of `engine`, and checks rows on the threads
    /// of `host`.
    #[must_use]
    pub fn new(engine: DeviceEngine<P, D>, host: CpuEngine) -> Self {
        Self { engine, host }
    }

    /// Runs `check` on the host while `compute` runs. Returns the error of `check` first.
    fn checked(
        &self,
        check: impl FnOnce() -> Result<(), RowError> + Send,
        compute: impl FnOnce() -> Result<(), EngineError>,
    ) -> Result<(), RowError> {
        let (mut checked, mut computed) = (Ok(()), Ok(()));
        self.host.pool().in_place_scope(|scope| {
            scope.spawn(|_| checked = check());
            computed = compute();
        });
        checked.and(computed.map_err(RowError::from))
    }
}

impl<P: ParameterSet, D: Device> fmt::Debug for DeviceRows<P, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceRows")
            .field("engine", &self.engine)
            .field("host", &self.host)
            .finish()
    }
}

impl<P: ParameterSet, D: Device> RowEngine for DeviceRows<P, D> {
    fn generate(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        encapsulation_keys: &mut [u8],
        decapsulation_keys: &mut [u8],
    ) -> Result<(), RowError> {
        let count = output::<EncapsulationKeyBytes<P>>("encapsulation keys", encapsulation_keys)?;
        let count = count.len();
        let private = output::<DecapsulationKeyBytes<P>>("decapsulation keys", decapsulation_keys)?;
        check_length("decapsulation keys", count, private.len())?;
        seeds.check(count)?;
        Ok(self.engine.batches.generate(seeds, encapsulation_keys, decapsulation_keys)?)
    }

    fn encapsulate(
        &self,
        keys: &[u8],
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), RowError> {
        let (rows, _, secrets) = encapsulation::<P>(keys, &seeds, ciphertexts, shared_secrets)?;
        let secrets = shared_secrets_mut(secrets);
        let batches = &self.engine.batches;
        let check = || self.host.check_encapsulation_keys::<P>(keys);
        if let [_] = rows {
            check()?;
            return Ok(batches.encapsulate(BatchKeys::One(keys), seeds, ciphertexts, secrets)?);
        }
        self.checked(check, || {
            batches.encapsulate(BatchKeys::Each(keys), seeds, ciphertexts, secrets)
        })
    }

    fn decapsulate(
        &self,
        keys: &[u8],
        ciphertexts: &[u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), RowError> {
        let (rows, _, secrets) = decapsulation::<P>(keys, ciphertexts, shared_secrets)?;
        let secrets = shared_secrets_mut(secrets);
        let batches = &self.engine.batches;
        let check = || self.host.check_decapsulation_keys::<P>(keys);
        if let [_] = rows {
            check()?;
            return Ok(batches.decapsulate(BatchKeys::One(keys), ciphertexts, secrets)?);
        }
        self.checked(check, || batches.decapsulate(BatchKeys::Each(keys), ciphertexts, secrets))
    }
}
