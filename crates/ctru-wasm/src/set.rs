//! The parameter sets by number, as the JavaScript of the package names them.

use ctru_kem::{Encoding, Parameters, Scheme};

use crate::fault::Fault;

/// Returns the number of parameters: the degree of the ring, plus 2^16 for 13-bit encoding, or plus
/// 2^17 for NTRU Prime.
fn number(parameters: Parameters) -> u32 {
    let kind = match (parameters.set().scheme(), parameters.encoding()) {
        (Scheme::CtruPrime, Encoding::MixedRadix) => 0,
        (Scheme::CtruPrime, Encoding::Packed13) => 1 << 16,
        _ => 1 << 17,
    };
    parameters.degree() as u32 + kind
}

/// Returns the numbers of all parameters.
pub(crate) fn numbers() -> impl Iterator<Item = u32> {
    Parameters::ALL.iter().copied().map(number)
}

/// Returns the parameters with a number.
///
/// # Errors
/// [`Fault::Set`] if no parameters have the number.
pub(crate) fn parameters(of: u32) -> Result<Parameters, Fault> {
    let mut all = Parameters::ALL.iter().copied();
    all.find(|&parameters| number(parameters) == of).ok_or(Fault::Set)
}
