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
    use InvalidEncapsulationKey::{Coefficient, NotCanonical, Padding, Zero};
    let public = match ((word >> COEFFICIENT) as usize, word & NOT_CANONICAL) {
        (0, 0) => Zero,
        (0, _) if encoding == Encoding::MixedRadix => NotCanonical,
        (0, _) => Padding,
        (position, _) => Coefficient { index: position - 1 },
    };
    let error = match kind {
        Kind::Encapsulation => return InvalidRow { row, error: public }.into(),
        _ if word & SECRET_POLYNOMIAL != 0 => InvalidDecapsulationKey::SecretPolynomial,
        _ if word & WRONG_HASH != 0 => InvalidDecapsulationKey::Hash,
        _ => InvalidDecapsulationKey::EncapsulationKey(public),
    };
    InvalidRow { row, error }.into()
}
