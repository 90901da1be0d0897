//! Products of one element of `R_q` by the small polynomials of many operations, and encryption and verification around them:
//! the form for batches that have one public key.
//!
//! All operations use the first key, whatever the batch says.

use ctru_math::Ring;

use super::fused::ciphertext_group;
use super::select;
use super::tiles::Strings;
use crate::descriptor::{Batch, Shape};
use crate::kernels::product::operand::{SmallBlock, coins_block};
use crate::kernels::product::toeplitz::{self, MatrixProduct, Tile};
use crate::kernels::product::{modulo_q, positive};
use crate::simt::{Simt, WARP};

/// Tiles of columns of a block: with four, a column a lane.
const COLUMN_TILES: usize = 4;

type Product<S, R> = MatrixProduct<S, R, 2, 1, COLUMN_TILES>;

/// Where a block's strings begin.
const fn strings<R: Ring>() -> u32 {
    Product::<(), R>::END
}

/// A block of four warps for 32 operations; each warp has room for its part of their ciphertexts.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    const { assert!(Product::<(), R>::COLUMNS == WARP) };
    Product::<(), R>::shape(WARP, toeplitz::WARPS * Strings::<(), R>::BYTES)
}

/// Ciphertexts for one key `h`: the arrays of [`fused::encrypt`](super::fused::encrypt).
#[inline(always)]
pub fn encrypt<S: Simt, R: Ring>(
    s: S,
    h: S::Global<u16>,
    coins: S::Global<u64>,
    messages: S::Global<u64>,
    ciphertexts: S::Global<u8>,
    batch: Batch,
) {
    for_each_tile_of_ciphertexts::<S, R>(s, h, coins, messages, batch, |tile, strings| {
        strings.write(ciphertexts, tile, batch.operations());
    });
}

/// Verification for one key `h`: the arrays of [`fused::verify`](super::fused::verify).
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
    // Lane k compares the ciphertext of column k, as far as this warp has tiles of it.
    let mut difference = 0;
    for_each_tile_of_ciphertexts::<S, R>(s, h, coins, messages, batch, |tile, strings| {
        difference |= strings.difference(received, tile, batch.operations());
    });
    // Every warp has finished with its strings before others write there.
    s.sync_block();
    select::choose_by_lane(
        s,
        strings::<R>(),
        difference,
        batch.operations(),
        rejection_secrets,
        shared_secrets,
    );
}

/// Multiplies `h` by the polynomials `source(operation, block)` of the block's operations and gives every tile of the products,
/// canonical modulo `q`, to `output`.
#[inline(always)]
pub(crate) fn for_each_tile<S: Simt, R: Ring>(
    s: S,
    h: S::Global<u16>,
    source: impl Fn(u32, u32) -> SmallBlock,
    batch: Batch,
    output: impl FnMut(u32, Tile<COLUMN_TILES>),
) {
    let product = Product::<S, R>::new(s);
    product.stage_matrix(|i| i32::from(s.load(h, i)), toeplitz::split_modulo_q::<R>);
    product.stage_operands(|column, block| {
        // Columns behind the batch's end repeat the last operation.
        [source((WARP * s.block() + column).min(batch.operations() - 1), block)]
    });
    product.multiply(positive::<R>(), modulo_q::<R>, output);
}

/// Encrypts and gives every tile of the block's ciphertexts to `output`.
#[inline(always)]
fn for_each_tile_of_ciphertexts<S: Simt, R: Ring>(
    s: S,
    h: S::Global<u16>,
    coins: S::Global<u64>,
    messages: S::Global<u64>,
    batch: Batch,
    mut output: impl FnMut(u32, Strings<S, R>),
) {
    let strings = Strings::<S, R>::new(s, strings::<R>() + Strings::<S, R>::BYTES * s.warp());
    let source = |operation, block| coins_block::<S, R>(s, coins, operation, block);
    for_each_tile::<S, R>(s, h, source, batch, |number, tile| {
        let group = toeplitz::group(s, number);
        tile.for_each_column(s, |column, sigma| {
            let operation = (WARP * s.block() + column).min(batch.operations() - 1);
            let values = ciphertext_group::<S, R>(s, messages, operation, group, sigma);
            strings.set_group(column, s.lane() / 4, values);
        });
        s.sync_warp();
        output(number, strings);
        s.sync_warp();
    });
}
