//! Encryption and verification for batches with one public key: the key's matrix times the small
//! polynomials of 32 operations, `toeplitz`.
//!
//! All operations use row 0 of `h`, whatever the batch says.

use ctru_math::Ring;

use super::fused::ciphertext_group;
use super::select;
use super::tiles::CiphertextTile;
use crate::descriptor::{Batch, Shape};
use crate::kernels::product::operand::{SmallBlock, coins_block};
use crate::kernels::product::toeplitz::{self, MatrixProduct, Tile};
use crate::kernels::product::{modulo_q, positive};
use crate::simt::{Simt, WARP};

/// Tiles of 8 columns in a block: 32 columns, one for each lane.
const COLUMN_TILES: usize = 4;

type Product<S, R> = MatrixProduct<S, R, 2, 1, COLUMN_TILES>;

/// Returns where the warps' tiles of ciphertext begin in shared memory.
const fn tiles<R: Ring>() -> u32 {
    Product::<(), R>::END
}

/// Returns blocks of four warps for 32 operations. Each warp has room for its tile of ciphertext.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    const { assert!(Product::<(), R>::COLUMNS == WARP) };
    Product::<(), R>::shape(WARP, toeplitz::WARPS * CiphertextTile::<(), R>::BYTES)
}

/// Encrypts messages for one key as [`fused::encrypt`](super::fused::encrypt) does.
///
/// Threads: four warps for 32 operations.
/// Shared memory: the key's matrix, the operands, and a tile of ciphertext for each warp.
/// Arrays: `h`, one row in `0..q`; `coins`; `messages`; `ciphertexts`.
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

/// Verifies for one key as [`fused::verify`](super::fused::verify) does.
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
    // The tiles of all warps are free from here on.
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

/// Multiplies `h` by the polynomials `source(operation, block)` of the block's operations. Calls
/// `output` with each tile of the products, in `0..q`.
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

/// Encrypts, and calls `output` with each tile of the block's ciphertexts.
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
