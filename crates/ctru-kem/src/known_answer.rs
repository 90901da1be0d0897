//! A test of the computation itself, for programs that run it before they use a parameter set.

use thiserror::Error;

use crate::parameters::Parameters;
use crate::params::ParameterSet;

/// The operations of a parameter set gave other results than those that are known to be right.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[error("this machine or this build computes {set} wrongly: the known-answer test failed")]
pub struct WrongAnswer {
    /// The [name](ParameterSet::NAME) of the parameter set.
    pub set: &'static str,
}

/// Generates a key, encapsulates, decapsulates, and decapsulates an altered ciphertext, from fixed
/// seeds and with the backend of the other operations. Compares a hash of all results with a
/// constant.
///
/// A program calls this once before it first uses a set. It takes as long as four operations.
///
/// ```
/// ctru_kem::known_answer_test::<ctru_kem::CtruPrime761>()?;
/// # Ok::<(), ctru_kem::WrongAnswer>(())
/// ```
///
/// # Errors
/// [`WrongAnswer`] if a result differs. The machine or the build is faulty then, so nothing else
/// that it computes can be trusted.
pub fn known_answer_test<P: ParameterSet>() -> Result<(), WrongAnswer> {
    if P::known_answer() == P::KNOWN_ANSWER { Ok(()) } else { Err(WrongAnswer { set: P::NAME }) }
}

impl Parameters {
    /// Does the [known-answer test](known_answer_test) of these parameters.
    ///
    /// # Errors
    /// [`WrongAnswer`] if a result differs.
    pub fn known_answer_test(self) -> Result<(), WrongAnswer> {
        with_parameters!(self, P => known_answer_test::<P>())
    }
}
