//! The engine behind the class `Engine`, which computes batches.

use std::sync::Arc;

use ctru_kem::Parameters;
use ctru_kem::engine::{BatchEngine, CpuEngine, EngineError, Expand, KeyRows, Seeds};

use crate::gpu::Gpu;
use crate::part::{Part, PartMut};

/// The engine for rows. All results of a call are in the same place, and so are all arrays but a
/// key that serves all operations, which may be on the host.
pub(crate) enum Run {
    Cpu(CpuEngine),
    Gpu(Arc<Gpu>),
}

/// The message for arrays that `Batch::begin` refuses.
const PLACES: &str = "the arrays of a batch are in one place";

impl Run {
    /// Returns the GPU that computes, if one does.
    pub(crate) fn gpu(&self) -> Option<&Arc<Gpu>> {
        match self {
            Self::Cpu(_) => None,
            Self::Gpu(gpu) => Some(gpu),
        }
    }

    /// Keeps the engine forever.
    pub(crate) fn leak(&self) {
        match self {
            Self::Cpu(engine) => std::mem::forget(engine.clone()),
            Self::Gpu(gpu) => std::mem::forget(Arc::clone(gpu)),
        }
    }

    /// Returns the engine for rows on the host.
    fn host_rows(&self) -> &dyn BatchEngine {
        match self {
            Self::Cpu(engine) => engine,
            Self::Gpu(gpu) => gpu.host_rows(),
        }
    }

    /// Generates one key pair for each row of the outputs.
    pub(crate) fn generate(
        &self,
        set: Parameters,
        seeds: Expand<'_>,
        outputs: [PartMut<'_>; 2],
    ) -> Result<(), EngineError> {
        match (outputs, self) {
            ([PartMut::Host(public), PartMut::Host(private)], _) => {
                let seeds = Seeds::Expand(seeds);
                self.host_rows().generate_rows(set, seeds, Some(public), private)
            }
            ([PartMut::Gpu(public), PartMut::Gpu(private)], Self::Gpu(gpu)) => {
                gpu.generate(set, seeds, public, private)
            }
            _ => unreachable!("{PLACES}"),
        }
    }

    /// Encapsulates once for each row of the outputs: shared secrets and ciphertexts.
    pub(crate) fn encapsulate(
        &self,
        set: Parameters,
        keys: Part<'_>,
        seeds: Expand<'_>,
        outputs: [PartMut<'_>; 2],
    ) -> Result<(), EngineError> {
        match (keys, outputs, self) {
            (Part::Host(keys), [PartMut::Host(secrets), PartMut::Host(ciphertexts)], _) => {
                let (keys, seeds) = (KeyRows::Unchecked(keys), Seeds::Expand(seeds));
                self.host_rows().encapsulate_rows(set, keys, seeds, ciphertexts, secrets)
            }
            (keys, [PartMut::Gpu(secrets), PartMut::Gpu(ciphertexts)], Self::Gpu(gpu)) => {
                gpu.encapsulate(set, keys, seeds, ciphertexts, secrets)
            }
            _ => unreachable!("{PLACES}"),
        }
    }

    /// Decapsulates each ciphertext.
    pub(crate) fn decapsulate(
        &self,
        set: Parameters,
        [keys, ciphertexts]: [Part<'_>; 2],
        [secrets]: [PartMut<'_>; 1],
    ) -> Result<(), EngineError> {
        match (keys, ciphertexts, secrets, self) {
            (Part::Host(keys), Part::Host(ciphertexts), PartMut::Host(secrets), _) => {
                let keys = KeyRows::Unchecked(keys);
                self.host_rows().decapsulate_rows(set, keys, ciphertexts, secrets)
            }
            (keys, Part::Gpu(ciphertexts), PartMut::Gpu(secrets), Self::Gpu(gpu)) => {
                gpu.decapsulate(set, keys, ciphertexts, secrets)
            }
            _ => unreachable!("{PLACES}"),
        }
    }
}
