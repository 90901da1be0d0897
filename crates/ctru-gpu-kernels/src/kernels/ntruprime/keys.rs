//! Converts private keys to arrays, one warp per key. Public keys have the encoding of
//! [`mixed_radix`].
//!
//! [`mixed_radix`]: crate::kernels::keys::mixed_radix

use core::cell::Cell;

use ctru_math::{NtruPrimeRing, Ring};

use super::Parts;
use super::hash::id_byte;
use crate::descriptor::{Batch, Shape};
use crate::kernels::keys::mixed_radix::MixedRadix;
use crate::kernels::keys::validate::SECRET_POLYNOMIAL;
use crate::kernels::keys::{self, decode_public, own_key};
use crate::kernels::product::operand::subtract_bytes;
use crate::kernels::{ID_BYTES, SEED_WORDS, low_bits, row, warp};
use crate::simt::Simt;

/// Returns the block shape: two keys per block, one per warp.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    keys::shape::<R>()
}

/// Splits private keys into their parts, except for what [`hash`](super::hash::private_keys)
/// reads, and checks the polynomials.
///
/// Threads: one warp per key.
/// Arrays: `keys`, rows of [`private_key_bytes`](super::private_key_bytes), whose total length is a
/// multiple of 4 bytes; `secrets`, two rows of signed bytes per key, `f` and `1/g`; `h`,
/// [numbers](super) in `0..q`; `ids`, rows of [`ID_BYTES`] bytes, the hash of the public key and a
/// zero; `faults`, one word per key, 0 or [`SECRET_POLYNOMIAL`].
#[inline(always)]
pub fn unpack<S: Simt, R: Ring>(
    s: S,
    keys: S::Global<u8>,
    secrets: S::Global<u8>,
    h: S::Global<u16>,
    ids: S::Global<u8>,
    faults: S::Global<u64>,
    batch: Batch,
) {
    let Some(key) = own_key(s, batch) else { return };
    let (start, parts) = (key * const { Parts::of::<R>().bytes() }, const { Parts::of::<R>() });
    let (f_fault, weight) = unpack_small::<S, R>(s, (keys, start), (secrets, 2 * key));
    let g_inverse = start + parts.g_inverse();
    let (g_fault, _) = unpack_small::<S, R>(s, (keys, g_inverse), (secrets, 2 * key + 1));
    // Strings that are not canonical are keys, too.
    let _ = decode_public::<S, R, MixedRadix>(s, (keys, start + parts.public()), h, key, |_, _| ());
    warp::for_each(s, ID_BYTES, |i| {
        let byte: u8 = s.load(keys, start + parts.hash() + i.min(8 * SEED_WORDS - 1));
        s.store(ids, ID_BYTES * key + i, id_byte(s, i, byte));
    });
    let fault = warp::reduce(s, f_fault | g_fault, |a, b| a | b);
    let weight = warp::reduce(s, weight, |a, b| a + b);
    let any = fault | weight ^ R::WEIGHT as u32;
    let any = (any | any.wrapping_neg()) >> 31;
    if s.lane() == 0 {
        s.store(faults, key, SECRET_POLYNOMIAL * u64::from(any));
    }
}

/// Unpacks the small polynomial that begins at byte `start` of `keys` and stores it as a row of an
/// array of signed bytes. Returns this thread's part of two numbers: one that is 0 if the bytes are
/// those of a small polynomial, and the number of coefficients that are not 0.
#[inline(always)]
fn unpack_small<S: Simt, R: NtruPrimeRing + Ring>(
    s: S,
    (keys, start): (S::Global<u8>, u32),
    (small, index): (S::Global<u8>, u32),
) -> (u32, u32) {
    const LOW_BITS: u32 = 0x5555;
    let (fault, weight) = (Cell::new(0), Cell::new(0));
    let last = R::TERNARY_BYTES as u32 - 1;
    warp::transfer(
        s,
        warp::groups(R::N),
        |i| {
            let [low, high]: [u8; 2] = [0, 1].map(|k| s.load(keys, start + (2 * i + k).min(last)));
            // The last group may have a single byte.
            u32::from(low) | if 2 * i < last { u32::from(high) << 8 } else { 0 }
        },
        |i, bits| {
            let inside = (R::N as u32 - 8 * i).min(8);
            fault.set(fault.get() | bits >> (2 * inside) | bits & bits >> 1 & LOW_BITS);
            // The bits are the coefficient plus 1.
            let zeros = (bits & LOW_BITS & low_bits(2 * inside)).count_ones();
            weight.set(weight.get() + inside - zeros);
            let spread = |b: u32| (b | b << 6 | b << 12 | b << 18) & 0x0303_0303;
            let [low, high] =
                [bits & 0xff, bits >> 8].map(|b| subtract_bytes(spread(b), 0x0101_0101));
            let group = u64::from(low) | u64::from(high) << 32;
            s.store(s.cast::<u8, u64>(small), index * (row::<R>() / 8) + i, group);
        },
    );
    (fault.get(), weight.get())
}
