//! Encryption: the ciphertexts of short polynomials, one warp per operation.

use ctru_math::Ring;

use super::ciphertext_bytes;
use super::hash::TWO_HASHES;
use crate::descriptor::{Batch, Shape};
use crate::kernels::keys::mixed_radix::{Places, Thirds, encode_list};
use crate::kernels::product::operand::{large_block_of, load_pairs, small_block};
use crate::kernels::product::polyphase::{self, Polyphase};
use crate::kernels::product::product_modulo_q;
use crate::kernels::{SEED_WORDS, row, warp};
use crate::simt::Simt;

/// Returns where the numbers of a ciphertext and their encoding lie: after `address`, which is a
/// multiple of 16.
pub(super) const fn places<R: Ring>(address: u32) -> Places {
    let half_list = address + 2 * row::<R>();
    Places { list: address, half_list, string: (half_list + row::<R>()).next_multiple_of(16) }
}

/// Returns the address of the first byte after these places, a multiple of 16. After a ciphertext,
/// there is room for the zeros that [`warp::shift_bytes`] writes.
pub(super) const fn end_of_places<R: Ring>(address: u32) -> u32 {
    (places::<R>(address).string + ciphertext_bytes::<R>() + 3).next_multiple_of(16)
}

/// Returns the block shape: one warp and one operation per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    let (product, places) =
        (polyphase::end::<R>(), end_of_places::<R>(polyphase::end_of_plain::<R>()));
    warp::shape(if product > places { product } else { places })
}

/// Multiplies short polynomials by `h`, rounds the products to multiples of 3 and encodes them. The
/// confirmation follows.
///
/// Threads: one warp per operation.
/// Shared memory: first the operands; later, in their place, the unreduced product, the list of
/// numbers and the ciphertext.
/// Arrays: `h`, [numbers](super) in `0..q`, one row per operation or one shared row; `short`,
/// signed bytes; `hashes`, rows of [`TWO_HASHES`] words, of which the second half is the
/// confirmation; `ciphertexts`, rows of [`ciphertext_bytes`].
#[inline(always)]
pub fn encrypt<S: Simt, R: Ring>(
    s: S,
    h: S::Global<u16>,
    short: S::Global<u8>,
    hashes: S::Global<u64>,
    ciphertexts: S::Global<u8>,
    batch: Batch,
) {
    let operation = s.block();
    let polyphase = Polyphase::<S, R>::new(s);
    polyphase.stage_large(|block| {
        large_block_of::<S, R>(s, block, |group| {
            load_pairs::<S, R>(s, h, batch.row(operation), group).map(coefficients::<R>)
        })
    });
    polyphase.stage_small(|block| small_block::<S, R>(s, short, operation, block));
    polyphase.multiply();

    let places = places::<R>(polyphase::end_of_plain::<R>());
    polyphase.for_each_row(|group, sums| {
        warp::store_group(s, places.list, group, sums.map(number::<R>));
    });
    s.sync_warp();
    encode_list::<S, Thirds<R>>(s, places);
    let encoded = R::MIXED_RADIX_THIRDS.bytes() as u32;
    warp::for_each(s, 8 * SEED_WORDS, |i| {
        let word = s.load(hashes, TWO_HASHES * operation + SEED_WORDS + i / 8);
        s.store_shared(places.string + encoded + i, (word >> (8 * (i % 8))) as u8);
    });
    s.sync_warp();
    let bytes = ciphertext_bytes::<R>();
    warp::shift_bytes(s, places.string, ciphertexts, bytes * operation, bytes);
}

/// Returns two coefficients of `h`, in `0..q`. The word holds their two numbers.
#[inline(always)]
fn coefficients<R: Ring>(numbers: u32) -> u32 {
    const { assert!(R::Q < 1 << 13) };
    let half = R::Q / 2;
    // Bit 15 of each difference says that the number is at least (q - 1)/2.
    let difference = (numbers | 0x8000_8000) - (half << 16 | half);
    let below = (!difference >> 15 & 0x0001_0001) * R::Q;
    ((difference & 0x7fff_7fff) + below) & 0x7fff_7fff
}

/// Returns the number of the multiple of 3 nearest to a coefficient of the product, which need not
/// be reduced: the centred coefficient plus `(q - 1)/2`, divided by 3 and rounded.
#[inline(always)]
fn number<R: Ring>(sum: i32) -> u16 {
    const { assert!(R::Q % 6 == 1 && R::Q < 1 << 13) };
    let shifted = u32::from(product_modulo_q::<R>(sum + R::Q as i32 / 2));
    // The product with a number up to 2^14 is exact: 3 * 10923 = 2^15 + 1.
    (((shifted + 1) * 10923) >> 15) as u16
}
