//! Encodes keys, one warp per key.

use ctru_math::Ring;

use super::draw::rho_words;
use super::hash::packed_group;
use super::keys::Shifted;
use super::{parts, private_key_bytes, public_key_bytes};
use crate::descriptor::{Batch, Shape};
use crate::kernels::keys::{self, encode_public, own_key};
use crate::kernels::{ID_BYTES, SEED_WORDS, four_bytes, low_bits, row, warp};
use crate::simt::Simt;

/// Returns the block shape: two keys per block, one per warp.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    keys::shape::<R>()
}

/// Encodes public keys.
///
/// Threads: one warp per key.
/// Arrays: `h`, in `0..q`; `keys`, rows of [`public_key_bytes`].
#[inline(always)]
pub fn public_keys<S: Simt, R: Ring>(s: S, h: S::Global<u16>, keys: S::Global<u8>, batch: Batch) {
    if let Some(key) = own_key(s, batch) {
        encode_public::<S, R, Shifted>(s, h, key, (keys, key * public_key_bytes::<R>()));
    }
}

/// Assembles private keys.
///
/// Threads: one warp per key.
/// Arrays: `f` and `inverses`, signed bytes; `public`, rows of [`public_key_bytes`], whose total
/// length is a multiple of 4 bytes; `ids`, rows of [`ID_BYTES`] bytes, which begin with the hashes
/// of the public keys; `rho`, rows of [`rho_words`]; `keys`, rows of [`private_key_bytes`].
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the arrays of a kernel are its arguments")]
pub fn private_keys<S: Simt, R: Ring>(
    s: S,
    f: S::Global<u8>,
    inverses: S::Global<u8>,
    public: S::Global<u8>,
    ids: S::Global<u8>,
    rho: S::Global<u64>,
    keys: S::Global<u8>,
    batch: Batch,
) {
    let Some(key) = own_key(s, batch) else { return };
    let (start, parts) = (key * private_key_bytes::<R>(), parts::<R>());
    let (string, packed) = (keys::string::<S, R>(s), R::TERNARY_BYTES as u32);
    let write = |place, bytes| {
        s.sync_warp();
        warp::shift_bytes(s, string, keys, start + place, bytes);
        s.sync_warp();
    };
    for (small, place) in [(f, 0), (inverses, packed)] {
        warp::transfer(
            s,
            warp::groups(R::N),
            |i| s.load(s.cast::<u8, u64>(small), key * (row::<R>() / 8) + i),
            |i, group| {
                // Clears the bits of what follows coefficient `n - 1`.
                let inside = low_bits(2 * (R::N as u32 - 8 * i).min(8));
                s.store_shared(string + 2 * i, packed_group(group) & inside as u16);
            },
        );
        write(place, packed);
    }
    let bytes = public_key_bytes::<R>();
    let (first, end) = (key * bytes, (key + 1) * bytes);
    warp::transfer(
        s,
        bytes.div_ceil(4),
        |i| four_bytes(s, public, first + 4 * i, end),
        |i, word| s.store_shared(string + 4 * i, word),
    );
    write(parts.public, bytes);
    let words = rho_words::<R>();
    warp::transfer(
        s,
        words,
        |i| s.load(rho, key * words + i),
        |i, word| s.store_shared(string + 8 * i, word),
    );
    s.sync_warp();
    warp::for_each(s, 8 * SEED_WORDS, |i| {
        s.store_shared(string + packed + i, s.load::<u8>(ids, key * ID_BYTES + i));
    });
    write(parts.rho, packed + 8 * SEED_WORDS);
}
