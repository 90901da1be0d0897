//! Runs batches whose data stays in device memory, to measure them.

use std::fmt;
use std::time::Duration;

use ctru_gpu_runtime::{Buffer, Device, Queue};
use ctru_kem::engine::device::{ResidentKeys, ResidentSeeds};
use ctru_kem::engine::{DeviceEngine, EngineError};
use ctru_kem::{Parameters, SHARED_SECRET_BYTES};

use crate::workload::EXPAND;
use crate::{KeyUse, Operation, Statistics, sample};

/// An array of bytes in memory of a device of type `D`.
type Bytes<D> = Buffer<u8, <<D as Device>::Queue as Queue>::Memory>;

/// Keys of one parameter set in device memory, and the engine that runs batches on them.
///
/// The keys come from a constant seed. They are not secret, and no time depends on the seed.
pub struct ResidentWorkload<'a, D: Device> {
    engine: &'a DeviceEngine<D>,
    parameters: Parameters,
    queue: D::Queue,
    batch: usize,
    public: Bytes<D>,
    private: Bytes<D>,
}

impl<D: Device> fmt::Debug for ResidentWorkload<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResidentWorkload").field("batch", &self.batch).finish_non_exhaustive()
    }
}

impl<'a, D: Device> ResidentWorkload<'a, D> {
    /// Generates one key pair for each of the `batch` operations of a batch, in memory of `device`,
    /// a device of the engine.
    ///
    /// # Errors
    /// [`EngineError`] if the device has too little memory or fails.
    pub fn new(
        engine: &'a DeviceEngine<D>,
        parameters: Parameters,
        device: &D,
        batch: usize,
    ) -> Result<Self, EngineError> {
        let sizes = parameters.sizes();
        let queue = device.queue()?;
        let public = queue.allocate(batch * sizes.encapsulation_key)?;
        let private = queue.allocate(batch * sizes.decapsulation_key)?;
        let seeds = ResidentSeeds::Expand(EXPAND);
        engine.resident(parameters, &queue)?.generate(seeds, Some(&*public), &private)?;
        Ok(Self { engine, parameters, queue, batch, public, private })
    }

    /// Measures batches.
    ///
    /// # Errors
    /// [`EngineError`] if the device has too little memory or fails.
    pub fn batch(
        &self,
        operation: Operation,
        keys: KeyUse,
        budget: Duration,
    ) -> Result<Statistics, EngineError> {
        let Self { engine, parameters, ref queue, batch, ref public, ref private } = *self;
        let resident = engine.resident(parameters, queue)?;
        let sizes = parameters.sizes();
        let seeds = ResidentSeeds::Expand(EXPAND);
        if operation == Operation::Keygen {
            let public = (keys != KeyUse::Private).then_some(&**public);
            return sample(budget, || resident.generate(seeds, public, private));
        }
        let ciphertexts = queue.allocate::<u8>(batch * sizes.ciphertext)?;
        let secrets = queue.allocate::<u8>(batch * SHARED_SECRET_BYTES)?;
        let one_public = queue.slice::<u8>(public, 0..sizes.encapsulation_key)?;
        let one_private = queue.slice::<u8>(private, 0..sizes.decapsulation_key)?;
        let is_loaded = keys == KeyUse::Resident;
        let loaded = is_loaded.then(|| resident.load_encapsulation_keys(public)).transpose()?;
        let public = match &loaded {
            Some(loaded) => ResidentKeys::Loaded(loaded),
            None if keys == KeyUse::One => ResidentKeys::Trusted(&*one_public),
            None => ResidentKeys::Trusted(&**public),
        };
        let encapsulate = || resident.encapsulate(public, seeds, &ciphertexts, &secrets);
        if operation == Operation::Encaps {
            return sample(budget, encapsulate);
        }
        encapsulate()?;
        let loaded = is_loaded.then(|| resident.load_decapsulation_keys(private)).transpose()?;
        let private = match &loaded {
            Some(loaded) => ResidentKeys::Loaded(loaded),
            None if keys == KeyUse::One => ResidentKeys::Trusted(&*one_private),
            None => ResidentKeys::Trusted(&**private),
        };
        sample(budget, || resident.decapsulate(private, &ciphertexts, &secrets))
    }
}
