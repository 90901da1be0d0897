//! The parts of an encoded decapsulation key.

use ctru_math::array::Array;
use ctru_math::codec::secret_poly;
use ctru_math::mul::Multiplier;
use ctru_math::{Arithmetic, Poly, SmallPoly};

use super::pke::KeyPolynomials;
use crate::encoding::Encode;
use crate::scheme::{Seed, one};
use crate::wipe::{SPILLED, wipe, wipe_stack};

/// Returns the parts of a decapsulation key: the packed secret polynomial, the encapsulation key,
/// and the secret of implicit rejection.
pub(super) fn parts<R: Arithmetic, E: Encode>(
    key: &[u8],
) -> (&R::SecretPolyBytes, &E::Bytes<R>, &Seed) {
    let (f, rest) = key.split_at(R::SECRET_POLY_BYTES);
    let (encapsulation_key, z) = rest.split_at(E::Bytes::<R>::LEN);
    (one(f), one(encapsulation_key), one(z))
}

/// Writes the decapsulation key that consists of these parts to `key`.
pub(super) fn write_parts<R: Arithmetic>(
    key: &mut [u8],
    f: &SmallPoly<R>,
    encapsulation_key: &[u8],
    z: &Seed,
) {
    let (f_bytes, rest) = key.split_at_mut(R::SECRET_POLY_BYTES);
    let (h_bytes, z_bytes) = rest.split_at_mut(encapsulation_key.len());
    let mut packed = secret_poly::pack(f);
    f_bytes.copy_from_slice(packed.as_ref());
    wipe(packed.as_mut(), 0);
    wipe_stack::<SPILLED>();
    h_bytes.copy_from_slice(encapsulation_key);
    z_bytes.copy_from_slice(z);
}

/// Computes `h = g / f` from `inverse`, which is `1 / f`. Writes the decapsulation key of `f`, `h`
/// and `z` to `key`, and returns the encapsulation key, the encoding of `h`.
pub(super) fn assemble<R: Arithmetic, E: Encode>(
    multiplier: &mut Multiplier<R>,
    KeyPolynomials { f, g }: &KeyPolynomials<R>,
    inverse: &Poly<R>,
    z: &Seed,
    key: &mut [u8],
) -> E::Bytes<R> {
    let encapsulation_key = E::encode(multiplier.mul_small(inverse, g));
    write_parts(key, f, encapsulation_key.as_ref(), z);
    encapsulation_key
}
