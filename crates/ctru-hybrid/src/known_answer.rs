//! A test of the computation itself, for programs that run it before they use a parameter set.

use ctru_kem::WrongAnswer;
use sha3::Sha3_256;
use sha3::digest::{FixedOutputReset, Update};

use crate::keys::{Ciphertext, DecapsulationKey};
use crate::params::{COIN_BYTES, DECAPSULATION_KEY_BYTES, ParameterSet};

/// Generates a key, encapsulates, decapsulates, and decapsulates an altered ciphertext, from fixed
/// bytes. Compares a hash of all results with a constant, after the test of CTRU-Prime alone.
///
/// A program calls this once before it first uses a set. It takes as long as eight operations.
///
/// # Errors
/// [`WrongAnswer`] if a result differs. The machine or the build is faulty then, so nothing else
/// that it computes can be trusted.
pub fn known_answer_test<P: ParameterSet>() -> Result<(), WrongAnswer> {
    ctru_kem::known_answer_test::<P::Ctru>()?;
    match P::KNOWN_ANSWER {
        Some(known) if known != answer::<P>() => Err(WrongAnswer { set: P::NAME }),
        _ => Ok(()),
    }
}

/// Returns the first half of the SHA3-256 hash of the results, as a big-endian number.
fn answer<P: ParameterSet>() -> u128 {
    let key = DecapsulationKey::<P>::generate_deterministic(&[1; DECAPSULATION_KEY_BYTES]);
    let public = key.encapsulation_key();
    let mut coins = [2; COIN_BYTES];
    coins[COIN_BYTES / 2..].fill(3);
    let (ciphertext, sent) = public.encapsulate_deterministic(&coins);
    let received = key.decapsulate(&ciphertext);
    let mut altered = *ciphertext.as_array();
    altered.as_mut()[0] ^= 1;
    let altered = Ciphertext::from_bytes(altered.as_ref()).expect("the length is right");
    let rejected = key.decapsulate(&altered);

    let mut hash = Sha3_256::default();
    for result in [public.as_ref(), key.as_ref(), ciphertext.as_ref()] {
        hash.update(result);
    }
    for secret in [sent, received, rejected] {
        hash.update(secret.as_ref());
    }
    let hash: [u8; 32] = hash.finalize_fixed_reset().into();
    u128::from_be_bytes(*hash.first_chunk().expect("16 of 32 bytes"))
}
