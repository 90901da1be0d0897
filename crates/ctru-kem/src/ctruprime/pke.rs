//! The public-key encryption scheme on which the KEM is built (paper, Algorithms 1 to 3).

use ctru_math::mul::Multiplier;
use ctru_math::sample::{sample, sample_secret};
use ctru_math::{Arithmetic, Poly, RoundedPoly, SmallPoly, codec, compress, e8};

use crate::wipe::Secret;

/// The small polynomials of a key pair, whose encapsulation key is `h = g / f`.
pub(crate) struct KeyPolynomials<R: Arithmetic> {
    /// The secret polynomial, `f = 2 f' + 1`.
    pub(crate) f: SmallPoly<R>,
    /// The numerator of `h`.
    pub(crate) g: SmallPoly<R>,
}

impl<R: Arithmetic> KeyPolynomials<R> {
    /// Samples the polynomials of a key pair from the coins of `f'` and the coins of `g`
    /// (Algorithm 1, without the computation of `h`).
    pub(crate) fn sample([f, g]: &[Secret<R::CoinBytes>; 2]) -> Self {
        Self { f: sample_secret::<R>(f), g: sample::<R>(g) }
    }
}

/// Encrypts `message` with the polynomial `h` and `coins`, and writes `ciphertext` (Algorithm 2).
pub(crate) fn encrypt<R: Arithmetic>(
    multiplier: &mut Multiplier<R>,
    h: &Poly<R>,
    message: &R::MessageBytes,
    coins: &R::CoinBytes,
    ciphertext: &mut R::CiphertextBytes,
) {
    let sigma = multiplier.mul_small(h, &sample(coins));
    *ciphertext = codec::bits::pack_rounded::<R>(&compress::compress_with_message(sigma, message));
}

/// Decrypts `ciphertext` with the secret polynomial `f`, and writes `message` (Algorithm 3).
pub(crate) fn decrypt<R: Arithmetic>(
    multiplier: &mut Multiplier<R>,
    f: &SmallPoly<R>,
    ciphertext: &R::CiphertextBytes,
    message: &mut R::MessageBytes,
) {
    let mut product: RoundedPoly<R> = codec::bits::unpack_rounded(ciphertext);
    multiplier.mul_rounded(&mut product, f);
    e8::decode(&product, message);
}
