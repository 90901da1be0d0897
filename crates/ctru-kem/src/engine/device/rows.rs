//! Batches of rows in the host's memory.

use std::vec::Vec;

use ctru_gpu_runtime::Device;
use ctru_gpu_runtime::batch::travel::{Source, Target};

use super::DeviceEngine;
use super::job::{Job, JobSeeds, Outputs};
use super::set::{Operation, Set};
use crate::batch::count_rows;
use crate::engine::lengths::{check_generation, check_operations};
use crate::engine::rows::without_secrets_if_refused;
use crate::engine::{
    BatchEngine, EngineError, KEY_PAIR_SEED_BYTES, KeyRows, LoadedKeys, PinnedBytes, Seeds,
};
use crate::hash::SEED_BYTES;
use crate::parameters::Parameters;

/// Returns the seeds of a batch.
fn job_seeds<const N: usize, M>(seeds: Seeds<'_, N>) -> JobSeeds<'_, M> {
    match seeds {
        Seeds::Each(seeds) => JobSeeds::Each(Source::Host(seeds.as_flattened())),
        Seeds::Expand(expand) => JobSeeds::Expand(expand),
    }
}

impl<D: Device> BatchEngine for DeviceEngine<D> {
    fn supports(&self, parameters: Parameters) -> bool {
        Set::of(parameters).is_ok()
    }

    fn generate_rows(
        &self,
        parameters: Parameters,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        encapsulation_keys: Option<&mut [u8]>,
        decapsulation_keys: &mut [u8],
    ) -> Result<(), EngineError> {
        check_generation(parameters, seeds, encapsulation_keys.as_deref(), decapsulation_keys)?;
        let batches = self.batches(parameters)?;
        let count = decapsulation_keys.len() / parameters.sizes().decapsulation_key;
        let job = Job { seeds: job_seeds(seeds), ..Job::new(Operation::KeyPairs, None) };
        let keys = encapsulation_keys.map(Target::Host);
        let rows = Some(Target::Host(decapsulation_keys));
        batches.run(job, count, Outputs { keys, rows, ..Outputs::default() })
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
        let mut job = Job::with_keys(Operation::Encapsulation, None, (keys, Source::Host), row)?;
        job.seeds = job_seeds(seeds);
        let rows = Some(Target::Host(ciphertexts));
        let secrets = Some(Target::Host(&mut *shared_secrets));
        let result = batches.run(job, count, Outputs { rows, secrets, ..Outputs::default() });
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
        let mut job = Job::with_keys(Operation::Decapsulation, None, (keys, Source::Host), row)?;
        job.ciphertexts = Some(Source::Host(ciphertexts));
        let secrets = Some(Target::Host(&mut *shared_secrets));
        let result = batches.run(job, count, Outputs { secrets, ..Outputs::default() });
        without_secrets_if_refused(result, shared_secrets)
    }

    fn load_encapsulation_rows(
        &self,
        parameters: Parameters,
        keys: &[u8],
    ) -> Result<LoadedKeys, EngineError> {
        count_rows("keys", parameters.sizes().encapsulation_key, keys)?;
        self.batches(parameters)?.load(Operation::PublicToLoad, Source::Host(keys), None)
    }

    fn load_decapsulation_rows(
        &self,
        parameters: Parameters,
        keys: &[u8],
    ) -> Result<LoadedKeys, EngineError> {
        count_rows("keys", parameters.sizes().decapsulation_key, keys)?;
        self.batches(parameters)?.load(Operation::PrivateToLoad, Source::Host(keys), None)
    }

    fn pin(&self, bytes: Vec<u8>) -> Result<PinnedBytes, EngineError> {
        Ok(PinnedBytes::new(Self::pin(self, bytes)?))
    }

    fn wipe(&self) -> Result<(), EngineError> {
        Self::wipe(self)
    }
}
