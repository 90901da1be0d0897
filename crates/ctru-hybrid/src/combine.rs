//! The hash that makes one shared secret of two.

use ctru_kem::{SHARED_SECRET_BYTES, SharedSecret};
use sha3::Sha3_256;
use sha3::digest::{FixedOutputReset, Update};
use zeroize::Zeroizing;

use crate::params::ParameterSet;

/// Returns SHA3-256 of `ctru || x25519 || ciphertext || encapsulation_key || label`.
///
/// The ciphertext and the encapsulation key are those of the hybrid, so each of them ends with the
/// public key of X25519. Both are part of the input because the secret of CTRU-Prime depends
/// neither on the ciphertext nor on more than 33 bytes of the key. All parts have a fixed length,
/// so they need no separators.
pub(crate) fn combine<P: ParameterSet>(
    ctru: &SharedSecret,
    x25519: &x25519_dalek::SharedSecret,
    ciphertext: &[u8],
    encapsulation_key: &[u8],
) -> SharedSecret {
    let mut hash = Sha3_256::default();
    hash.update(ctru.as_ref());
    hash.update(x25519.as_bytes());
    hash.update(ciphertext);
    hash.update(encapsulation_key);
    hash.update(P::LABEL.as_bytes());
    let mut secret = Zeroizing::new([0; SHARED_SECRET_BYTES]);
    // This call takes `hash` by reference. A move would leave a copy of its state in memory.
    hash.finalize_into_reset((&mut *secret).into());
    SharedSecret::from_bytes(&secret)
}
