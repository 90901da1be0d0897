//! Encryption and verification for batches with one public key. A block multiplies the key's matrix
//! by the small polynomials of 32 operations (module `toeplitz`).
//!
//! All operations use row 0 of `h`, even if the batch is not shared.

use ctru_math::Ring;

use super::fused::ciphertext_group;
use super::select;
use super::tiles::CiphertextTile;
use crate::descriptor::{Batch, Shape};
use crate::kernels::product::operand::{SmallBlock, coins_block};
use crate::kernels::product::toeplitz::{self, MatrixProduct, Tile};
use crate::kernels::product::{modulo_q, positive};
use crate::simt::{Simt, WARP};

/// Number of 8-column tiles per block. A block has 32 columns, one per lane of a warp.
const COLUMN_TILES: usize = 4;

type Product<S, R> = MatrixProduct<S, R, 2, 1, COLUMN_TILES>;

/// Returns the address of the warps' tiles of ciphertext in shared memory.
const fn tiles<R: Ring>() -> u32 {
    Product::<(), R>::END
}

/// Returns the block shape: four warps and 32 operations per block. The shared memory has room for
/// one tile of ciphertext per warp.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    const { assert!(Product::<(), R>::COLUMNS == WARP) };
    Product::<(), R>::shape(WARP, toeplitz::WARPS * CiphertextTile::<(), R>::BYTES)
}

/// Encrypts messages for one key as [`fused::encrypt`](super::fused::encrypt) does.
///
/// Threads: four warps per 32 operations.
/// Shared memory: the key's matrix, the operands, and one tile of ciphertext per warp.
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
    for_each_tile_of_ciphertexts::<S, R>(s, h, coins, messages, batch, |number, tile| {
        tile.write(ciphertexts, number, batch.operations());
    });
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
    // Lane k compares the parts of the ciphertext of column k that this warp computes.
    let mut difference = 0;
    for_each_tile_of_ciphertexts::<S, R>(s, h, coins, messages, batch, |number, tile| {
        difference |= tile.difference(received, number, batch.operations());
    });
    // All warps have finished with their tiles, so their memory can be reused.
    s.sync_block();
    select::choose_by_lane(
        s,
        tiles::<R>(),
        difference,
        batch.operations(),
        rejection_secrets,
        shared_secrets,
    );
}

/// Multiplies `h` by one polynomial per operation. `source(operation, block)` returns a block of
/// its coefficients. Calls `output(number, tile)` for each tile of the products, which are in
/// `0..q`.
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
        // Columns after the end of the batch repeat the last operation.
        [source((WARP * s.block() + column).min(batch.operations() - 1), block)]
    });
    product.multiply(positive::<R>(), modulo_q::<R>, output);
}

/// Encrypts the messages and calls `output(number, tile)` for each tile of the ciphertexts.
#[inline(always)]
fn for_each_tile_of_ciphertexts<S: Simt, R: Ring>(
    s: S,
    h: S::Global<u16>,
    coins: S::Global<u64>,
    messages: S::Global<u64>,
    batch: Batch,
    mut output: impl FnMut(u32, CiphertextTile<S, R>),
) {
    let tiles =
        CiphertextTile::<S, R>::new(s, tiles::<R>() + CiphertextTile::<S, R>::BYTES * s.warp());
    let source = |operation, block| coins_block::<S, R>(s, coins, operation, block);
    for_each_tile::<S, R>(s, h, source, batch, |number, tile| {
        let group = toeplitz::group(s, number);
        tile.for_each_column(s, |column, sigma| {
            let operation = (WARP * s.block() + column).min(batch.operations() - 1);
            let values = ciphertext_group::<S, R>(s, messages, operation, group, sigma);
            tiles.set_group(column, s.lane() / 4, values);
        });
        s.sync_warp();
        output(number, tiles);
        s.sync_warp();
    });
}
