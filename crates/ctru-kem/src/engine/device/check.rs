//! What kernels find wrong with rows of bytes that may not be keys: one word for each row.

use ctru_gpu_kernels::kernels::keys::validate::{
    COEFFICIENT, NOT_CANONICAL, SECRET_POLYNOMIAL, WRONG_HASH,
};

use super::set::Kind;
use crate::engine::EngineError;
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey, InvalidRow};
use crate::parameters::Encoding;

/// Returns the error of a row of keys of this kind, which a word of faults describes. The word is
/// not 0.
pub(super) fn error(kind: Kind, encoding: Encoding, (row, word): (usize, u64)) -> EngineError {
    match kind {
        Kind::Encapsulation => {
            InvalidRow { row, error: encapsulation_key_error(encoding, word) }.into()
        }
        Kind::Decapsulation => {
            InvalidRow { row, error: decapsulation_key_error(encoding, word) }.into()
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
