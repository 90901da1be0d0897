//! The parameter sets by number, as JavaScript names them.

use std::sync::OnceLock;

use ctru_kem::engine::{CpuEngine, CpuRows, RowEngine};
use ctru_kem::{CtruPrime653, CtruPrime761, CtruPrime1277, Packed13, ParameterSet};

use crate::fault::Fault;

/// A parameter set with the sizes of its values.
pub(crate) struct Set {
    /// Bytes of an encapsulation key.
    pub(crate) encapsulation_key: usize,
    /// Bytes of a decapsulation key.
    pub(crate) decapsulation_key: usize,
    /// Bytes of a ciphertext.
    pub(crate) ciphertext: usize,
    /// The operations of the set.
    pub(crate) rows: Box<dyn RowEngine>,
}

impl Set {
    fn new<P: ParameterSet>(engine: &CpuEngine) -> Self {
        Self {
            encapsulation_key: P::ENCAPSULATION_KEY_BYTES,
            decapsulation_key: P::DECAPSULATION_KEY_BYTES,
            ciphertext: P::CIPHERTEXT_BYTES,
            rows: Box::new(CpuRows::<P>::new(engine.clone())),
        }
    }

    /// Returns the set with a number: 653, 761 and 1277 in mixed-radix encoding are 0 to 2, and
    /// with 13 bits per coefficient they are 3 to 5.
    ///
    /// # Errors
    /// [`Fault::Set`] if no set has the number.
    pub(crate) fn get(number: u32) -> Result<&'static Self, Fault> {
        static SETS: OnceLock<[Set; 6]> = OnceLock::new();
        let sets = SETS.get_or_init(|| {
            let engine = CpuEngine::with_threads(1).expect("the calling thread does the work");
            [
                Self::new::<CtruPrime653>(&engine),
                Self::new::<CtruPrime761>(&engine),
                Self::new::<CtruPrime1277>(&engine),
                Self::new::<CtruPrime653<Packed13>>(&engine),
                Self::new::<CtruPrime761<Packed13>>(&engine),
                Self::new::<CtruPrime1277<Packed13>>(&engine),
            ]
        });
        sets.get(number as usize).ok_or(Fault::Set)
    }
}
