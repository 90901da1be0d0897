//! The parameter sets by number, as the JavaScript of the package names them.

use ctru_kem::{Encoding, Parameters, Set};

use crate::fault::Fault;

/// Returns the parameters with a number: that of the set in [`Set::ALL`], plus the number of all
/// sets for each encoding before theirs in [`Encoding::ALL`].
///
/// # Errors
/// [`Fault::Set`] if no parameters have the number.
pub(crate) fn parameters(number: u32) -> Result<Parameters, Fault> {
    let (encoding, set) = (number as usize / Set::ALL.len(), number as usize % Set::ALL.len());
    let encoding = *Encoding::ALL.get(encoding).ok_or(Fault::Set)?;
    Ok(Parameters { set: Set::ALL[set], encoding })
}
