//! The results of fixed operations, which the known-answer test compares.

use core::array;

use ctru_math::array::Array;
use sha3::Sha3_256;
use sha3::digest::{FixedOutputReset, Update};

use crate::hash::SEED_BYTES;
use crate::scheme::{Scheme, SecretBytes, Types};

/// Generates a key, encapsulates, decapsulates, and decapsulates an altered ciphertext. Returns the
/// first half of the SHA3-256 hash of all results, as a big-endian number.
pub(crate) fn answer<P: Types>() -> u128 {
    let mut key = P::DecapsulationKeyBytes::zeroed();
    let mut ciphertext = P::CiphertextBytes::zeroed();
    P::Scheme::generate(&[1; SEED_BYTES], &[2; SEED_BYTES], key.as_mut());
    let private = P::Scheme::private(key.as_ref());
    let [mut sent, mut received, mut rejected]: [SecretBytes; 3] = Default::default();
    P::Scheme::encapsulate(
        [P::Scheme::public_of(&private)],
        [&[3; SEED_BYTES]],
        [ciphertext.as_mut()],
        array::from_mut(&mut sent),
    );
    P::Scheme::decapsulate([&private], [ciphertext.as_ref()], array::from_mut(&mut received));
    let mut hash = Sha3_256::default();
    let public = <P::Scheme as Scheme>::EncapsulationKeyBytes::LEN;
    for result in
        [&key.as_ref()[P::Scheme::SECRET_BYTES..][..public], key.as_ref(), ciphertext.as_ref()]
    {
        hash.update(result);
    }
    ciphertext.as_mut()[0] ^= 1;
    P::Scheme::decapsulate([&private], [ciphertext.as_ref()], array::from_mut(&mut rejected));
    for secret in [sent, received, rejected] {
        hash.update(&secret);
    }
    let hash: [u8; 32] = hash.finalize_fixed_reset().into();
    u128::from_be_bytes(*hash.first_chunk().expect("16 of 32 bytes"))
}
