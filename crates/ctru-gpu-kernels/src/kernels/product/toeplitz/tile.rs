//! A finished tile of a product: the assignment of coefficients to threads, and the functions
//! through which kernels receive the coefficients.

use core::array;

use ctru_math::kernel::bits::GROUP;

use super::{ROW_TILES, Sums, TILE, TILE_COLUMNS, WARPS};
use crate::kernels::product::HIGH;
use crate::simt::{Simt, WARP};

/// A thread's part of a tile of the product. It holds one [`group`] of eight coefficients for each
/// of the thread's `2 COLUMN_TILES` columns, in pairs of coefficients.
pub(crate) struct Tile<const COLUMN_TILES: usize>([[[u32; GROUP / 2]; 2]; COLUMN_TILES]);

impl<const COLUMN_TILES: usize> Tile<COLUMN_TILES> {
    /// Creates a tile of the coefficients that `residue` returns for the sums.
    #[inline(always)]
    pub(super) fn new(sums: &Sums<COLUMN_TILES>, residue: impl Fn(i32) -> u16) -> Self {
        let coefficient = |columns: usize, side: usize, c: usize| {
            let (m, k) = (c % ROW_TILES, 2 * (c / ROW_TILES) + side);
            u32::from(residue(sums[0][columns][m][k] + HIGH * sums[1][columns][m][k]))
        };
        Self(array::from_fn(|columns| {
            array::from_fn(|side| {
                array::from_fn(|pair| {
                    coefficient(columns, side, 2 * pair)
                        | coefficient(columns, side, 2 * pair + 1) << 16
                })
            })
        }))
    }

    /// Returns coefficient `c` of the group in the thread's column `k`.
    #[inline(always)]
    pub(super) fn coefficient(&self, k: usize, c: usize) -> u16 {
        (self.0[k / 2][k % 2][c / 2] >> (16 * (c % 2))) as u16
    }

    /// Sets the first coefficient of the group in the thread's column `k`.
    #[inline(always)]
    pub(super) fn set_first(&mut self, k: usize, value: u16) {
        let pair = &mut self.0[k / 2][k % 2][0];
        *pair = *pair & 0xffff_0000 | u32::from(value);
    }

    /// Calls `output(column, group)` for each of the thread's columns, with the number of the
    /// column and the thread's group of coefficients. All lanes of the warp make each call
    /// together.
    #[inline(always)]
    pub(crate) fn for_each_column<S: Simt>(
        mut self,
        s: S,
        mut output: impl FnMut(u32, [u16; GROUP]),
    ) {
        // `count` is `COLUMN_TILES`, but the compiler cannot evaluate it, so it does not unroll the
        // loop. A loop cannot index registers, so the next tile always moves to the first
        // registers.
        let count = s.threads() / (WARPS * WARP / COLUMN_TILES as u32);
        for columns in 0..count {
            for side in 0..2 {
                output(
                    column(s, 2 * columns + side),
                    array::from_fn(|c| self.coefficient(side as usize, c)),
                );
            }
            for k in 1..COLUMN_TILES {
                self.0[k - 1] = self.0[k];
            }
        }
    }
}

/// Returns which column of the tile is the thread's column number `k`.
#[inline(always)]
pub(super) fn column<S: Simt>(s: S, k: u32) -> u32 {
    TILE_COLUMNS * (k / 2) + 2 * (s.lane() % 4) + k % 2
}

/// Returns which group of the polynomials this thread holds in every column of tile `tile`.
#[inline(always)]
pub(crate) fn group<S: Simt>(s: S, tile: u32) -> u32 {
    TILE / GROUP as u32 * tile + s.lane() / 4
}
