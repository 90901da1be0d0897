//! Converts encoded keys to arrays and back, and checks them. There is one set of kernels per
//! encoding of public keys: [`mixed_radix`] and [`packed13`].
//!
//! One warp converts one key. Its part of shared memory holds the public key both as a string of
//! bytes and as a list of coefficients.

pub mod mixed_radix;
pub mod packed13;
pub mod validate;

use core::array;

use ctru_math::kernel::bits::{self, PUBLIC_KEY_WIDTH};
use ctru_math::{Ring, SmallPoly};

use crate::descriptor::{Batch, Shape};
use crate::kernels::product::operand::subtract_bytes;
use crate::kernels::{ID_BYTES, SEED_WORDS, eight_bytes, four_bytes, low_bits, row, warp};
use crate::simt::{Simt, U32x4, WARP};

/// An encoding of elements of `R_q`. Its functions run in one warp and convert between the byte
/// string at [`string`] and the [`list`] of coefficients, both in shared memory.
pub(crate) trait Encoding<R: Ring> {
    /// Length of the encoded polynomial in bytes.
    const BYTES: u32;

    /// Decodes the string and writes the list. The bytes after the string and the list from `n` on
    /// have no meaning. The caller puts a barrier before and after the call.
    ///
    /// The results of all threads are 0 if and only if the string is an encoding of the list,
    /// whose coefficients need not be below `q`.
    fn decode<S: Simt>(s: S) -> u32;

    /// Encodes the list and writes the string. The list has `n` coefficients in `0..q`, then zeros
    /// up to a multiple of 8. The caller puts a barrier before and after the call.
    fn encode<S: Simt>(s: S);
}

/// Coefficients in a group, which is loaded or stored at once.
const GROUP: u32 = bits::GROUP as u32;

/// Number of keys per block, one per warp. A multiprocessor holds at most 32 blocks. With two keys
/// each, shared memory has room for 28 of them for `n = 761`.
pub(crate) const KEYS: u32 = 2;

/// Returns the number of bytes reserved for the encoded key: whole groups with 13 bits per
/// coefficient. The other encoding is shorter.
const fn string_bytes<R: Ring>() -> u32 {
    (PUBLIC_KEY_WIDTH * warp::groups(R::N)).next_multiple_of(16)
}

/// Returns the number of bytes of a warp's part of shared memory, a multiple of 16.
const fn part_bytes<R: Ring>() -> u32 {
    (string_bytes::<R>() + 3 * row::<R>()).next_multiple_of(16)
}

/// Returns the address of the encoded key of this warp in shared memory, a multiple of 16.
#[inline(always)]
pub(crate) fn string<S: Simt, R: Ring>(s: S) -> u32 {
    part_bytes::<R>() * s.warp()
}

/// Returns the address of the list of coefficients of this warp's key in shared memory, a multiple
/// of 16.
#[inline(always)]
pub(crate) fn list<S: Simt, R: Ring>(s: S) -> u32 {
    string::<S, R>(s) + string_bytes::<R>()
}

/// Returns the address of this warp's second list in shared memory, with half as many 16-bit
/// values.
#[inline(always)]
pub(crate) fn half_list<S: Simt, R: Ring>(s: S) -> u32 {
    list::<S, R>(s) + 2 * row::<R>()
}

/// Returns the block shape: two keys per block, one per warp.
pub(crate) const fn shape<R: Ring>() -> Shape {
    Shape::new(KEYS * WARP, KEYS, KEYS * part_bytes::<R>())
}

/// Returns the key of this thread's warp, or `None` if the batch ends before it.
#[inline(always)]
pub(crate) fn own_key<S: Simt>(s: S, batch: Batch) -> Option<u32> {
    let key = KEYS * s.block() + warp::number(s);
    (key < batch.operations()).then_some(key)
}

/// Decodes the public key that begins at byte `start` of `keys` and stores it as row `key` of `h`.
/// Calls `id(i, byte)` for each byte `i` of the key's first [`ID_BYTES`] bytes. Leaves the list of
/// coefficients in shared memory, and returns what [`Encoding::decode`] returns.
#[inline(always)]
pub(crate) fn decode_public<S: Simt, R: Ring, E: Encoding<R>>(
    s: S,
    (keys, start): (S::Global<u8>, u32),
    h: S::Global<u16>,
    key: u32,
    id: impl Fn(u32, u8),
) -> u32 {
    warp::transfer(
        s,
        string_bytes::<R>() / 4,
        |i| match 4 * i < E::BYTES {
            true => four_bytes(s, keys, start + 4 * i, start + E::BYTES),
            false => 0,
        },
        |i, word| s.store_shared(string::<S, R>(s) + 4 * i, word),
    );
    s.sync_warp();
    warp::for_each(s, ID_BYTES, |i| id(i, s.load_shared(string::<S, R>(s) + i)));
    let excess = E::decode(s);
    s.sync_warp();
    // What follows coefficient `n - 1` in the list is not stored.
    let (whole, rest) = (R::N as u32 / GROUP, R::N as u32 % GROUP);
    warp::transfer(
        s,
        whole,
        |i| s.load_shared::<U32x4>(list::<S, R>(s) + 2 * GROUP * i),
        |i, group| s.store(s.cast::<u16, U32x4>(h), key * (row::<R>() / GROUP) + i, group),
    );
    if s.lane() < rest {
        let i = GROUP * whole + s.lane();
        s.store(h, key * row::<R>() + i, s.load_shared::<u16>(list::<S, R>(s) + 2 * i));
    }
    excess
}

/// Encodes row `key` of `h` and stores the bytes in `keys` from byte `start` on.
#[inline(always)]
pub(crate) fn encode_public<S: Simt, R: Ring, E: Encoding<R>>(
    s: S,
    h: S::Global<u16>,
    key: u32,
    (keys, start): (S::Global<u8>, u32),
) {
    let groups = row::<R>() / GROUP;
    warp::transfer(
        s,
        groups,
        |i| s.load(s.cast::<u16, U32x4>(h), key * groups + i),
        |i, U32x4(pairs)| {
            // Clears the coefficients from `n` on.
            let inside = |k: usize| (R::N % bits::GROUP).saturating_sub(2 * k).min(2) as u32;
            let is_full = i < R::N as u32 / GROUP;
            let mask = |k: usize| if is_full { u32::MAX } else { low_bits(16 * inside(k)) };
            let pairs = array::from_fn(|k| pairs[k] & mask(k));
            s.store_shared(list::<S, R>(s) + 2 * GROUP * i, U32x4(pairs));
        },
    );
    s.sync_warp();
    E::encode(s);
    s.sync_warp();
    const { assert!(E::BYTES + 3 <= string_bytes::<R>()) };
    warp::shift_bytes(s, string::<S, R>(s), keys, start, E::BYTES);
}

/// Returns the number of bytes in a secret key.
pub(crate) const fn secret_bytes<R: Ring, E: Encoding<R>>() -> u32 {
    R::SECRET_POLY_BYTES as u32 + E::BYTES + 8 * SEED_WORDS
}

/// Decodes the secret polynomial that begins at byte `start` of `keys` and stores it as row `key`
/// of `f`.
#[inline(always)]
pub(crate) fn decode_secret<S: Simt, R: Ring>(
    s: S,
    (keys, start): (S::Global<u8>, u32),
    f: S::Global<u8>,
    key: u32,
) {
    let bound = 0x0101_0101 * SmallPoly::<R>::BOUND;
    let end = start + R::SECRET_POLY_BYTES as u32;
    warp::transfer(
        s,
        row::<R>() / GROUP,
        |i| four_bytes(s, keys, start + 4 * i, end),
        |i, nibbles| {
            let [even, odd] = [0, 4].map(|shift| nibbles >> shift & 0x0f0f_0f0f);
            let half = |places| u64::from(subtract_bytes(bound, s.byte_permute(even, odd, places)));
            let group = half(0x5140) | half(0x7362) << 32;
            // Clears the bytes from `n` on.
            let inside = (R::N as u32 - GROUP * i).min(GROUP);
            let group = group & u64::MAX >> (8 * (GROUP - inside));
            s.store(s.cast::<u8, u64>(f), key * (row::<R>() / GROUP) + i, group);
        },
    );
}

/// Decodes secret key `key`. A secret key consists of the secret polynomial `f`, the public key,
/// which [`decode_public`] reads, and `z`. Returns what [`decode_public`] returns.
#[inline(always)]
pub(crate) fn unpack_secret<S: Simt, R: Ring, E: Encoding<R>>(
    s: S,
    keys: S::Global<u8>,
    f: S::Global<u8>,
    h: S::Global<u16>,
    ids: S::Global<u8>,
    z: S::Global<u64>,
    key: u32,
) -> u32 {
    let start = key * secret_bytes::<R, E>();
    decode_secret::<S, R>(s, (keys, start), f, key);
    let start = start + R::SECRET_POLY_BYTES as u32;
    let id = |i, byte| s.store(ids, key * ID_BYTES + i, byte);
    let excess = decode_public::<S, R, E>(s, (keys, start), h, key, id);
    let start = start + E::BYTES;
    warp::transfer(
        s,
        SEED_WORDS,
        |i| eight_bytes(s, keys, start + 8 * i, start + 8 * SEED_WORDS),
        |i, word| s.store(z, key * SEED_WORDS + i, word),
    );
    excess
}

/// Encodes row `key` of `f` and stores the bytes in `keys` from byte `start` on. Leaves them in the
/// place of the string in shared memory.
#[inline(always)]
fn encode_secret<S: Simt, R: Ring>(
    s: S,
    f: S::Global<u8>,
    key: u32,
    (keys, start): (S::Global<u8>, u32),
) {
    let groups = row::<R>() / GROUP;
    // The bound in the low half of each byte, and 1 in the other half for the subtraction.
    let bound = 0x1010_1010 + 0x0101_0101 * SmallPoly::<R>::BOUND;
    warp::transfer(
        s,
        groups,
        |i| s.load(s.cast::<u8, u64>(f), key * groups + i),
        |i, group| {
            let [low, high] = [0, 32].map(|shift| {
                let nibbles = (bound - ((group >> shift) as u32 & 0x0f0f_0f0f)) & 0x0f0f_0f0f;
                nibbles | nibbles >> 4
            });
            // Clears the nibbles from `n` on.
            let inside = (R::N as u32 - GROUP * i).min(GROUP);
            let packed = s.byte_permute(low, high, 0x6420) & u32::MAX >> (4 * (GROUP - inside));
            s.store_shared(string::<S, R>(s) + 4 * i, packed);
        },
    );
    s.sync_warp();
    warp::shift_bytes(s, string::<S, R>(s), keys, start, R::SECRET_POLY_BYTES as u32);
}

/// Encodes secret key `key` in the format that [`unpack_secret`] reads.
#[inline(always)]
pub(crate) fn pack_secret<S: Simt, R: Ring, E: Encoding<R>>(
    s: S,
    f: S::Global<u8>,
    h: S::Global<u16>,
    z: S::Global<u64>,
    keys: S::Global<u8>,
    key: u32,
) {
    let start = key * secret_bytes::<R, E>();
    encode_secret::<S, R>(s, f, key, (keys, start));
    s.sync_warp();
    let start = start + R::SECRET_POLY_BYTES as u32;
    encode_public::<S, R, E>(s, h, key, (keys, start));
    let start = start + E::BYTES;
    warp::transfer(
        s,
        8 * SEED_WORDS,
        |i| (s.load(z, key * SEED_WORDS + i / 8) >> (8 * (i % 8))) as u8,
        |i, byte| s.store(keys, start + i, byte),
    );
}

/// Defines the kernels for one encoding of public keys.
macro_rules! key_kernels {
    ($encoding:ident) => {
        /// Returns the block shape: two keys per block, one per warp.
        #[must_use]
        pub const fn shape<R: Ring>() -> $crate::descriptor::Shape {
            $crate::kernels::keys::shape::<R>()
        }

        /// Returns the number of bytes in a public key.
        #[must_use]
        pub const fn public_key_bytes<R: Ring>() -> u32 {
            <$encoding as Encoding<R>>::BYTES
        }

        /// Returns the number of bytes in a secret key.
        #[must_use]
        pub const fn secret_key_bytes<R: Ring>() -> u32 {
            $crate::kernels::keys::secret_bytes::<R, $encoding>()
        }

        /// Decodes public keys. Their encodings must be canonical.
        ///
        /// Threads: one warp per key.
        /// Shared memory: the encoded key, the list of coefficients, and a list of half its length.
        /// Arrays: `keys`, rows of [`public_key_bytes`], whose total length is a multiple of 4
        /// bytes; `h`, in `0..q`; `ids`, rows of [`ID_BYTES`](crate::kernels::ID_BYTES) bytes.
        #[inline(always)]
        pub fn decode<S: Simt, R: Ring>(
            s: S,
            keys: S::Global<u8>,
            h: S::Global<u16>,
            ids: S::Global<u8>,
            batch: $crate::descriptor::Batch,
        ) {
            if let Some(key) = $crate::kernels::keys::own_key(s, batch) {
                let start = key * <$encoding as Encoding<R>>::BYTES;
                let id = |i, byte| s.store(ids, key * $crate::kernels::ID_BYTES + i, byte);
                // The result is unused, because the keys have been checked.
                let _ = $crate::kernels::keys::decode_public::<S, R, $encoding>(
                    s,
                    (keys, start),
                    h,
                    key,
                    id,
                );
            }
        }

        /// Encodes public keys.
        ///
        /// Threads and shared memory: as for [`decode`].
        /// Arrays: `h`, in `0..q`; `keys`, rows of [`public_key_bytes`].
        #[inline(always)]
        pub fn encode<S: Simt, R: Ring>(
            s: S,
            h: S::Global<u16>,
            keys: S::Global<u8>,
            batch: $crate::descriptor::Batch,
        ) {
            if let Some(key) = $crate::kernels::keys::own_key(s, batch) {
                let start = key * <$encoding as Encoding<R>>::BYTES;
                $crate::kernels::keys::encode_public::<S, R, $encoding>(s, h, key, (keys, start));
            }
        }

        /// Splits secret keys into their parts. The keys must be valid.
        ///
        /// Threads and shared memory: as for [`decode`].
        /// Arrays: `keys`, rows of [`secret_key_bytes`], whose total length is a multiple of 4
        /// bytes; `f`, signed bytes, and zeros from `n` on; `h` and `ids` as for [`decode`]; `z`,
        /// rows of [`SEED_WORDS`](crate::kernels::SEED_WORDS) words.
        #[inline(always)]
        pub fn unpack_secret_key<S: Simt, R: Ring>(
            s: S,
            keys: S::Global<u8>,
            f: S::Global<u8>,
            h: S::Global<u16>,
            ids: S::Global<u8>,
            z: S::Global<u64>,
            batch: $crate::descriptor::Batch,
        ) {
            if let Some(key) = $crate::kernels::keys::own_key(s, batch) {
                // As for `decode`.
                let _ = $crate::kernels::keys::unpack_secret::<S, R, $encoding>(
                    s, keys, f, h, ids, z, key,
                );
            }
        }

        /// Assembles secret keys from their parts.
        ///
        /// Threads and shared memory: as for [`decode`].
        /// Arrays: `keys`, rows of [`secret_key_bytes`]; the others as for [`unpack_secret_key`].
        #[inline(always)]
        pub fn pack_secret_key<S: Simt, R: Ring>(
            s: S,
            f: S::Global<u8>,
            h: S::Global<u16>,
            z: S::Global<u64>,
            keys: S::Global<u8>,
            batch: $crate::descriptor::Batch,
        ) {
            if let Some(key) = $crate::kernels::keys::own_key(s, batch) {
                $crate::kernels::keys::pack_secret::<S, R, $encoding>(s, f, h, z, keys, key);
            }
        }

        /// Decodes public keys that may be any bytes, and checks them.
        ///
        /// Threads and shared memory: as for [`decode`].
        /// Arrays: `keys`, `h` and `ids` as for [`decode`], `h` and `ids` without a meaning for a
        /// row that is no key; `faults`, one word of
        /// [`validate`](crate::kernels::keys::validate) per key, 0 for a key.
        #[inline(always)]
        pub fn validate<S: Simt, R: Ring>(
            s: S,
            keys: S::Global<u8>,
            h: S::Global<u16>,
            ids: S::Global<u8>,
            faults: S::Global<u64>,
            batch: $crate::descriptor::Batch,
        ) {
            if let Some(key) = $crate::kernels::keys::own_key(s, batch) {
                $crate::kernels::keys::validate::validate_public::<S, R, $encoding>(
                    s, keys, h, ids, faults, key,
                );
            }
        }

        /// Splits secret keys that may be any bytes into their parts, and checks them.
        ///
        /// Threads and shared memory: as for [`decode`].
        /// Arrays: `keys`, `f`, `h`, `ids` and `z` as for [`unpack_secret_key`], without a meaning
        /// for a row that is no key; `faults` as for [`validate`].
        #[inline(always)]
        #[expect(clippy::too_many_arguments, reason = "the arrays of a kernel are its arguments")]
        pub fn validate_secret_key<S: Simt, R: Ring>(
            s: S,
            keys: S::Global<u8>,
            f: S::Global<u8>,
            h: S::Global<u16>,
            ids: S::Global<u8>,
            z: S::Global<u64>,
            faults: S::Global<u64>,
            batch: $crate::descriptor::Batch,
        ) {
            if let Some(key) = $crate::kernels::keys::own_key(s, batch) {
                $crate::kernels::keys::validate::validate_secret::<S, R, $encoding>(
                    s, keys, f, h, ids, z, faults, key,
                );
            }
        }
    };
}
pub(crate) use key_kernels;
