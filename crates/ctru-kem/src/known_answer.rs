//! A test of the computation itself, for programs that run it before they use a parameter set.

use sha3::Sha3_256;
use sha3::digest::{FixedOutputReset, Update};
use thiserror::Error;

use crate::description::Description;
use crate::hash::SEED_BYTES;
use crate::keys::DecapsulationKey;
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
    Description::of::<P>().known_answer_test()
}

impl Parameters {
    /// Does the [known-answer test](known_answer_test) of these parameters.
    ///
    /// # Errors
    /// [`WrongAnswer`] if a result differs.
    pub fn known_answer_test(self) -> Result<(), WrongAnswer> {
        self.description().known_answer_test()
    }
}

impl Description {
    fn known_answer_test(&self) -> Result<(), WrongAnswer> {
        if (self.operations.known_answer)() == self.known_answer {
            Ok(())
        } else {
            Err(WrongAnswer { set: self.name })
        }
    }
}

/// Returns the first half of the SHA3-256 hash of the results, as a big-endian number.
pub(crate) fn answer<P: ParameterSet>() -> u128 {
    let key = DecapsulationKey::<P>::generate_deterministic(&[1; SEED_BYTES], &[2; SEED_BYTES]);
    let public = key.encapsulation_key();
    let (mut ciphertext, sent) = public.encapsulate_deterministic(&[3; SEED_BYTES]);
    let received = key.decapsulate(&ciphertext);
    let mut hash = Sha3_256::default();
    for result in [public.as_bytes(), key.as_bytes(), ciphertext.as_bytes()] {
        hash.update(result);
    }
    ciphertext.as_mut_bytes()[0] ^= 1;
    for secret in [sent, received, key.decapsulate(&ciphertext)] {
        hash.update(secret.as_bytes());
    }
    let hash: [u8; 32] = hash.finalize_fixed_reset().into();
    u128::from_be_bytes(*hash.first_chunk().expect("16 of 32 bytes"))
}
