//! The engine behind the class `Engine`, which computes batches.

use std::sync::Arc;

use ctru_kem::engine::{CpuRows, Expand, RowEngine, RowError, Seeds};

use crate::gpu::Gpu;
use crate::part::{Part, PartMut};

/// The engine for rows of one parameter set. All results of a call are in the same place, and so
/// are all arrays but a key that serves all operations, which may be on the host.
pub(crate) enum Run {
    Cpu(Arc<CpuRows>),
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
            Self::Cpu(rows) => std::mem::forget(Arc::clone(rows)),
            Self::Gpu(gpu) => std::mem::forget(Arc::clone(gpu)),
        }
    }

    /// Returns the engine for rows on the host.
    fn host_rows(&self) -> &dyn RowEngine {
        match self {
            Self::Cpu(rows) => &**rows,
            Self::Gpu(gpu) => gpu.host_rows(),
        }
    }

    /// Generates one key pair for each row of the outputs.
    pub(crate) fn generate(
        &self,
        seeds: Expand<'_>,
        outputs: [PartMut<'_>; 2],
    ) -> Result<(), RowError> {
        match (outputs, self) {
            ([PartMut::Host(public), PartMut::Host(private)], _) => {
                self.host_rows().generate(Seeds::Expand(seeds), public, private)
            }
            ([PartMut::Gpu(public), PartMut::Gpu(private)], Self::Gpu(gpu)) => {
                gpu.generate(seeds, public, private)
            }
            _ => unreachable!("{PLACES}"),
        }
    }

    /// Encapsulates once for each row of the outputs: shared secrets and ciphertexts.
    pub(crate) fn encapsulate(
        &self,
        keys: Part<'_>,
        seeds: Expand<'_>,
        outputs: [PartMut<'_>; 2],
    ) -> Result<(), RowError> {
        match (keys, outputs, self) {
            (Part::Host(keys), [PartMut::Host(secrets), PartMut::Host(ciphertexts)], _) => {
                self.host_rows().encapsulate(keys, Seeds::Expand(seeds), ciphertexts, secrets)
            }
            (keys, [PartMut::Gpu(secrets), PartMut::Gpu(ciphertexts)], Self::Gpu(gpu)) => {
                gpu.encapsulate(keys, seeds, ciphertexts, secrets)
            }
            _ => unreachable!("{PLACES}"),
        }
    }

    /// Decapsulates each ciphertext.
    pub(crate) fn decapsulate(
        &self,
        [keys, ciphertexts]: [Part<'_>; 2],
        [secrets]: [PartMut<'_>; 1],
    ) -> Result<(), RowError> {
        match (keys, ciphertexts, secrets, self) {
            (Part::Host(keys), Part::Host(ciphertexts), PartMut::Host(secrets), _) => {
                self.host_rows().decapsulate(keys, ciphertexts, secrets)
            }
            (keys, Part::Gpu(ciphertexts), PartMut::Gpu(secrets), Self::Gpu(gpu)) => {
                gpu.decapsulate(keys, ciphertexts, secrets)
            }
            _ => unreachable!("{PLACES}"),
        }
    }
}
