//! Encryption, verification and decryption, each fused into one kernel around the [polyphase
//! product](crate::kernels::product::polyphase). No intermediate value passes through global
//! memory.
//!
//! Source: CTRU-Prime paper, section 4.3 (kernel fusion).

use ctru_math::Ring;
use ctru_math::kernel::compress::compress_to_top;
use ctru_math::kernel::e8;

use super::encrypt::{store_packed, string_bytes};
use super::received::Received;
use super::{decode_message, select};
use crate::descriptor::{Batch, Shape};
use crate::kernels::product::operand::{ciphertext_block, coins_block, large_block, small_block};
use crate::kernels::product::polyphase::{self, Polyphase};
use crate::kernels::{message_words, warp};
use crate::simt::Simt;

/// Returns the address of the message in shared memory, a multiple of 8. Before it lie the operands
/// and later, in their place, the unreduced product and the packed ciphertext.
const fn message_start<R: Ring>() -> u32 {
    let (product, string) =
        (polyphase::end::<R>(), polyphase::end_of_plain::<R>() + string_bytes::<R>());
    if product > string { product } else { string.next_multiple_of(8) }
}

/// Returns the block shape: one warp and one operation per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    warp::shape(message_start::<R>() + 8 * message_words::<R>())
}

/// Encrypts messages: samples `r` from coins, computes `sigma = h r`, and then encodes, rounds and
/// packs with the functions of [`super::encrypt`].
///
/// Threads: one warp per operation.
/// Shared memory: first the operands; later, in their place, the unreduced product and the packed
/// ciphertext.
/// Arrays: `h`, in `0..q`, one row per operation or one shared row; `coins`; `messages`;
/// `ciphertexts`.
/// Source: CTRU-Prime paper, section 4.3.
#[inline(always)]
pub fn encrypt<S: Simt, R: Ring>(
    s: S,
    h: S::Global<u16>,
    coins: S::Global<u64>,
    messages: S::Global<u64>,
    ciphertexts: S::Global<u8>,
    batch: Batch,
) {
    stage_key::<S, R>(s, h, batch.row(s.block()));
    multiply::<S, R>(s, coins, messages);
    write_ciphertext::<S, R>(s, ciphertexts, R::CIPHERTEXT_BYTES as u32 * s.block());
}

/// Encrypts as [`encrypt`] does and compares the result with the received ciphertext. If any bit
/// differs, replaces the operation's shared secret by its rejection secret, without a branch.
///
/// Threads: one warp per operation.
/// Shared memory: as for [`encrypt`].
/// Arrays: `h`, `coins` and `messages` as for [`encrypt`]; `received`, ciphertexts, whose total
/// length is a multiple of 4 bytes; `rejection_secrets` and `shared_secrets`, rows of 4 words.
/// Source: CTRU-Prime paper, Algorithm 6.
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
    stage_key::<S, R>(s, h, batch.row(s.block()));
    multiply::<S, R>(s, coins, messages);
    let secrets = (rejection_secrets, shared_secrets, shared_secrets);
    let choose = select::choice(s, s.block(), secrets);
    choose(difference::<S, R>(s, received, R::CIPHERTEXT_BYTES as u32 * s.block()));
}

/// Decrypts ciphertexts: computes `c f` modulo `q2` and decodes it with [`ctru_math::e8::decode`].
///
/// Threads: one warp per operation.
/// Shared memory: first the operands, later the unreduced product in their place.
/// Arrays: `ciphertexts`, whose total length is a multiple of 4 bytes; `f`, signed bytes, one row
/// per operation or one shared row; `messages`.
/// Source: CTRU-Prime paper, section 4.3.
#[inline(always)]
pub fn decrypt<S: Simt, R: Ring>(
    s: S,
    ciphertexts: S::Global<u8>,
    f: S::Global<u8>,
    messages: S::Global<u64>,
    batch: Batch,
) {
    let start = R::CIPHERTEXT_BYTES as u32 * s.block();
    message::<S, R>(s, (ciphertexts, start), (f, batch.row(s.block())), messages);
}

/// Decrypts the ciphertext that begins at byte `start` of an array with row `key` of `f`, and
/// writes the message of the block's operation.
#[inline(always)]
pub(crate) fn message<S: Simt, R: Ring>(
    s: S,
    (ciphertexts, start): (S::Global<u8>, u32),
    (f, key): (S::Global<u8>, u32),
    messages: S::Global<u64>,
) {
    let polyphase = Polyphase::<S, R>::new(s);
    polyphase.stage_large(|block| ciphertext_block::<S, R>(s, ciphertexts, start, block));
    polyphase.stage_small(|block| small_block::<S, R>(s, f, key, block));
    polyphase.multiply();
    decode_message::store_nibbles::<S, R>(s, messages, s.block(), |block| {
        e8::decode_block(R::Q2, polyphase.folded(block).map(|value| value as u32))
    });
}

/// Writes row `key` of `h` to shared memory, for [`multiply`].
#[inline(always)]
pub(crate) fn stage_key<S: Simt, R: Ring>(s: S, h: S::Global<u16>, key: u32) {
    Polyphase::<S, R>::new(s).stage_large(|block| large_block::<S, R>(s, h, key, block));
}

/// Samples the small polynomial of the block's operation and multiplies it by the key that
/// [`stage_key`] wrote. The unreduced product and the message are then in shared memory.
#[inline(always)]
pub(crate) fn multiply<S: Simt, R: Ring>(s: S, coins: S::Global<u64>, messages: S::Global<u64>) {
    let (operation, words) = (s.block(), message_words::<R>());
    warp::for_each(s, words, |i| {
        s.store_shared(message_start::<R>() + 8 * i, s.load(messages, words * operation + i));
    });
    let polyphase = Polyphase::<S, R>::new(s);
    polyphase.stage_small(|block| coins_block::<S, R>(s, coins, operation, block));
    polyphase.multiply();
}

/// Writes the ciphertext of the product and the message that [`multiply`] left. Its first byte is
/// byte `start` of the array.
#[inline(always)]
pub(crate) fn write_ciphertext<S: Simt, R: Ring>(s: S, ciphertexts: S::Global<u8>, start: u32) {
    let string = polyphase::end_of_plain::<R>() + start % 4;
    for_each_group::<S, R>(s, |_, group, packed| store_packed::<S, R>(s, string, group, packed));
    s.sync_warp();
    warp::write_bytes(s, string, ciphertexts, start, R::CIPHERTEXT_BYTES as u32);
}

/// Compares the ciphertext of the product and the message that [`multiply`] left with that which
/// begins at byte `start` of an array. If they are equal, every thread returns 0; otherwise at
/// least one thread returns another number.
#[inline(always)]
pub(crate) fn difference<S: Simt, R: Ring>(s: S, received: S::Global<u8>, start: u32) -> u32 {
    let received = Received::load::<R>(s, received, start);
    let mut difference = 0;
    for_each_group::<S, R>(s, |round, _, packed| {
        difference |= received.difference::<R>(round, packed);
    });
    difference
}

/// Calls `output(round, group, packed)` for each group of the ciphertext of the product and the
/// message that [`multiply`] left, as [`super::encrypt::for_each_group`] does.
#[inline(always)]
fn for_each_group<S: Simt, R: Ring>(s: S, output: impl FnMut(u32, u32, [u32; 3])) {
    let polyphase = Polyphase::<S, R>::new(s);
    let rounded = |group| polyphase.folded(group).map(compress_to_top::<R>);
    super::encrypt::for_each_group::<S, R>(s, message_start::<R>(), rounded, output);
}
