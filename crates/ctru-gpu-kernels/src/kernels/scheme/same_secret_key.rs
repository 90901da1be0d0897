//! Decryption for batches with one secret polynomial `f`. A block multiplies the matrix of `f` by
//! the ciphertexts of 16 operations (module `toeplitz`).
//!
//! All operations use row 0 of `f`, even if the batch is not shared.

use core::array;

use ctru_math::Ring;
use ctru_math::kernel::e8;

use super::decode_message::store_nibbles;
use crate::descriptor::{Batch, Shape};
use crate::kernels::product::operand::{LargeBlock, ciphertext_block};
use crate::kernels::product::toeplitz::{self, MatrixProduct};
use crate::simt::Simt;

/// Number of 8-column tiles per block.
const COLUMN_TILES: usize = 2;

/// The product of a block.
pub type Product<S, R> = MatrixProduct<S, R, 1, 2, COLUMN_TILES>;

/// Returns the block shape: 16 operations per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Product::<(), R>::shape(Product::<(), R>::COLUMNS, 0)
}

/// Decrypts ciphertexts with one secret polynomial as [`fused::decrypt`](super::fused::decrypt)
/// does.
///
/// Threads: four warps per 16 operations, eight for `n > 1024`.
/// Shared memory: the matrix of `f` and the operands; later, in their place, the product.
/// Arrays: `ciphertexts`, whose total length is a multiple of 4 bytes; `f`, one row of signed
/// bytes; `messages`.
#[inline(always)]
pub fn decrypt<S: Simt, R: Ring>(
    s: S,
    ciphertexts: S::Global<u8>,
    f: S::Global<u8>,
    messages: S::Global<u64>,
    batch: Batch,
) {
    let source = |operation, block| {
        ciphertext_block::<S, R>(s, ciphertexts, R::CIPHERTEXT_BYTES as u32 * operation, block)
    };
    let product = multiply::<S, R>(s, f, source, batch);
    product.for_each_operation(batch, |column, operation| {
        store_nibbles::<S, R>(s, messages, operation, |block| {
            let pairs = product.group(column, block);
            // The decoder ignores the upper bits.
            e8::decode_block(R::Q2, array::from_fn(|i| pairs[i / 2] >> (16 * (i % 2))))
        });
    });
}

/// Multiplies `f` by one polynomial per operation. `source(operation, block)` returns a block of
/// its coefficients. The products modulo `q2` are then in shared memory.
#[inline(always)]
pub fn multiply<S: Simt, R: Ring>(
    s: S,
    f: S::Global<u8>,
    source: impl Fn(u32, u32) -> LargeBlock,
    batch: Batch,
) -> Product<S, R> {
    let product = Product::<S, R>::new(s);
    // A matrix entry is a sum of at most two small coefficients, which fits in a signed byte.
    product.stage_matrix(|i| i32::from(s.load(f, i) as i8), |entry| [u32::from(entry as u8)]);
    product.stage_operands(|column, block| source(product.operation(column, batch), block));
    product.multiply(toeplitz::modulo_q2::<R>);
    product
}
