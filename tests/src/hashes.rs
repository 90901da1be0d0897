//! Hashes of what tests compute, compiled with optimisation.

use sha3::{Digest, Sha3_256, Sha3_512};
use shake::{ExtendableOutput, Shake256, Update, XofReader};

/// Returns the first bytes of SHAKE256.
#[must_use]
pub fn shake256(input: &[u8], bytes: usize) -> Vec<u8> {
    let mut output = vec![0; bytes];
    Shake256::default().chain(input).finalize_xof().read(&mut output);
    output
}

/// Returns SHA3-256.
#[must_use]
pub fn sha3_256(input: &[u8]) -> [u8; 32] {
    Sha3_256::digest(input).into()
}

/// Returns SHA3-512.
#[must_use]
pub fn sha3_512(input: &[u8]) -> [u8; 64] {
    Sha3_512::digest(input).into()
}
