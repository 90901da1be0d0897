//! A scan over many blocks in one pass over memory.
//!
//! A block scans a tile and needs the sum of all tiles before it. So each block publishes the sum
//! of its own tile as soon as it has it, and later the sum of everything up to its end. It looks
//! back over the sums of the tiles before it until it finds the sum of everything up to one of
//! them. Source: D. Merrill and M. Garland, "Single-pass Parallel Prefix Scan with Decoupled
//! Look-back", NVIDIA, 2016.
//!
//! A block waits for blocks with lower numbers. It relies on GPUs starting blocks in the order of
//! their numbers, as they do and as CUB relies on it too; PTX does not promise it.

use core::array;

use ctru_simt::descriptor::Batch;
use ctru_simt::simt::{Simt, U32x4, Update, WARP};

/// Threads per block.
pub const THREADS: u32 = 256;
const WARPS: u32 = THREADS / WARP;
/// Vectors of four numbers per thread.
const VECTORS: usize = 4;
/// Numbers per block.
pub const TILE: u32 = 4 * THREADS * VECTORS as u32;

/// The high half of a tile's state: the low half is the sum of the tile.
const OF_TILE: u64 = 1 << 32;
/// The high half of a tile's state: the low half is the sum of everything up to the tile's end.
const OF_ALL: u64 = 2 << 32;

/// Writes, for each number, the sum of all numbers before it. There is one state per tile, which is
/// 0 before the launch.
pub fn scan<S: Simt>(
    s: S,
    numbers: S::Global<U32x4>,
    sums: S::Global<U32x4>,
    states: S::Global<u64>,
    _: Batch,
) {
    // Neighbouring threads load neighbouring vectors.
    let place =
        |k: usize| WARP * (VECTORS as u32 * (WARPS * s.block() + s.warp()) + k as u32) + s.lane();
    let vectors: [U32x4; VECTORS] = array::from_fn(|k| s.load(numbers, place(k)));
    let mut of_warp = 0u32;
    let before_vectors = vectors.map(|U32x4(vector)| {
        let (before, row) = scan_warp(s, vector.into_iter().fold(0, u32::wrapping_add));
        let before = of_warp.wrapping_add(before);
        of_warp = of_warp.wrapping_add(row);
        before
    });
    if s.lane() == 0 {
        s.store_shared(4 * s.warp(), of_warp);
    }
    s.sync_block();
    if s.warp() == 0 {
        let own = if s.lane() < WARPS { s.load_shared(4 * s.lane()) } else { 0 };
        let (before_warp, of_tile) = scan_warp(s, own);
        let before_tile = look_back(s, states, of_tile);
        if s.lane() < WARPS {
            s.store_shared(4 * s.lane(), before_tile.wrapping_add(before_warp));
        }
    }
    s.sync_block();
    let before_warp: u32 = s.load_shared(4 * s.warp());
    for (k, (U32x4(vector), before)) in vectors.iter().zip(&before_vectors).enumerate() {
        let mut sum = before_warp.wrapping_add(*before);
        let sums_of_vector = vector.map(|number| {
            let before = sum;
            sum = sum.wrapping_add(number);
            before
        });
        s.store(sums, place(k), U32x4(sums_of_vector));
    }
}

/// Returns the sum of the numbers of the lanes before this one, and the sum of all lanes.
fn scan_warp<S: Simt>(s: S, own: u32) -> (u32, u32) {
    let mut sum = own;
    for distance in [1, 2, 4, 8, 16] {
        let before = s.shuffle(sum, s.lane().wrapping_sub(distance) % WARP);
        if s.lane() >= distance {
            sum = sum.wrapping_add(before);
        }
    }
    (sum.wrapping_sub(own), s.shuffle(sum, WARP - 1))
}

/// Publishes the sum of the block's tile and returns the sum of all tiles before it. A warp calls
/// it together.
fn look_back<S: Simt>(s: S, states: S::Global<u64>, of_tile: u32) -> u32 {
    let publish = |kind: u64, sum: u32| {
        if s.lane() == 0 {
            s.atomic(states, s.block(), Update::Exchange(kind | u64::from(sum)));
        }
    };
    if s.block() == 0 {
        publish(OF_ALL, of_tile);
        return 0;
    }
    publish(OF_TILE, of_tile);
    let (mut before, mut end) = (0u32, s.block());
    loop {
        // Lane i looks at the i-th tile before `end`. Before the first tile, the sum is 0.
        let state = || match end.checked_sub(1 + s.lane()) {
            Some(tile) => s.atomic_load(states, tile),
            None => OF_ALL,
        };
        let mut seen = state();
        while s.any(seen == 0) {
            seen = state();
        }
        // The lanes up to the first that knows the sum of everything.
        let known = s.ballot(seen >= OF_ALL);
        let counted = s.lane() <= known.trailing_zeros();
        let (_, sum) = scan_warp(s, if counted { seen as u32 } else { 0 });
        before = before.wrapping_add(sum);
        if known != 0 {
            break;
        }
        end -= WARP;
    }
    publish(OF_ALL, before.wrapping_add(of_tile));
    before
}
