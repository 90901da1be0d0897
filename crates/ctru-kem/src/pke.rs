//! The public-key encryption under the KEM (paper, Algorithms 1 to 3): polynomials in, polynomials out.

use ctru_math::product::residue;
use ctru_math::sample::{sample, sample_secret};
use ctru_math::{Poly, Ring, RoundedPoly, SmallPoly, codec, compress, e8};
use zeroize::Zeroizing;

use crate::hash::{self, Bytes};
use crate::params::SEED_BYTES;

/// The secret `f = 2 f' + 1` and the numerator `g` of a key pair's `h = g / f`.
pub(crate) fn sample_key<R: Ring>(seed: &[u8; SEED_BYTES]) -> (SmallPoly<R>, SmallPoly<R>) {
    let mut output = hash::shake256(&[seed]);
    let f = sample_secret(&hash::read::<R::CoinBytes>(&mut output).array);
    let g = sample(&hash::read::<R::CoinBytes>(&mut output).array);
    (f, g)
}

/// Encrypts `message` with the coins of `seed`, which are `SHAKE256(seed)`.
pub(crate) fn encrypt<R: Ring>(
    h: &Poly<R>,
    message: &R::MessageBytes,
    seed: &[u8; SEED_BYTES],
) -> R::CiphertextBytes {
    let r = sample(&hash::read::<R::CoinBytes>(&mut hash::shake256(&[seed])).array);
    let sigma = residue::mul_small(h, &r);
    codec::bits::pack_rounded::<R>(&compress::compress_with_message(&sigma, message))
}

/// Decrypts with the secret polynomial.
pub(crate) fn decrypt<R: Ring>(
    f: &SmallPoly<R>,
    ciphertext: &R::CiphertextBytes,
) -> Zeroizing<Bytes<R::MessageBytes>> {
    let c: RoundedPoly<R> = codec::bits::unpack_rounded(ciphertext);
    Zeroizing::new(Bytes { array: e8::decode(&residue::mul_rounded(&c, f)) })
}
