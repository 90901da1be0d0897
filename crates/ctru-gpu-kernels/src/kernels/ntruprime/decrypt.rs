//! Decryption: the short polynomials in ciphertexts, one warp per operation.

use core::array;

use ctru_math::Ring;

use super::ciphertext_bytes;
use super::encrypt::{end_of_places, places};
use crate::descriptor::{Batch, Shape};
use crate::kernels::keys::mixed_radix::{Thirds, decode_list};
use crate::kernels::product::operand::{large_block_of, small_block, small_block_of};
use crate::kernels::product::polyphase::{self, Polyphase};
use crate::kernels::product::product_modulo_q;
use crate::kernels::{four_bytes, row, unrolled, warp};
use crate::simt::{Simt, U32x4, WARP};

/// Coefficients in a group.
const GROUP: usize = 8;
/// The most groups per thread that [`unrolled`] counts. There are at most 5.
const MOST_ROUNDS: usize = 18;

/// Returns the block shape: one warp and one operation per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    warp::shape(end_of_places::<R>(polyphase::end::<R>()))
}

/// Decrypts ciphertexts: multiplies the decoded polynomials by `3 f` modulo `q`, and the products
/// by `1/g` modulo 3. If the result has another weight than a short polynomial, the one whose first
/// coefficients are 1 takes its place, without a branch.
///
/// Threads: one warp per operation.
/// Shared memory: the operands and later, in their place, the unreduced product; the ciphertext and
/// the list of its coefficients and later, in the place of the list, the first product modulo 3.
/// Arrays: `ciphertexts`, rows of [`ciphertext_bytes`], whose total length is a multiple of 4
/// bytes; `secrets`, two rows of signed bytes per key, `f` and `1/g`, one key per operation or one
/// shared key; `short`, signed bytes.
#[inline(always)]
pub fn decrypt<S: Simt, R: Ring>(
    s: S,
    ciphertexts: S::Global<u8>,
    secrets: S::Global<u8>,
    short: S::Global<u8>,
    batch: Batch,
) {
    let (operation, key) = (s.block(), batch.row(s.block()));
    let list = decode::<S, R>(s, ciphertexts, operation);
    let polyphase = Polyphase::<S, R>::new(s);
    polyphase.stage_large(|block| {
        large_block_of::<S, R>(s, block, |group| {
            let U32x4(pairs) = s.load_shared(list + 16 * group);
            pairs
        })
    });
    polyphase.stage_small(|block| small_block::<S, R>(s, secrets, 2 * key, block));
    polyphase.multiply();
    polyphase.for_each_row(|group, sums| {
        s.store_shared(list + GROUP as u32 * group, bytes(sums.map(tripled::<R>)));
    });
    s.sync_warp();

    polyphase.stage_second_small(|block| {
        let group = |i| s.load_shared(list + GROUP as u32 * i);
        small_block_of::<S, R>(s, block, group)
    });
    polyphase.stage_small(|block| small_block::<S, R>(s, secrets, 2 * key + 1, block));
    polyphase.multiply_small_ones();
    let (mut groups, mut weight) = ([0; MOST_ROUNDS], 0);
    unrolled!(round < warp::rounds(R::N), {
        let group = WARP * round + s.lane();
        if group < warp::groups(R::N) {
            let own = bytes(polyphase.folded(group).map(modulo_3::<R>));
            let odd = own & mask::<R>(group) & 0x0101_0101_0101_0101;
            weight += odd.count_ones();
            groups[round as usize] = own;
        }
    });
    // The sum comes from a shuffle, so the compiler knows nothing about it.
    let difference = warp::reduce(s, weight, |a, b| a + b) ^ R::WEIGHT as u32;
    let differs = (difference | difference.wrapping_neg()) >> 31;
    let keep = u64::from(differs).wrapping_sub(1);
    unrolled!(round < warp::rounds(R::N), {
        let group = WARP * round + s.lane();
        if group < warp::groups(R::N) {
            let ones = R::WEIGHT as u32 - (R::WEIGHT as u32).min(GROUP as u32 * group);
            let ones = first_bytes(ones) & 0x0101_0101_0101_0101;
            let chosen = ones ^ (keep & (groups[round as usize] ^ ones));
            s.store(s.cast::<u8, u64>(short), operation * (row::<R>() / 8) + group, chosen);
        }
    });
}

/// Decodes the polynomial of a ciphertext. Returns the address of the list of its coefficients in
/// shared memory, with 16 bits each, in `0..q`, and zeros up to whole groups.
#[inline(always)]
fn decode<S: Simt, R: Ring>(s: S, ciphertexts: S::Global<u8>, operation: u32) -> u32 {
    let n = R::N as u32;
    let places = places::<R>(polyphase::end::<R>());
    let start = ciphertext_bytes::<R>() * operation;
    let bytes = R::MIXED_RADIX_THIRDS.bytes() as u32;
    warp::transfer(
        s,
        bytes.div_ceil(4),
        |i| four_bytes(s, ciphertexts, start + 4 * i, start + bytes),
        |i, word| s.store_shared(places.string + 4 * i, word),
    );
    s.sync_warp();
    // Every string is the encoding of a list.
    let _ = decode_list::<S, Thirds<R>>(s, places);
    s.sync_warp();
    warp::for_each(s, row::<R>(), |i| {
        let address = places.list + 2 * i;
        let number = if i < n { s.load_shared::<u16>(address) } else { 0 };
        let difference = (3 * u32::from(number)).wrapping_sub(R::Q / 2);
        let coefficient = difference.min(difference.wrapping_add(R::Q));
        s.store_shared(address, if i < n { coefficient as u16 } else { 0 });
    });
    s.sync_warp();
    places.list
}

/// Returns three times a coefficient of a product modulo `q`, centred, modulo 3, in `-1..=1`. The
/// coefficient need not be reduced.
///
/// The centred number is `3 a - k q`, where `k` in `0..=3` is `3 a / q`, rounded. It is `-k` modulo
/// 3, because `q` is 1 modulo 3.
#[inline(always)]
fn tripled<R: Ring>(sum: i32) -> i8 {
    const { assert!(R::Q % 6 == 1) };
    let a = i32::from(product_modulo_q::<R>(sum));
    // All ones if a / q is above the fraction.
    let above = |sixths: u32| ((sixths * R::Q / 6) as i32 - a) >> 31;
    (above(1) - 2 * above(3) + above(5)) as i8
}

/// Returns a coefficient of a product of small polynomials modulo 3, in `-1..=1`.
#[inline(always)]
fn modulo_3<R: Ring>(sum: i32) -> i8 {
    // Three sums of n products make a coefficient. The compiler multiplies to divide by a constant.
    let residue = (sum + 3 * R::N as i32 + 1) as u32 % 3;
    residue as i8 - 1
}

/// Returns signed bytes as a word, the first one lowest.
#[inline(always)]
fn bytes(coefficients: [i8; GROUP]) -> u64 {
    let byte = |i: usize| u64::from(coefficients[i] as u8) << (8 * i);
    let bytes: [u64; GROUP] = array::from_fn(byte);
    bytes.into_iter().fold(0, |word, byte| word | byte)
}

/// Returns a word whose bytes are all ones for the coefficients of a group that belong to the
/// polynomial.
#[inline(always)]
fn mask<R: Ring>(group: u32) -> u64 {
    first_bytes(R::N as u32 - GROUP as u32 * group)
}

/// Returns a word whose first bytes, or all of them, are all ones.
#[inline(always)]
fn first_bytes(count: u32) -> u64 {
    if count < GROUP as u32 { (1 << (8 * count)) - 1 } else { u64::MAX }
}
