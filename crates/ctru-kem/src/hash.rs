//! The hash functions of the scheme, with their input formats.

use ctru_math::array::Array;
use sha3::{Digest, Sha3_512};
use shake::{ExtendableOutput, Shake256, Update, XofReader};
use zeroize::{DefaultIsZeroes, Zeroizing};

use crate::params::{KEY_ID_BYTES, SEED_BYTES, SHARED_SECRET_BYTES};

/// `SHAKE256(parts)`, to be read in pieces.
pub(crate) fn shake256(parts: &[&[u8]]) -> impl XofReader + use<> {
    let mut shake = Shake256::default();
    for part in parts {
        Update::update(&mut shake, part);
    }
    shake.finalize_xof()
}

/// The next `A::LEN` bytes of an output, wiped when dropped.
pub(crate) fn read<A: Array<u8>>(output: &mut impl XofReader) -> Zeroizing<Bytes<A>> {
    let mut bytes = Zeroizing::new(Bytes::<A>::default());
    output.read(bytes.array.as_mut());
    bytes
}

/// `SHA3-512(ID(pk) || message)` as `(K, s)`: the shared secret and the seed of the encryption's coins.
pub(crate) fn secret_and_seed(
    id: &[u8; KEY_ID_BYTES],
    message: &[u8],
) -> (Zeroizing<[u8; SHARED_SECRET_BYTES]>, Zeroizing<[u8; SEED_BYTES]>) {
    let digest =
        Zeroizing::new(<[u8; 64]>::from(Sha3_512::new_with_prefix(id).chain_update(message).finalize()));
    let mut secret = Zeroizing::new([0; SHARED_SECRET_BYTES]);
    let mut seed = Zeroizing::new([0; SEED_BYTES]);
    secret.copy_from_slice(&digest[..SHARED_SECRET_BYTES]);
    seed.copy_from_slice(&digest[SHARED_SECRET_BYTES..]);
    (secret, seed)
}

/// The shared secret of a ciphertext that is rejected: the first half of `SHA3-512(ID(pk) || z || ciphertext)`.
pub(crate) fn rejection_secret(
    id: &[u8; KEY_ID_BYTES],
    z: &[u8; SEED_BYTES],
    ciphertext: &[u8],
) -> Zeroizing<[u8; SHARED_SECRET_BYTES]> {
    let hash = Sha3_512::new_with_prefix(id).chain_update(z).chain_update(ciphertext);
    let digest = Zeroizing::new(<[u8; 64]>::from(hash.finalize()));
    let mut secret = Zeroizing::new([0; SHARED_SECRET_BYTES]);
    secret.copy_from_slice(&digest[..SHARED_SECRET_BYTES]);
    secret
}

/// Bytes that [`Zeroizing`] can wipe.
#[derive(Copy, Clone)]
pub(crate) struct Bytes<A: Array<u8>> {
    pub(crate) array: A,
}

impl<A: Array<u8>> Default for Bytes<A> {
    fn default() -> Self {
        Self { array: A::zeroed() }
    }
}

impl<A: Array<u8>> DefaultIsZeroes for Bytes<A> {}
