//! Assembles private keys, one warp per key.

use ctru_math::Ring;

use super::hash::packed_group;
use super::{Parts, public_key_bytes};
use crate::descriptor::{Batch, Shape};
use crate::kernels::keys::{KEYS, own_key};
use crate::kernels::{ID_BYTES, SEED_WORDS, four_bytes, low_bits, warp};
use crate::simt::{Simt, WARP};

/// Returns the block shape: two keys per block, one per warp.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Shape::new(KEYS * WARP, KEYS, KEYS * string_bytes(public_key_bytes::<R>()))
}

/// Returns the number of bytes of shared memory of a warp. The longest part of a key is the public
/// key. After a part there is room for the zeros that [`warp::shift_bytes`] writes.
const fn string_bytes(encoded: u32) -> u32 {
    (encoded + 3).next_multiple_of(16)
}

/// Assembles private keys.
///
/// Threads: one warp per key.
/// Arrays: `f` and `inverses`, rows of `degree` signed bytes and as many others as make a multiple
/// of 8; `public`, rows of `encoded` bytes, whose total length is a multiple of 4 bytes; `ids`,
/// rows of [`ID_BYTES`] bytes, which begin with the hashes of the public keys; `rho`, rows of
/// [`rho_words`](super::draw::rho_words); `keys`, rows of
/// [`private_key_bytes`](super::private_key_bytes).
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
    degree: u32,
    encoded: u32,
) {
    let Some(key) = own_key(s, batch) else { return };
    let parts = Parts { packed: degree.div_ceil(4), encoded };
    let (start, string) = (key * parts.bytes(), s.warp() * string_bytes(encoded));
    let write = |place, bytes| {
        s.sync_warp();
        warp::shift_bytes(s, string, keys, start + place, bytes);
        s.sync_warp();
    };
    let groups = degree.div_ceil(8);
    let write_small = |small: S::Global<u8>, place| {
        warp::transfer(
            s,
            groups,
            |i| s.load(s.cast::<u8, u64>(small), key * groups + i),
            |i, group| {
                // Clears the bits of what follows coefficient `n - 1`.
                let inside = low_bits(2 * (degree - 8 * i).min(8));
                s.store_shared(string + 2 * i, packed_group(group) & inside as u16);
            },
        );
        write(place, parts.packed);
    };
    write_small(f, 0);
    write_small(inverses, parts.g_inverse());
    let (first, end) = (key * encoded, (key + 1) * encoded);
    warp::transfer(
        s,
        encoded.div_ceil(4),
        |i| four_bytes(s, public, first + 4 * i, end),
        |i, word| s.store_shared(string + 4 * i, word),
    );
    write(parts.public(), encoded);
    let words = parts.packed.div_ceil(8);
    warp::transfer(
        s,
        words,
        |i| s.load(rho, key * words + i),
        |i, word| s.store_shared(string + 8 * i, word),
    );
    s.sync_warp();
    warp::for_each(s, 8 * SEED_WORDS, |i| {
        s.store_shared(string + parts.packed + i, s.load::<u8>(ids, key * ID_BYTES + i));
    });
    write(parts.rho(), parts.packed + 8 * SEED_WORDS);
}
