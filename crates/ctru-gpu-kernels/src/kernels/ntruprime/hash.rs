//! The hashes of the scheme, one thread per operation or key. A hash is the first half of SHA-512
//! of a prefix and the input.

use core::array;

use ctru_math::Ring;

use super::Parts;
use super::sha512::{HALF, half_sha512};
use crate::descriptor::{Batch, Shape};
use crate::kernels::hash::derive::{cut, own_operation};
use crate::kernels::keys::validate::WRONG_HASH;
use crate::kernels::{ID_BYTES, SEED_WORDS, eight_bytes, word_of_bytes};
use crate::simt::Simt;

/// The prefix of what an accepted ciphertext gives. A rejected one has the prefix 0.
const ACCEPTED: u32 = 1;
/// The prefix of two hashes: the end of a ciphertext.
const CONFIRMATION: u64 = 2;
/// The prefix of a packed polynomial, or of the secret of implicit rejection in its place.
const POLYNOMIAL: u64 = 3;
/// The prefix of a public key.
const PUBLIC_KEY: u64 = 4;

/// 64-bit words of a row of two hashes.
pub const TWO_HASHES: u32 = 2 * HALF as u32;
/// Returns the block shape: 128 threads, one per operation.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Shape::new(128, 128, 0)
}

/// Hashes public keys.
///
/// Arrays: `keys`, rows of `bytes` bytes, whose total length is a multiple of 4 bytes; `ids`, rows
/// of [`ID_BYTES`] bytes, the hash and a zero.
#[inline(always)]
pub fn public_keys<S: Simt, R: Ring>(
    s: S,
    keys: S::Global<u8>,
    ids: S::Global<u8>,
    batch: Batch,
    bytes: u32,
) {
    let key = own_operation(s);
    if key < batch.operations() {
        let hash = half_sha512(s, PUBLIC_KEY, bytes, string(s, keys, key * bytes, bytes));
        for i in 0..ID_BYTES {
            let word = hash[i as usize / 8 % HALF] >> (8 * (i % 8));
            s.store(ids, key * ID_BYTES + i, id_byte(s, i, word as u8));
        }
    }
}

/// Returns byte `i` of an ID: the byte of a hash, or after it a zero.
///
/// The zero is opaque to the compiler, because the analysis of the PTX takes the store of a
/// constant for that of a secret which it has lost.
#[inline(always)]
pub(super) fn id_byte<S: Simt>(s: S, i: u32, byte: u8) -> u8 {
    if i < 8 * SEED_WORDS { byte } else { s.xor(byte.into(), byte.into(), 0) as u8 }
}

/// Hashes the secrets of implicit rejection in private keys, and checks the hashes of their public
/// keys.
///
/// Arrays: `keys`, rows of private keys, whose total length is a multiple of 4 bytes; `rejections`,
/// rows of [`SEED_WORDS`] words; `faults`, one word per key, which gets the flag [`WRONG_HASH`].
/// Scalars: the bytes of a packed polynomial and of a public key.
#[inline(always)]
pub fn private_keys<S: Simt, R: Ring>(
    s: S,
    keys: S::Global<u8>,
    rejections: S::Global<u64>,
    faults: S::Global<u64>,
    batch: Batch,
    packed: u32,
    encoded: u32,
) {
    let (key, parts) = (own_operation(s), Parts { packed, encoded });
    if key < batch.operations() {
        let start = key * parts.bytes();
        let rho = string(s, keys, start + parts.rho(), packed);
        store(s, rejections, SEED_WORDS * key, half_sha512(s, POLYNOMIAL, packed, rho));
        let public = string(s, keys, start + parts.public(), encoded);
        let hash = half_sha512(s, PUBLIC_KEY, encoded, public);
        let stored = string(s, keys, start + parts.hash(), 8 * SEED_WORDS);
        let mut difference = 0;
        for i in 0..SEED_WORDS {
            difference |= hash[i as usize] ^ stored(0, i);
        }
        let fault = is_not_zero(difference) * WRONG_HASH;
        s.store(faults, key, s.load(faults, key) | fault);
    }
}

/// Hashes short polynomials, and computes what confirms them in ciphertexts.
///
/// Arrays: `short`, rows of `degree` signed bytes and as many others as make a multiple of 8;
/// `ids`, rows of [`ID_BYTES`] bytes, the hashes of the public keys, one per operation or one
/// shared row; `hashes`, rows of [`TWO_HASHES`] words, the hash of the polynomial and the
/// confirmation.
#[inline(always)]
pub fn confirm<S: Simt, R: Ring>(
    s: S,
    short: S::Global<u8>,
    ids: S::Global<u8>,
    hashes: S::Global<u64>,
    batch: Batch,
    degree: u32,
) {
    let operation = own_operation(s);
    if operation < batch.operations() {
        let packed = packed(s, short, degree, operation);
        let hash = half_sha512(s, POLYNOMIAL, degree.div_ceil(4), packed);
        let id = ID_BYTES * batch.row(operation);
        let confirmation = half_sha512(s, CONFIRMATION, 2 * 8 * SEED_WORDS, |_, i| match i {
            0..SEED_WORDS => hash[i as usize],
            SEED_WORDS..TWO_HASHES => {
                word_of_bytes(s, ids, id, 8 * SEED_WORDS, 8 * (i - SEED_WORDS))
            }
            _ => 0,
        });
        store(s, hashes, TWO_HASHES * operation, hash);
        store(s, hashes, TWO_HASHES * operation + SEED_WORDS, confirmation);
    }
}

/// Computes shared secrets: hashes of ciphertexts and of the polynomials in them. If a ciphertext
/// is not the one that its polynomial encrypts to, the hash of the secret of implicit rejection
/// takes the place of that of the polynomial, and the prefix is 0, without a branch.
///
/// Encapsulations pass one array twice: `received` and `encrypted` are the same.
///
/// Arrays: `hashes`, rows of [`TWO_HASHES`] words, of which the first half is used; `rejections`,
/// rows of [`SEED_WORDS`] words, one per operation or one shared row; `received` and `encrypted`,
/// rows of `bytes` bytes, whose total length is a multiple of 4 bytes; `shared_secrets`, rows of
/// [`SEED_WORDS`] words.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the arrays of a kernel are its arguments")]
pub fn shared_secret<S: Simt, R: Ring>(
    s: S,
    hashes: S::Global<u64>,
    rejections: S::Global<u64>,
    received: S::Global<u8>,
    encrypted: S::Global<u8>,
    shared_secrets: S::Global<u64>,
    batch: Batch,
    bytes: u32,
) {
    let operation = own_operation(s);
    if operation < batch.operations() {
        let start = bytes * operation;
        let differs = is_not_zero(difference(s, [received, encrypted], start, bytes)) as u32;
        // The sum is opaque to the compiler. If it knew that this is the result of a comparison, it
        // would choose one of two addresses and load from it.
        let accepted = u64::from(s.xor(differs, ACCEPTED, 0));
        let keep = accepted.wrapping_neg();
        let rejection = SEED_WORDS * batch.row(operation);
        let chosen: [u64; HALF] = array::from_fn(|i| {
            let hash = s.load(hashes, TWO_HASHES * operation + i as u32);
            let rejection = s.load(rejections, rejection + i as u32);
            rejection ^ (keep & (hash ^ rejection))
        });
        let ciphertext = string(s, received, start, bytes);
        let secret = half_sha512(s, accepted, 8 * SEED_WORDS + bytes, |block, i| {
            // The ciphertext follows a whole number of words.
            match i {
                0..SEED_WORDS if block == 0 => chosen[i as usize],
                0..SEED_WORDS => ciphertext(block - 1, i + 16 - SEED_WORDS),
                _ => ciphertext(block, i - SEED_WORDS),
            }
        });
        store(s, shared_secrets, SEED_WORDS * operation, secret);
    }
}

/// Returns a number that is 0 exactly if the bytes `start..start + bytes` of two arrays are equal.
/// The lengths of the arrays are multiples of 4 bytes.
#[inline(always)]
fn difference<S: Simt>(s: S, arrays: [S::Global<u8>; 2], start: u32, bytes: u32) -> u64 {
    let end = start + bytes;
    let mut difference = 0;
    let mut word = start / 4;
    while 4 * word < end {
        let [a, b] = arrays.map(|array| s.load(s.cast::<u8, u32>(array), word));
        let before = start.saturating_sub(4 * word).min(3);
        let after = (4 * word + 4).saturating_sub(end);
        difference |= (a ^ b) >> (8 * before) << (8 * (before + after));
        word += 1;
    }
    difference.into()
}

/// Returns a function that returns the words of the bytes `start..start + bytes` of an array, by
/// their block and their place, and 0 for words after them. The length of the array is a multiple
/// of 4 bytes.
#[inline(always)]
fn string<S: Simt>(
    s: S,
    memory: S::Global<u8>,
    start: u32,
    bytes: u32,
) -> impl Fn(u32, u32) -> u64 {
    move |block, place| {
        let i = 16 * block + place;
        cut(bytes, i, eight_bytes(s, memory, start + 8 * i, start + bytes))
    }
}

/// Returns a function that returns the words of a packed polynomial, as [`string`] does for those
/// of a string. The polynomial is row `row` of an array, whose rows have whole groups of 8 bytes.
#[inline(always)]
fn packed<S: Simt>(s: S, memory: S::Global<u8>, degree: u32, row: u32) -> impl Fn(u32, u32) -> u64 {
    let groups = degree.div_ceil(8);
    let memory = s.tail(s.cast::<u8, u64>(memory), groups * row);
    move |block, place| {
        // A word holds 32 coefficients, so 4 words of bytes.
        let i = 16 * block + place;
        let word = (0..4).fold(0, |word, k| {
            let coefficients = s.load(memory, (4 * i + k).min(groups - 1));
            word | u64::from(packed_group(coefficients)) << (16 * k)
        });
        let inside = (2 * degree).saturating_sub(64 * i).min(64);
        if inside == 64 { word } else { word & ((1 << inside) - 1) }
    }
}

/// Packs eight signed bytes in `-1..=1` to two bits each, which are the number plus 1.
#[inline(always)]
pub(super) fn packed_group(coefficients: u64) -> u16 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let bits = ((coefficients & (3 * ONES)) + ONES) & (3 * ONES);
    // The product has the four pairs of bits of a half in its highest byte, the first one lowest.
    let half = |half: u64| (half as u32).wrapping_mul(1 << 24 | 1 << 18 | 1 << 12 | 1 << 6) >> 24;
    (half(bits) | half(bits >> 32) << 8) as u16
}

/// Stores a hash from element `first` of an array on.
#[inline(always)]
fn store<S: Simt>(s: S, memory: S::Global<u64>, first: u32, hash: [u64; HALF]) {
    for i in 0..SEED_WORDS {
        s.store(memory, first + i, hash[i as usize]);
    }
}

/// Returns 0 if the number is 0, else 1.
#[inline(always)]
fn is_not_zero(number: u64) -> u64 {
    (number | number.wrapping_neg()) >> 63
}
