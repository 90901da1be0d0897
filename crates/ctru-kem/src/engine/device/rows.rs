//! Batches of rows in the host's memory.

use core::any::Any;
use std::thread;
use std::vec::Vec;

use ctru_gpu_runtime::Device;

use super::DeviceEngine;
use super::batch::Batches;
use super::batch_keys::BatchKeys;
use super::buffers::{DecapsulationKeyBuffers, EncapsulationKeyBuffers};
use super::check::{Faults, decapsulation_key_error, encapsulation_key_error, no_fault};
use super::slot::Slot;
use crate::batch::count_rows;
use crate::bytes::values_mut;
use crate::engine::lengths::{check_generation, check_operations};
use crate::engine::rows::without_secrets_if_refused;
use crate::engine::{
    BatchEngine, EngineError, KEY_PAIR_SEED_BYTES, KeyRows, LoadedKeys, PinnedBytes, Seeds,
};
use crate::error::InvalidRow;
use crate::hash::SEED_BYTES;
use crate::keys::SharedSecret;
use crate::parameters::{Encoding, Parameters};

/// Encapsulation keys that a device of type `D` has decoded.
type Public<D> = EncapsulationKeyBuffers<<D as Device>::Queue>;
/// Decapsulation keys that a device of type `D` has decoded.
type Private<D> = DecapsulationKeyBuffers<<D as Device>::Queue>;

/// Runs `check` on a thread of its own while `compute` runs. Returns the error of `check` first.
fn checked(
    check: impl Fn() -> Result<(), EngineError> + Sync,
    compute: impl FnOnce() -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    thread::scope(|scope| {
        let Ok(checking) = thread::Builder::new().spawn_scoped(scope, &check) else {
            // The system starts no further thread, so this thread checks first.
            check()?;
            return compute();
        };
        let computed = compute();
        checking.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        computed
    })
}

/// Calls `compute` with the keys of a batch of `count` operations. A row has `key_bytes` bytes.
/// Rows that may not be keys are checked: by `check` on the host, or on the device, where `error`
/// is the error of the row whose faults a word describes.
fn with_keys<D: Device, K: Any, E: core::error::Error>(
    batches: &Batches<D>,
    keys: KeyRows<'_>,
    key_bytes: usize,
    count: usize,
    check: fn(&[u8]) -> Result<(), InvalidRow<E>>,
    error: fn(Encoding, u64) -> E,
    compute: impl FnOnce(BatchKeys<'_, K>) -> Result<(), EngineError>,
) -> Result<(), EngineError>
where
    EngineError: From<InvalidRow<E>>,
{
    let rows = match keys {
        KeyRows::Loaded(keys) => return compute(BatchKeys::Loaded(keys.decoded()?)),
        KeyRows::Trusted(key) if key.len() == key_bytes => return compute(BatchKeys::One(key)),
        KeyRows::Trusted(keys) => return compute(BatchKeys::Each(keys)),
        KeyRows::Unchecked(rows) => rows,
    };
    let check = || check(rows).map_err(EngineError::from);
    if rows.len() == key_bytes {
        check()?;
        compute(BatchKeys::One(rows))
    } else if batches.checks_on_host(count) {
        checked(check, || compute(BatchKeys::Each(rows)))
    } else {
        let faults = Faults::default();
        let computed = compute(BatchKeys::Unchecked(rows, &faults));
        // A refused key counts more than the end of the batch: the caller may use the outputs that
        // the other error names.
        no_fault(&faults, batches.set().parameters.encoding, error)?;
        computed
    }
}

impl<D: Device> BatchEngine for DeviceEngine<D> {
    fn generate_rows(
        &self,
        parameters: Parameters,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        encapsulation_keys: Option<&mut [u8]>,
        decapsulation_keys: &mut [u8],
    ) -> Result<(), EngineError> {
        check_generation(parameters, seeds, encapsulation_keys.as_deref(), decapsulation_keys)?;
        let encapsulation_keys = encapsulation_keys.unwrap_or_default();
        self.batches(parameters)?.generate(seeds, encapsulation_keys, decapsulation_keys)
    }

    fn encapsulate_rows(
        &self,
        parameters: Parameters,
        keys: KeyRows<'_>,
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), EngineError> {
        let row = parameters.sizes().encapsulation_key;
        let count = check_operations(parameters, row, keys, ciphertexts, shared_secrets)?;
        seeds.check(count)?;
        let batches = self.batches(parameters)?;
        let secrets = values_mut::<SharedSecret>(shared_secrets).expect("whole rows");
        let compute =
            |keys: BatchKeys<'_, Public<D>>| batches.encapsulate(keys, seeds, ciphertexts, secrets);
        let check = batches.set().check_encapsulation_keys;
        let result = with_keys(batches, keys, row, count, check, encapsulation_key_error, compute);
        without_secrets_if_refused(result, shared_secrets)
    }

    fn decapsulate_rows(
        &self,
        parameters: Parameters,
        keys: KeyRows<'_>,
        ciphertexts: &[u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), EngineError> {
        let row = parameters.sizes().decapsulation_key;
        let count = check_operations(parameters, row, keys, ciphertexts, shared_secrets)?;
        let batches = self.batches(parameters)?;
        let secrets = values_mut::<SharedSecret>(shared_secrets).expect("whole rows");
        let compute =
            |keys: BatchKeys<'_, Private<D>>| batches.decapsulate(keys, ciphertexts, secrets);
        let check = batches.set().check_decapsulation_keys;
        let result = with_keys(batches, keys, row, count, check, decapsulation_key_error, compute);
        without_secrets_if_refused(result, shared_secrets)
    }

    fn load_encapsulation_rows(
        &self,
        parameters: Parameters,
        keys: &[u8],
    ) -> Result<LoadedKeys, EngineError> {
        let row = parameters.sizes().encapsulation_key;
        let count = count_rows("keys", row, keys)?;
        let (batches, faults) = (self.batches(parameters)?, Faults::default());
        let decoded = batches.load(keys, row, &faults, Slot::load_encapsulation_keys)?;
        no_fault(&faults, parameters.encoding, encapsulation_key_error)?;
        Ok(LoadedKeys::new(parameters, count, decoded))
    }

    fn load_decapsulation_rows(
        &self,
        parameters: Parameters,
        keys: &[u8],
    ) -> Result<LoadedKeys, EngineError> {
        let row = parameters.sizes().decapsulation_key;
        let count = count_rows("keys", row, keys)?;
        let (batches, faults) = (self.batches(parameters)?, Faults::default());
        let decoded = batches.load(keys, row, &faults, Slot::load_decapsulation_keys)?;
        no_fault(&faults, parameters.encoding, decapsulation_key_error)?;
        Ok(LoadedKeys::new(parameters, count, decoded))
    }

    fn pin(&self, bytes: Vec<u8>) -> Result<PinnedBytes, EngineError> {
        Ok(PinnedBytes::new(Self::pin(self, bytes)?))
    }

    fn wipe(&self) -> Result<(), EngineError> {
        Self::wipe(self)
    }
}
