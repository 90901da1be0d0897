//! Encryption and verification for batches with one public key. A block multiplies the key's matrix
//! by the small polynomials of 16 operations (module `toeplitz`). Then each warp encrypts some of
//! these operations, one after the other, as [`fused`](super::fused) does.
//!
//! All operations use row 0 of `h`, even if the batch is not shared.

use ctru_math::Ring;

use super::encrypt::codeword;
use super::fused::{ciphertext_group, string_bytes};
use super::select;
use crate::descriptor::{Batch, Shape};
use crate::kernels::product::operand::{SmallBlock, coins_block};
use crate::kernels::product::toeplitz::{self, MatrixProduct};
use crate::kernels::product::{modulo_q, positive};
use crate::kernels::{message_words, warp};
use crate::simt::Simt;

/// Number of 8-column tiles per block.
const COLUMN_TILES: usize = 2;

pub(crate) type Product<S, R> = MatrixProduct<S, R, 2, 1, COLUMN_TILES>;

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
/// Threads: four warps per 16 operations, eight for `n = 1277`.
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
    let bytes = R::CIPHERTEXT_BYTES as u32;
    let write = |operation| {
        move |string| warp::write_bytes(s, string, ciphertexts, bytes * operation, bytes)
    };
    for_each_ciphertext::<S, R, _>(s, h, coins, messages, batch, write);
}

/// Verifies ciphertexts for one key as [`fused::verify`](super::fused::verify) does.
///
/// Threads and shared memory: as for [`encrypt`].
/// Arrays: `h`, `coins` and `messages` as for [`encrypt`]; `received`, ciphertexts;
/// `rejection_secrets` and `shared_secrets`, rows of 4 words.
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
    let bytes = R::CIPHERTEXT_BYTES as u32;
    let secrets = (rejection_secrets, shared_secrets, shared_secrets);
    let verify = |operation| {
        let choose = select::choice(s, operation, secrets);
        let compare = warp::comparison::<S, R>(s, received, bytes * operation);
        move |string| choose(compare(string))
    };
    for_each_ciphertext::<S, R, _>(s, h, coins, messages, batch, verify);
}

/// Multiplies `h` by one polynomial per operation. `source(operation, block)` returns a block of
/// its coefficients. The products modulo `q` are then in shared memory.
#[inline(always)]
pub(crate) fn multiply<S: Simt, R: Ring>(
    s: S,
    h: S::Global<u16>,
    source: impl Fn(u32, u32) -> SmallBlock,
    batch: Batch,
) -> Product<S, R> {
    let product = Product::<S, R>::new(s);
    product.stage_matrix(|i| i32::from(s.load(h, i)), toeplitz::split_modulo_q::<R>);
    product.stage_operands(|column, block| [source(product.operation(column, batch), block)]);
    product.multiply(positive::<R>(), modulo_q::<R>);
    product
}

/// Encrypts the messages. For each operation, calls `output(operation)`, packs the ciphertext in
/// shared memory from byte `string` on, and calls the returned function with `string`, which is
/// congruent modulo 4 to the index of the ciphertext's first byte in an array of ciphertexts. All
/// lanes of a warp make each call together.
#[inline(always)]
fn for_each_ciphertext<S: Simt, R: Ring, F: Fn(u32)>(
    s: S,
    h: S::Global<u16>,
    coins: S::Global<u64>,
    messages: S::Global<u64>,
    batch: Batch,
    output: impl Fn(u32) -> F,
) {
    let words = message_words::<R>();
    let message = |column: u32| messages_start::<R>() + 8 * words * column;
    let staged = Product::<S, R>::new(s);
    let mut k = s.thread();
    while k < words * Product::<S, R>::COLUMNS {
        let (column, word) = (k / words, k % words);
        let row = words * staged.operation(column, batch);
        s.store_shared(message(column) + 8 * word, s.load(messages, row + word));
        k += s.threads();
    }
    let source = |operation, block| coins_block::<S, R>(s, coins, operation, block);
    let product = multiply::<S, R>(s, h, source, batch);
    product.for_each_operation(batch, |column, operation| {
        let output = output(operation);
        let start = R::CIPHERTEXT_BYTES as u32 * operation;
        let string = strings::<R>() + string_bytes::<R>() * s.warp() + start % 4;
        warp::for_each(s, warp::groups(R::N), |group| {
            let word = |i| s.load_shared(message(column) + 8 * i);
            let codeword = codeword::<R>(group, word);
            let values = ciphertext_group::<R>(codeword, group, product.group(column, group));
            warp::pack_group(s, R::Q2_BITS, string, group, values);
        });
        s.sync_warp();
        output(string);
        s.sync_warp();
    });
}
