//! Decryption for batches with one secret polynomial `f`. A block multiplies the matrix of `f` by
//! the ciphertexts of 32 operations (module `toeplitz`).
//!
//! All operations use row 0 of `f`, even if the batch is not shared.

use ctru_math::Ring;
use ctru_math::kernel::bits::GROUP;
use ctru_math::kernel::e8;

use crate::descriptor::{Batch, Shape};
use crate::kernels::message_words;
use crate::kernels::product::operand::{LargeBlock, ciphertext_block};
use crate::kernels::product::toeplitz::{self, MatrixProduct};
use crate::simt::Simt;

/// Number of 8-column tiles per block.
const COLUMN_TILES: usize = 4;

type Product<S, R> = MatrixProduct<S, R, 1, 2, COLUMN_TILES>;

/// Returns the number of operations per block.
const fn columns<R: Ring>() -> u32 {
    Product::<(), R>::COLUMNS
}

/// Returns the block shape: four warps and 32 operations per block. For `n = 1277`, a block needs
/// more shared memory than the 99 KiB that a GeForce card offers.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Product::<(), R>::shape(columns::<R>(), 0)
}

/// Decrypts ciphertexts with one secret polynomial as [`fused::decrypt`](super::fused::decrypt)
/// does.
///
/// Threads: four warps per 32 operations.
/// Shared memory: the matrix of `f`, and the operands.
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
    for_each_group::<S, R>(s, f, source, batch, |operation, group, values| {
        let nibble = u32::from(e8::decode_block(R::Q2 as u16, values));
        let coded = group < (R::CODED_COEFFS / GROUP) as u32;
        // The eight lanes that hold the same column hold its eight nibbles of the tile, which form
        // half a word of the message.
        let mut half = if coded { nibble << (4 * (s.lane() / 4)) } else { 0 };
        for distance in [4, 8, 16] {
            half |= s.shuffle(half, s.lane() ^ distance);
        }
        let (halves, tile) = (2 * message_words::<R>(), group / 8);
        if s.lane() / 4 == 0 && tile < halves && operation < batch.operations() {
            s.store(s.cast::<u64, u32>(messages), halves * operation + tile, half);
        }
    });
}

/// Multiplies `f` by one polynomial per operation. `source(operation, block)` returns a block of
/// its coefficients. Calls `output(operation, group, coefficients)` for each group of the products,
/// with eight coefficients in `0..q2`. All lanes of a warp make each call together.
#[inline(always)]
pub(crate) fn for_each_group<S: Simt, R: Ring>(
    s: S,
    f: S::Global<u8>,
    source: impl Fn(u32, u32) -> LargeBlock,
    batch: Batch,
    output: impl Fn(u32, u32, [u16; GROUP]),
) {
    let product = Product::<S, R>::new(s);
    // A matrix entry is a sum of at most two small coefficients, which fits in a signed byte.
    product.stage_matrix(|i| i32::from(s.load(f, i) as i8), |entry| [u32::from(entry as u8)]);
    product.stage_operands(|column, block| {
        // Columns after the end of the batch repeat the last operation.
        source((columns::<R>() * s.block() + column).min(batch.operations() - 1), block)
    });
    product.multiply(0, toeplitz::modulo_q2::<R>, |number, tile| {
        let group = toeplitz::group(s, number);
        tile.for_each_column(s, |column, coefficients| {
            output(columns::<R>() * s.block() + column, group, coefficients);
        });
    });
}
