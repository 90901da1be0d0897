//! The hash functions (specification, section 6).

use sha3::{Digest, Sha3_512};
use shake::Shake256;
use shake::digest::{ExtendableOutput, Update, XofReader};

/// Returns `SHAKE256(input, bytes)`.
pub(crate) fn shake256(input: &[u8], bytes: usize) -> Vec<u8> {
    let mut hasher = Shake256::default();
    hasher.update(input);
    let mut output = vec![0; bytes];
    hasher.finalize_xof().read(&mut output);
    output
}

/// Returns the 64 bytes of `SHA3-512` of the concatenation of the parts.
pub(crate) fn sha3_512(parts: &[&[u8]]) -> Vec<u8> {
    Sha3_512::digest(parts.concat()).to_vec()
}

/// Returns `ID(pk)`.
pub(crate) fn id(pk: &[u8]) -> &[u8] {
    &pk[..33]
}

#[test]
fn hashes_of_the_empty_string() {
    assert_eq!(const_hex::encode(shake256(&[], 8)), "46b9dd2b0ba88d13");
    assert_eq!(const_hex::encode(&sha3_512(&[])[..8]), "a69f73cca23a9ac5");
}

#[test]
fn bytes_of_input() {
    use crate::parameters::COLUMNS;
    assert_eq!(COLUMNS.each_ref().map(|p| 33 + p.message_bytes()), [73, 80, 112]);
    assert_eq!(COLUMNS.each_ref().map(|p| 33 + 32 + p.ciphertext_bytes()), [963, 1017, 1662]);
}
