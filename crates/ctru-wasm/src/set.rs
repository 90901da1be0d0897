//! The parameter sets by number, as JavaScript names them.

use std::sync::OnceLock;

use ctru_kem::engine::{CpuEngine, CpuRows, RowEngine};
use ctru_kem::{CtruPrime653, CtruPrime761, CtruPrime1277, Packed13, ParameterSet};

use crate::fault::Fault;

/// Returns the engine of the set with a number: 653, 761 and 1277 in mixed-radix encoding are 0 to
/// 2, and with 13 bits per coefficient they are 3 to 5.
///
/// # Errors
/// [`Fault::Set`] if no set has the number.
pub(crate) fn engine(number: u32) -> Result<&'static dyn RowEngine, Fault> {
    fn of<P: ParameterSet>(engine: &CpuEngine) -> Box<dyn RowEngine> {
        Box::new(CpuRows::<P>::new(engine.clone()))
    }
    static ENGINES: OnceLock<[Box<dyn RowEngine>; 6]> = OnceLock::new();
    let engines = ENGINES.get_or_init(|| {
        let engine = CpuEngine::with_threads(1).expect("the calling thread does the work");
        [
            of::<CtruPrime653>(&engine),
            of::<CtruPrime761>(&engine),
            of::<CtruPrime1277>(&engine),
            of::<CtruPrime653<Packed13>>(&engine),
            of::<CtruPrime761<Packed13>>(&engine),
            of::<CtruPrime1277<Packed13>>(&engine),
        ]
    });
    engines.get(number as usize).map(|engine| &**engine).ok_or(Fault::Set)
}
