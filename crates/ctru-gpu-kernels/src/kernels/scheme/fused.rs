//! Encryption and decryption in one kernel each, around the polyphase product: from coins and key to the ciphertext, from the
//! ciphertext to the message. Nothing between goes through global memory.
//!
//! Source: CTRU-Prime paper, section 4.3 (kernel fusion).

use core::array;

use ctru_math::codec::bits::GROUP;
use ctru_math::compress::compress_with_codeword;
use ctru_math::{Ring, e8};

use super::{decode_message, select};
use crate::descriptor::{Batch, Shape};
use crate::kernels::product::operand::{ciphertext_block, coins_block, large_block, small_block};
use crate::kernels::product::polyphase::{self, Polyphase};
use crate::kernels::product::{modulo_q, positive};
use crate::kernels::{message_words, warp};
use crate::simt::Simt;

/// Bytes of whole groups of a ciphertext, and what lies before its first word.
const fn string_bytes<R: Ring>() -> u32 {
    (R::Q2_BITS * warp::groups(R::N) + 3).next_multiple_of(4)
}

/// A warp an operation; the ciphertext lies behind the plain product.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    let (product, string) =
        (polyphase::end::<R>(), polyphase::end_of_plain::<R>() + string_bytes::<R>());
    warp::shape(if product > string { product } else { string })
}

/// Ciphertexts: [`ctru_math::sample::sample`] of the coins, its product with `h`, and what
/// [`encrypt::encrypt`](super::encrypt::encrypt) does.
///
/// `h` has rows of [`row`](crate::kernels::row) elements, canonical modulo `q`, one a key; `coins` rows of
/// [`coin_words`](crate::kernels::coin_words) words, `messages` rows of [`message_words`] words, `ciphertexts` rows of
/// [`Ring::CIPHERTEXT_BYTES`].
#[inline(always)]
pub fn encrypt<S: Simt, R: Ring>(
    s: S,
    h: S::Global<u16>,
    coins: S::Global<u64>,
    messages: S::Global<u64>,
    ciphertexts: S::Global<u8>,
    batch: Batch,
) {
    let string = ciphertext::<S, R>(s, h, coins, messages, batch);
    let bytes = R::CIPHERTEXT_BYTES as u32;
    warp::write_bytes(s, string, ciphertexts, bytes * s.block(), bytes);
}

/// Encrypts as [`encrypt`] and compares, all bytes and all their bits: replaces the shared secret of every operation by its
/// rejection secret unless the ciphertext that was `received` is the one that comes out (paper, Algorithm 6).
///
/// `received` has rows of [`Ring::CIPHERTEXT_BYTES`], `rejection_secrets` and `shared_secrets` rows
/// of 4 words, the others as for [`encrypt`].
#[expect(clippy::too_many_arguments, reason = "the arrays of a kernel are its arguments")]
#[inline(always)]
pub fn verify<S: Simt, R: Ring>(
    s: S,
    h: S::Global<u16>,
    coins: S::Global<u64>,
    messages: S::Global<u64>,
    received: S::Global<u8>,
    rejection_secrets: S::Global<u64>,
    shared_secrets: S::Global<u64>,
    batch: Batch,
) {
    let string = ciphertext::<S, R>(s, h, coins, messages, batch);
    let bytes = R::CIPHERTEXT_BYTES as u32;
    let difference = warp::compare_bytes(s, string, received, bytes * s.block(), bytes);
    select::choose(s, difference, rejection_secrets, shared_secrets);
}

/// The messages of ciphertexts: the product with `f` modulo `q2` and [`ctru_math::e8::decode`].
///
/// `ciphertexts` has rows of [`Ring::CIPHERTEXT_BYTES`] and whole words in all, `f` rows of [`row`](crate::kernels::row) signed bytes, one
/// a key; `messages` rows of [`message_words`] words, unused high bytes 0.
#[inline(always)]
pub fn decrypt<S: Simt, R: Ring>(
    s: S,
    ciphertexts: S::Global<u8>,
    f: S::Global<u8>,
    messages: S::Global<u64>,
    batch: Batch,
) {
    let operation = s.block();
    let polyphase = Polyphase::<S, R>::new(s);
    polyphase.stage_large(|block| ciphertext_block::<S, R>(s, ciphertexts, operation, block));
    polyphase.stage_small(|block| small_block::<S, R>(s, f, batch.row(operation), block));
    polyphase.multiply(0);
    decode_message::store_nibbles::<S, R>(s, messages, operation, |block| {
        let values = polyphase.folded(block);
        e8::decode_block(R::Q2 as u16, array::from_fn(|i| (values[i] as u32 & (R::Q2 - 1)) as u16))
    });
}

/// Puts the ciphertext of the warp's operation into shared memory and returns where: at the same place in a word of four bytes
/// as in the array of ciphertexts.
#[inline(always)]
fn ciphertext<S: Simt, R: Ring>(
    s: S,
    h: S::Global<u16>,
    coins: S::Global<u64>,
    messages: S::Global<u64>,
    batch: Batch,
) -> u32 {
    let operation = s.block();
    let polyphase = Polyphase::<S, R>::new(s);
    polyphase.stage_large(|block| large_block::<S, R>(s, h, batch.row(operation), block));
    polyphase.stage_small(|block| coins_block::<S, R>(s, coins, operation, block));
    polyphase.multiply(positive::<R>());
    let string = polyphase::end_of_plain::<R>() + R::CIPHERTEXT_BYTES as u32 * operation % 4;
    polyphase.for_each_row(|group, folded| {
        let sigma = folded.map(modulo_q::<R>);
        let rounded = ciphertext_group::<S, R>(s, messages, operation, group, sigma);
        warp::pack_group(s, R::Q2_BITS, string, group, rounded);
    });
    s.sync_warp();
    string
}

/// Eight coefficients of the ciphertext of operation `operation`, those of group `group`, from those of `sigma = h r`, canonical
/// modulo `q`; 0 from coefficient `n` on.
#[inline(always)]
pub(crate) fn ciphertext_group<S: Simt, R: Ring>(
    s: S,
    messages: S::Global<u64>,
    operation: u32,
    group: u32,
    sigma: [u16; GROUP],
) -> [u16; GROUP] {
    let nibble = if group < (R::CODED_COEFFS / GROUP) as u32 {
        let word = s.load(messages, operation * message_words::<R>() + group / 16);
        (word >> (4 * (group % 16))) as u8 & 15
    } else {
        0
    };
    let codeword = e8::encode_nibble(nibble);
    // What lies behind the last coefficient must not reach the padding bits.
    array::from_fn(|j| {
        let inside = GROUP as u32 * group + (j as u32) < R::N as u32;
        let value = compress_with_codeword::<R>(sigma[j], codeword, j);
        if inside { value } else { 0 }
    })
}
