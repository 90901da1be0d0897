//! The parameter sets by number, as the JavaScript of the package names them.

use std::sync::OnceLock;

use ctru_kem::engine::{CpuEngine, CpuRows};
use ctru_kem::{Encoding, Parameters, Set};

use crate::fault::Fault;

/// Returns the engine of the parameters with a number: that of the set in [`Set::ALL`], plus the
/// number of all sets for each encoding before theirs in [`Encoding::ALL`].
///
/// # Errors
/// [`Fault::Set`] if no parameters have the number.
pub(crate) fn engine(number: u32) -> Result<CpuRows, Fault> {
    static ENGINE: OnceLock<CpuEngine> = OnceLock::new();
    let engine = ENGINE
        .get_or_init(|| CpuEngine::with_threads(1).expect("the calling thread does the work"));
    let (encoding, set) = (number as usize / Set::ALL.len(), number as usize % Set::ALL.len());
    let encoding = *Encoding::ALL.get(encoding).ok_or(Fault::Set)?;
    Ok(CpuRows::new(engine.clone(), Parameters { set: Set::ALL[set], encoding }))
}
