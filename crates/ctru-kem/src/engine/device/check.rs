//! Checks of rows of bytes that may not be keys: the kernels decode each row and say what is wrong
//! with it.

use std::vec::Vec;

use ctru_gpu_kernels::descriptor::{Batch, RingKernels};
use ctru_gpu_kernels::kernels::keys::validate::{COEFFICIENT, NOT_CANONICAL, SECRET_POLYNOMIAL};
use ctru_gpu_runtime::{Queue, RuntimeError};

use super::buffers::{DecapsulationKeyBuffers, EncapsulationKeyBuffers};
use super::slot::{OnDevice, is_direct, target};
use super::slots::lock;
use super::sync::Mutex;
use crate::engine::EngineError;
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey, InvalidRow};
use crate::parameters::Encoding;

/// The first row of a batch that is not a key, with the word that describes its faults.
#[derive(Default)]
pub(super) struct Faults(Mutex<Option<(usize, u64)>>);

impl Faults {
    /// Notes the first fault among the words of the rows from `start` on.
    pub(super) fn note(&self, start: usize, words: &[u64]) {
        let Some(row) = words.iter().position(|&word| word != 0) else { return };
        let mut first = lock(&self.0);
        let found = (start + row, words[row]);
        *first = first.into_iter().chain([found]).min_by_key(|&(row, _)| row);
    }

    /// Returns the first row that is not a key.
    pub(super) fn first(&self) -> Option<(usize, u64)> {
        *lock(&self.0)
    }
}

/// The check of the rows of a chunk, which begins at row `start` of its batch.
#[derive(Copy, Clone)]
pub(super) struct ChunkCheck<'a> {
    pub(super) faults: &'a Faults,
    pub(super) start: usize,
}

/// These functions launch a check at once, before kernels in a list. The words for the rows go to
/// `staged`.
impl<Q: Queue> OnDevice<Q> {
    /// Decodes `count` rows like `decode_encapsulation_keys`, and checks them.
    pub(super) fn check_encapsulation_keys(
        &self,
        rows: &Q::Memory,
        count: usize,
        to: &EncapsulationKeyBuffers<Q>,
        staged: &mut Q::Pinned<u64>,
    ) -> Result<(), RuntimeError> {
        let kernel = self.set.encoding.check_encapsulation_key;
        self.check(kernel, &[rows, &to.h, &to.ids], count, staged)
    }

    /// Decodes `count` rows like `decode_decapsulation_keys`, and checks them.
    pub(super) fn check_decapsulation_keys(
        &self,
        rows: &Q::Memory,
        count: usize,
        to: &DecapsulationKeyBuffers<Q>,
        staged: &mut Q::Pinned<u64>,
    ) -> Result<(), RuntimeError> {
        let DecapsulationKeyBuffers { f, z, encapsulation_key } = to;
        let EncapsulationKeyBuffers { h, ids } = encapsulation_key;
        let kernel = self.set.encoding.check_decapsulation_key;
        self.check(kernel, &[rows, f, h, ids, z], count, staged)
    }

    /// Launches a kernel that checks `count` rows and writes one word for each. The array of these
    /// words is its last argument.
    fn check(
        &self,
        kernel: &'static RingKernels,
        memory: &[&Q::Memory],
        count: usize,
        staged: &mut Q::Pinned<u64>,
    ) -> Result<(), RuntimeError> {
        // Shared secrets are written after the words have been sent to the host.
        let words = &self.buffers.shared_secrets;
        let is_direct = is_direct(8 * count);
        let memory: Vec<_> = [memory, &[target::<_, Q>(is_direct, staged, words)]].concat();
        self.queue.launch(self.set.kernel(kernel), &memory, Batch::each(count as u32))?;
        self.fetch(is_direct, words, staged, count)
    }
}

/// Checks that no row of a batch has a fault. `error` turns the word that describes the faults of
/// the first row that is not a key into its error.
pub(super) fn no_fault<E: core::error::Error>(
    faults: &Faults,
    encoding: Encoding,
    error: impl FnOnce(Encoding, u64) -> E,
) -> Result<(), EngineError>
where
    EngineError: From<InvalidRow<E>>,
{
    match faults.first() {
        None => Ok(()),
        Some((row, word)) => Err(InvalidRow { row, error: error(encoding, word) }.into()),
    }
}

/// Returns the error that a word of faults of an encapsulation key describes. The word is not 0.
pub(super) fn encapsulation_key_error(encoding: Encoding, word: u64) -> InvalidEncapsulationKey {
    match ((word >> COEFFICIENT) as usize, word & NOT_CANONICAL) {
        (0, 0) => InvalidEncapsulationKey::Zero,
        (0, _) => match encoding {
            Encoding::MixedRadix => InvalidEncapsulationKey::NotCanonical,
            Encoding::Packed13 => InvalidEncapsulationKey::Padding,
        },
        (position, _) => InvalidEncapsulationKey::Coefficient { index: position - 1 },
    }
}

/// Returns the error that a word of faults of a decapsulation key describes. The word is not 0.
pub(super) fn decapsulation_key_error(encoding: Encoding, word: u64) -> InvalidDecapsulationKey {
    if word & SECRET_POLYNOMIAL != 0 {
        InvalidDecapsulationKey::SecretPolynomial
    } else {
        InvalidDecapsulationKey::EncapsulationKey(encapsulation_key_error(encoding, word))
    }
}
