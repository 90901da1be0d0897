//! A test of the computation itself, for programs that run it before they use a parameter set.

use sha3::Sha3_256;
use sha3::digest::{FixedOutputReset, Update};
use thiserror::Error;

use crate::description::{Description, Sizes};
use crate::hash::{SEED_BYTES, SHARED_SECRET_BYTES};
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
        if self.answer() == self.known_answer {
            Ok(())
        } else {
            Err(WrongAnswer { set: self.name })
        }
    }

    /// Returns the first half of the SHA3-256 hash of the results, as a big-endian number.
    fn answer(&self) -> u128 {
        let Self { sizes, operations, .. } = self;
        let (mut key, mut ciphertext) = ([0; Sizes::MOST], [0; Sizes::MOST]);
        let key = &mut key[..sizes.decapsulation_key];
        let ciphertext = &mut ciphertext[..sizes.ciphertext];
        let [mut sent, mut received, mut rejected] = [[0; SHARED_SECRET_BYTES]; 3];
        (operations.generate)(&[1; SEED_BYTES], &[2; SEED_BYTES], key);
        let public = &key[self.encapsulation_key.clone()];
        (operations.encapsulate)(public, &[3; SEED_BYTES], ciphertext, &mut sent);
        (operations.decapsulate)(key, ciphertext, &mut received);

        let mut hash = Sha3_256::default();
        for result in [public, &*key, &*ciphertext] {
            hash.update(result);
        }
        ciphertext[0] ^= 1;
        (operations.decapsulate)(key, ciphertext, &mut rejected);
        for secret in [sent, received, rejected] {
            hash.update(&secret);
        }
        let hash: [u8; 32] = hash.finalize_fixed_reset().into();
        u128::from_be_bytes(*hash.first_chunk().expect("16 of 32 bytes"))
    }
}
