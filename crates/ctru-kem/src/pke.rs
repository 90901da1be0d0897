//! The public-key encryption under the KEM (paper, Algorithms 1 to 3): polynomials in, polynomials out.

use ctru_math::mul::Multiplier;
use ctru_math::sample::{sample, sample_secret};
use ctru_math::{Poly, Ring, RoundedPoly, SmallPoly, codec, compress, e8};

use crate::hash::{self, SEED_BYTES};

/// The secret `f = 2 f' + 1` and the numerator `g` of a key pair's `h = g / f`.
pub(crate) struct KeyPolynomials<R: Ring> {
    pub(crate) f: SmallPoly<R>,
    pub(crate) g: SmallPoly<R>,
}

/// The polynomials of key pairs' seeds.
pub(crate) fn sample_keys<R: Ring, const N: usize>(
    seeds: [&[u8; SEED_BYTES]; N],
) -> [KeyPolynomials<R>; N] {
    let coins = hash::key_coins::<R, N>(seeds);
    coins.each_ref().map(|[f, g]| KeyPolynomials { f: sample_secret::<R>(f), g: sample::<R>(g) })
}

/// Encrypts `message` with `coins` to `ciphertext`.
pub(crate) fn encrypt<R: Ring>(
    multiplier: &mut Multiplier<R>,
    h: &Poly<R>,
    message: &R::MessageBytes,
    coins: &R::CoinBytes,
    ciphertext: &mut R::CiphertextBytes,
) {
    let sigma = multiplier.mul_small(h, &sample(coins));
    *ciphertext = codec::bits::pack_rounded::<R>(&compress::compress_with_message(&sigma, message));
}

/// Decrypts to `message` with the secret polynomial.
pub(crate) fn decrypt<R: Ring>(
    multiplier: &mut Multiplier<R>,
    f: &SmallPoly<R>,
    ciphertext: &R::CiphertextBytes,
    message: &mut R::MessageBytes,
) {
    let c: RoundedPoly<R> = codec::bits::unpack_rounded(ciphertext);
    e8::decode(&multiplier.mul_rounded(&c, f), message);
}
