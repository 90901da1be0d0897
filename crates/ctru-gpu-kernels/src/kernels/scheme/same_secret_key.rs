//! Products of one small polynomial by the polynomials modulo `q2` of many operations, and decryption around them: the form
//! for batches that have one secret key.
//!
//! All operations use the first key, whatever the batch says.

use ctru_math::codec::bits::GROUP;
use ctru_math::{Ring, e8};

use crate::descriptor::{Batch, Shape};
use crate::kernels::message_words;
use crate::kernels::product::operand::{LargeBlock, ciphertext_block};
use crate::kernels::product::toeplitz::{self, MatrixProduct};
use crate::simt::Simt;

/// Tiles of columns of a block.
const COLUMN_TILES: usize = 4;

type Product<S, R> = MatrixProduct<S, R, 1, 2, COLUMN_TILES>;

/// Operations of a block.
const fn columns<R: Ring>() -> u32 {
    Product::<(), R>::COLUMNS
}

/// A block of four warps for 32 operations. At `n = 1277` it takes more than the 99 KiB of shared memory that blocks of GeForce
/// cards can have.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Product::<(), R>::shape(columns::<R>(), 0)
}

/// The messages of ciphertexts for one secret key `f`: the arrays of [`fused::decrypt`](super::fused::decrypt).
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
        // The nibbles of a tile, in every fourth lane, are half a word of the message.
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

/// Multiplies `f` by the polynomials `source(operation, block)` of the block's operations and gives every group of eight
/// coefficients of the products modulo `q2` to `output`, with the numbers of operation and group: all lanes take part.
#[inline(always)]
pub(crate) fn for_each_group<S: Simt, R: Ring>(
    s: S,
    f: S::Global<u8>,
    source: impl Fn(u32, u32) -> LargeBlock,
    batch: Batch,
    output: impl Fn(u32, u32, [u16; GROUP]),
) {
    let product = Product::<S, R>::new(s);
    // A sum of two small coefficients is a signed byte.
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
