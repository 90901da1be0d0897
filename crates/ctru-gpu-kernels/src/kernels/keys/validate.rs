//! Decodes rows of bytes that may not be keys, and says what is wrong with each.
//!
//! The checks accept exactly the rows that [`secret_poly::unpack`] and the decoders of public keys
//! accept, except that `h` must not be 0. Which instructions run and which addresses they access
//! does not depend on any row.
//!
//! # Faults
//!
//! The result for a key is a word of flags, which is 0 if the row is a key:
//!
//! | bits | fault |
//! |---|---|
//! | 0 | [`SECRET_POLYNOMIAL`]: no key has these nibbles of `f` |
//! | 1 | [`NOT_CANONICAL`]: the string of `h` is not an encoding; packed13: padding bits are set |
//! | 2 | [`ZERO`]: all coefficients of `h` are 0 |
//! | 3 | [`WRONG_HASH`]: NTRU Prime: the hash is not that of the public key |
//! | 16 to 31 | [`COEFFICIENT`]: the lowest exponent whose coefficient is not below `q`, plus 1 |
//!
//! [`secret_poly::unpack`]: ctru_math::codec::secret_poly::unpack

use ctru_math::Ring;

use super::{Encoding, decode_public, list, secret_bytes, unpack_secret};
use crate::kernels::{ID_BYTES, warp};
use crate::simt::{Simt, WARP};

/// The nibbles of `f` are not those of a secret polynomial.
pub const SECRET_POLYNOMIAL: u64 = 1;
/// The string of `h` is not the encoding of the polynomial to which it decodes.
pub const NOT_CANONICAL: u64 = 2;
/// The polynomial `h` is 0.
pub const ZERO: u64 = 4;
/// The hash in a private key of NTRU Prime is not that of the public key in it.
pub const WRONG_HASH: u64 = 8;
/// The position of the lowest exponent whose coefficient is `q` or more, plus 1.
pub const COEFFICIENT: u32 = 16;

/// Decodes and checks public key `key`.
#[inline(always)]
pub(crate) fn validate_public<S: Simt, R: Ring, E: Encoding<R>>(
    s: S,
    keys: S::Global<u8>,
    h: S::Global<u16>,
    ids: S::Global<u8>,
    faults: S::Global<u64>,
    key: u32,
) {
    let id = |i, byte| s.store(ids, key * ID_BYTES + i, byte);
    let excess = decode_public::<S, R, E>(s, (keys, key * E::BYTES), h, key, id);
    store_faults::<S, R>(s, excess, 0, (faults, key));
}

/// Decodes and checks secret key `key`.
#[expect(clippy::too_many_arguments, reason = "the arrays of a kernel are its arguments")]
#[inline(always)]
pub(crate) fn validate_secret<S: Simt, R: Ring, E: Encoding<R>>(
    s: S,
    keys: S::Global<u8>,
    f: S::Global<u8>,
    h: S::Global<u16>,
    ids: S::Global<u8>,
    z: S::Global<u64>,
    faults: S::Global<u64>,
    key: u32,
) {
    let excess = unpack_secret::<S, R, E>(s, keys, f, h, ids, z, key);
    let secret = secret_fault::<S, R>(s, keys, key * secret_bytes::<R, E>());
    store_faults::<S, R>(s, excess, secret, (faults, key));
}

/// Checks nibbles of `f`, whose string begins at byte `start`. The results of all threads are 0 if
/// these are the nibbles of a secret polynomial; otherwise at least one of them is 1.
#[inline(always)]
fn secret_fault<S: Simt, R: Ring>(s: S, keys: S::Global<u8>, start: u32) -> u32 {
    let last = R::SECRET_POLY_BYTES as u32 - 1;
    let largest = 4 * R::ETA + 1;
    // The highest bit of the result is 0 exactly for the odd numbers up to `largest`. The numbers
    // are below 2^31.
    let fault = |nibble: u32| (!nibble & 1) << 31 | largest.wrapping_sub(nibble);
    let mut all = 0;
    let mut first = 0;
    while first <= last {
        // Threads past the end check the last byte again, which needs no branch.
        let i = (first + s.lane()).min(last);
        let byte = u32::from(s.load(keys, start + i));
        let (low, high) = (byte & 15, byte >> 4);
        // The nibble of `f_0` is even and the others are odd.
        all |= fault(low + u32::from(i == 0));
        // `n` is odd, so the high nibble of the last byte has no coefficient and is 0. It becomes 1
        // if it is 0, else a number above `largest`.
        let is_last = u32::from(i == last);
        all |= fault((high << (4 * is_last)) + is_last);
        first += WARP;
    }
    all >> 31
}

/// Checks the list of coefficients that [`decode_public`] has left in shared memory with the result
/// `excess`, and stores the word of key `key`. The secret polynomial is at fault if `secret`
/// is 1 in any thread.
#[inline(always)]
fn store_faults<S: Simt, R: Ring>(
    s: S,
    excess: u32,
    secret: u32,
    (faults, key): (S::Global<u64>, u32),
) {
    let n = R::N as u32;
    let mut any = 0;
    let mut large = n;
    let mut first = 0;
    while first < n {
        // Threads past the end check the last coefficient again, which needs no branch.
        let i = (first + s.lane()).min(n - 1);
        let coefficient = u32::from(s.load_shared::<u16>(list::<S, R>(s) + 2 * i));
        any |= coefficient;
        // All bits are set if the coefficient is below `q`.
        let below = (coefficient.wrapping_sub(R::Q) as i32 >> 31) as u32;
        large = large.min(i | (below & n.next_power_of_two()));
        first += WARP;
    }
    // Bit 2 says for now that a coefficient is not 0.
    let flags = secret | is_not_zero(excess) << 1 | is_not_zero(any) << 2;
    let flags = u64::from(warp::reduce(s, flags, |a, b| a | b)) ^ ZERO;
    // The number becomes 0 if all coefficients are below `q`.
    let large = warp::reduce(s, large, u32::min);
    let large = (large + 1) & ((large.wrapping_sub(n) as i32 >> 31) as u32);
    if s.lane() == 0 {
        s.store(faults, key, flags | u64::from(large) << COEFFICIENT);
    }
}

const _: () = assert!(SECRET_POLYNOMIAL == 1 && NOT_CANONICAL == 1 << 1 && ZERO == 1 << 2);

/// Returns 0 if the number is 0, else 1.
#[inline(always)]
fn is_not_zero(number: u32) -> u32 {
    (number | number.wrapping_neg()) >> 31
}
