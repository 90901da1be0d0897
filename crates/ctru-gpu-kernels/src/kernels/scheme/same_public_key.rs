//! Encryption and verification for batches with one public key. A block multiplies the key's matrix
//! by the small polynomials of 16 operations (module `toeplitz`). Then each warp encrypts some of
//! these operations, one after the other, as [`fused`](super::fused) does.
//!
//! All operations use row 0 of `h`, even if the batch is not shared.

use core::array;

use ctru_math::Ring;
use ctru_math::kernel::compress::compress_to_top;

use super::encrypt::{store_packed, string_bytes};
use super::received::Received;
use super::select;
use crate::descriptor::{Batch, Shape};
use crate::kernels::product::operand::{SmallBlock, coins_block};
use crate::kernels::product::toeplitz::{self, MatrixProduct};
use crate::kernels::{message_words, warp};
use crate::simt::Simt;

/// Number of 8-column tiles per block.
const COLUMN_TILES: usize = 2;

/// The product of a block.
pub type Product<S, R> = MatrixProduct<S, R, 2, 1, COLUMN_TILES>;

/// Returns the address of the messages of the block's operations in shared memory.
const fn messages_start<R: Ring>() -> u32 {
    Product::<(), R>::END
}

/// Returns the address of the packed ciphertexts in shared memory, one per warp.
const fn strings<R: Ring>() -> u32 {
    messages_start::<R>() + 8 * message_words::<R>() * Product::<(), R>::COLUMNS
}

/// Returns the block shape: 16 operations per block. The shared memory has room for the messages,
/// and for one ciphertext per warp.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    let warps = Product::<(), R>::WARPS;
    let behind = strings::<R>() + warps * string_bytes::<R>() - Product::<(), R>::END;
    Product::<(), R>::shape(Product::<(), R>::COLUMNS, behind)
}

/// Encrypts messages for one key as [`fused::encrypt`](super::fused::encrypt) does.
///
/// Threads: four warps per 16 operations, eight for `n > 1024`.
/// Shared memory: the key's matrix and the operands; later, in their place, the product; the
/// messages; one packed ciphertext per warp.
/// Arrays: `h`, one row, in `0..q`; `coins`; `messages`; `ciphertexts`.
#[inline(always)]
pub fn encrypt<S: Simt, R: Ring>(
    s: S,
    h: S::Global<u16>,
    coins: S::Global<u64>,
    messages: S::Global<u64>,
    ciphertexts: S::Global<u8>,
    batch: Batch,
) {
    let product = rounded_products::<S, R>(s, h, coins, messages, batch);
    product.for_each_operation(batch, |column, operation| {
        let bytes = R::CIPHERTEXT_BYTES as u32;
        let start = bytes * operation;
        let string = strings::<R>() + string_bytes::<R>() * s.warp() + start % 4;
        for_each_group(s, product, column, |_, group, packed| {
            store_packed::<S, R>(s, string, group, packed);
        });
        s.sync_warp();
        warp::write_bytes(s, string, ciphertexts, start, bytes);
        s.sync_warp();
    });
}

/// Verifies ciphertexts for one key as [`fused::verify`](super::fused::verify) does.
///
/// Threads and shared memory: as for [`encrypt`].
/// Arrays: `h`, `coins` and `messages` as for [`encrypt`]; `received`, ciphertexts, whose total
/// length is a multiple of 4 bytes; `rejection_secrets` and `shared_secrets`, rows of 4 words.
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
    let product = rounded_products::<S, R>(s, h, coins, messages, batch);
    let secrets = (rejection_secrets, shared_secrets, shared_secrets);
    product.for_each_operation(batch, |column, operation| {
        let choose = select::choice(s, operation, secrets);
        let start = R::CIPHERTEXT_BYTES as u32 * operation;
        let received = Received::load::<R>(s, received, start);
        let mut difference = 0;
        for_each_group(s, product, column, |round, _, packed| {
            difference |= received.difference::<R>(round, packed);
        });
        choose(difference);
    });
}

/// Multiplies `h` by one polynomial per operation. `source(operation, block)` returns a block of
/// its coefficients. Leaves the results of `residue` for the coefficients of the products in shared
/// memory.
#[inline(always)]
pub fn multiply<S: Simt, R: Ring>(
    s: S,
    h: S::Global<u16>,
    source: impl Fn(u32, u32) -> SmallBlock,
    batch: Batch,
    residue: impl Fn(i32) -> u16,
) -> Product<S, R> {
    let product = Product::<S, R>::new(s);
    product.stage_matrix(|i| i32::from(s.load(h, i)), toeplitz::split_modulo_q::<R>);
    product.stage_operands(|column, block| [source(product.operation(column, batch), block)]);
    product.multiply(residue);
    product
}

/// Samples the small polynomials of the block's operations and multiplies them by `h`. Leaves two
/// things in shared memory: the messages, and the upper halves of the numbers that
/// [`compress_to_top`] returns for the products.
#[inline(always)]
fn rounded_products<S: Simt, R: Ring>(
    s: S,
    h: S::Global<u16>,
    coins: S::Global<u64>,
    messages: S::Global<u64>,
    batch: Batch,
) -> Product<S, R> {
    let words = message_words::<R>();
    let staged = Product::<S, R>::new(s);
    let mut k = s.thread();
    while k < words * Product::<S, R>::COLUMNS {
        let (column, word) = (k / words, k % words);
        let row = words * staged.operation(column, batch);
        let address = messages_start::<R>() + 8 * (words * column + word);
        s.store_shared(address, s.load(messages, row + word));
        k += s.threads();
    }
    let source = |operation, block| coins_block::<S, R>(s, coins, operation, block);
    let rounded = |sigma| (compress_to_top::<R>(sigma) >> 16) as u16;
    multiply(s, h, source, batch, rounded)
}

/// Calls `output(round, group, packed)` for each group of the ciphertext of a column's operation,
/// as [`super::encrypt::for_each_group`] does.
#[inline(always)]
fn for_each_group<S: Simt, R: Ring>(
    s: S,
    product: Product<S, R>,
    column: u32,
    output: impl FnMut(u32, u32, [u32; 3]),
) {
    let message = messages_start::<R>() + 8 * message_words::<R>() * column;
    let rounded = |group| {
        let pairs = product.group(column, group);
        array::from_fn(|i| pairs[i / 2] << (16 * (1 - i % 2)))
    };
    super::encrypt::for_each_group::<S, R>(s, message, rounded, output);
}
