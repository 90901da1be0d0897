//! Decryption for batches with one secret key: the key's matrix times the ciphertexts of 32
//! operations, `toeplitz`.
//!
//! All operations use row 0 of `f`, whatever the batch says.

use ctru_math::Ring;
use ctru_math::kernel::bits::GROUP;
use ctru_math::kernel::e8;

use crate::descriptor::{Batch, Shape};
use crate::kernels::message_words;
use crate::kernels::product::operand::{LargeBlock, ciphertext_block};
use crate::kernels::product::toeplitz::{self, MatrixProduct};
use crate::simt::Simt;

/// Tiles of 8 columns in a block.
const COLUMN_TILES: usize = 4;

type Product<S, R> = MatrixProduct<S, R, 1, 2, COLUMN_TILES>;

/// Returns the operations of a block.
const fn columns<R: Ring>() -> u32 {
    Product::<(), R>::COLUMNS
}

/// Returns blocks of four warps for 32 operations. At `n = 1277` they need more than the 99 KiB of
/// shared memory that a block of a GeForce card can have.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Product::<(), R>::shape(columns::<R>(), 0)
}

/// Decrypts ciphertexts with one secret polynomial as [`fused::decrypt`](super::fused::decrypt)
/// does.
///
/// Threads: four warps for 32 operations.
/// Shared memory: the key's matrix and the operands.
/// Arrays: `ciphertexts`, whole words in all; `f`, one row of signed bytes; `messages`.
#[inline(always)]
pub fn decrypt<S: Simt, R: Ring>(
    s: S,
    ciphertexts: S::Global<u8>,
    f: S::Global<u8>,
    messages: S::Global<u64>,
    batch: Batch,
) {
    let source = |operation, block| ciphertext_block::<S, R>(s, ciphertexts, operation, block);
    for_each_group::<S, R>(s, f, source, batch, |operation, group, values| {
        let nibble = u32::from(e8::decode_block(R::Q2 as u16, values));
        let coded = group < (R::CODED_COEFFS / GROUP) as u32;
        // Every fourth lane has a nibble of the tile, and these nibbles are half a word of the
        // message.
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

/// Multiplies `f` by the polynomials `source(operation, block)` of the block's operations. Calls
/// `output` with the numbers of operation and group and with the eight coefficients in `0..q2`, for
/// each group; all lanes take part in a call.
#[inline(always)]
pub(crate) fn for_each_group<S: Simt, R: Ring>(
    s: S,
    f: S::Global<u8>,
    source: impl Fn(u32, u32) -> LargeBlock,
    batch: Batch,
    output: impl Fn(u32, u32, [u16; GROUP]),
) {
    let product = Product::<S, R>::new(s);
    // A sum of two small coefficients fits a signed byte.
    product.stage_matrix(|i| i32::from(s.load(f, i) as i8), |entry| [u32::from(entry as u8)]);
    product.stage_operands(|column, block| {
        // Columns behind the batch's end repeat the last operation.
        source((columns::<R>() * s.block() + column).min(batch.operations() - 1), block)
    });
    product.multiply(0, toeplitz::modulo_q2::<R>, |number, tile| {
        let group = toeplitz::group(s, number);
        tile.for_each_column(s, |column, coefficients| {
            output(columns::<R>() * s.block() + column, group, coefficients);
        });
    });
}
