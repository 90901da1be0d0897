//! What kernels find wrong with rows of bytes that may not be keys: one word for each row.

use std::sync::{Mutex, PoisonError};

use ctru_gpu_kernels::kernels::keys::validate::{
    COEFFICIENT, NOT_CANONICAL, SECRET_POLYNOMIAL, WRONG_HASH,
};

use super::set::Kind;
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
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = (start + row, words[row]);
        *first = first.into_iter().chain([found]).min_by_key(|&(row, _)| row);
    }

    /// Checks that no row of keys of this kind has a fault.
    pub(super) fn none(&self, kind: Kind, encoding: Encoding) -> Result<(), EngineError> {
        match *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some((row, word)) => Err(match kind {
                Kind::Encapsulation => {
                    InvalidRow { row, error: encapsulation_key_error(encoding, word) }.into()
                }
                Kind::Decapsulation => {
                    InvalidRow { row, error: decapsulation_key_error(encoding, word) }.into()
                }
            }),
        }
    }
}

/// Returns the error that a word of faults of an encapsulation key describes. The word is not 0.
fn encapsulation_key_error(encoding: Encoding, word: u64) -> InvalidEncapsulationKey {
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
fn decapsulation_key_error(encoding: Encoding, word: u64) -> InvalidDecapsulationKey {
    if word & SECRET_POLYNOMIAL != 0 {
        InvalidDecapsulationKey::SecretPolynomial
    } else if word & WRONG_HASH != 0 {
        InvalidDecapsulationKey::Hash
    } else {
        InvalidDecapsulationKey::EncapsulationKey(encapsulation_key_error(encoding, word))
    }
}
