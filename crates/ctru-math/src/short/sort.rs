//! A sorting network: the words are compared in an order that does not depend on them.
//!
//! A row is a vector of words. The network is the bitonic one: it merges sorted runs, in steps that
//! compare words at a distance and move the smaller one to the lower place. The first step of a
//! merge compares a run with the reversed other one, so all steps move smaller words down. Missing
//! rows at the end count as words above all others, which never move, so any number of rows can be
//! sorted.
//!
//! Source: K. E. Batcher, "Sorting networks and their applications", AFIPS 1968.

use crate::simd::Simd;

/// Words in a row.
pub(super) const LANES: usize = 16;
/// Most rows: those of 1277 words.
pub(super) const MOST_ROWS: usize = 80;

/// A vector of words.
pub(super) type Row = [u32; LANES];

/// Sorts the words of all rows.
#[inline(always)]
pub(super) fn sort<S: Simd>(_simd: S, rows: &mut [Row]) {
    // The masks come from memory, because the compiler vectorises operations that are the same for
    // all lanes.
    let masks = core::hint::black_box(MASKS);
    for row in rows.iter_mut() {
        *row = sort_row(*row, &masks);
    }
    let mut run = 1;
    while run < rows.len() {
        for first in (0..rows.len()).step_by(2 * run) {
            for i in 0..run {
                let (low, high) = (first + i, first + 2 * run - 1 - i);
                if high < rows.len() {
                    (rows[low], rows[high]) = order_reversed(rows[low], rows[high]);
                }
            }
        }
        let mut distance = run / 2;
        while distance > 0 {
            for first in (0..rows.len()).step_by(2 * distance) {
                for low in first..first + distance {
                    if low + distance < rows.len() {
                        (rows[low], rows[low + distance]) = order(rows[low], rows[low + distance]);
                    }
                }
            }
            distance /= 2;
        }
        for row in rows.iter_mut() {
            *row = merge_row(*row, &masks);
        }
        run *= 2;
    }
}

/// Mask `k` has all ones in the lanes whose numbers have bit `k`.
const MASKS: [Row; 4] = {
    let mut masks = [[0; LANES]; 4];
    let mut i = 0;
    while i < 4 * LANES {
        let (k, lane) = (i / LANES, i % LANES);
        masks[k][lane] = ((lane >> k & 1) as u32).wrapping_neg();
        i += 1;
    }
    masks
};

/// Returns the smaller and the larger word of each lane.
#[inline(always)]
fn order(a: Row, b: Row) -> (Row, Row) {
    let (mut low, mut high) = ([0; LANES], [0; LANES]);
    for i in 0..LANES {
        low[i] = a[i].min(b[i]);
        high[i] = a[i].max(b[i]);
    }
    (low, high)
}

/// Does the same for `a` and the reversed `b`, and reverses the larger words.
#[inline(always)]
fn order_reversed(a: Row, mut b: Row) -> (Row, Row) {
    b.reverse();
    let (low, mut high) = order(a, b);
    high.reverse();
    (low, high)
}

/// Compares each lane with the one whose number differs in the bits `PARTNER`, and moves the larger
/// word to the lanes of `mask`.
#[inline(always)]
fn step<const PARTNER: usize>(x: Row, mask: &Row) -> Row {
    let (mut own, mut other, mut result) = ([0; LANES], [0; LANES], [0; LANES]);
    for i in 0..LANES {
        // The maximum of two words is the complement of the minimum of their complements.
        own[i] = x[i] ^ mask[i];
        other[i] = x[i ^ PARTNER] ^ mask[i];
    }
    for i in 0..LANES {
        result[i] = own[i].min(other[i]) ^ mask[i];
    }
    result
}

/// Sorts the words of a row.
#[inline(always)]
fn sort_row(x: Row, [one, two, four, eight]: &[Row; 4]) -> Row {
    let x = step::<1>(x, one);
    let x = step::<1>(step::<3>(x, two), one);
    let x = step::<1>(step::<2>(step::<7>(x, four), two), one);
    step::<1>(step::<2>(step::<4>(step::<15>(x, eight), four), two), one)
}

/// Sorts the words of a row whose lower and higher half a merge has compared with other rows.
#[inline(always)]
fn merge_row(x: Row, [one, two, four, eight]: &[Row; 4]) -> Row {
    step::<1>(step::<2>(step::<4>(step::<8>(x, eight), four), two), one)
}
