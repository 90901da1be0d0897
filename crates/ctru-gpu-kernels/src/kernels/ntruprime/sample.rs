//! Samples small and short polynomials as [`ctru_math::short`] does, one warp per polynomial.
//!
//! The places of the coefficients of a short polynomial other than 0 follow from sorting, by the
//! bitonic network of [`ctru_math::short`]: it merges sorted runs, in steps that compare words at a
//! distance and move the smaller one to the lower place. A row is one word of each thread, so steps
//! between rows compare registers, and steps within a row shuffle. The first step of a merge
//! compares a run with the reversed other one. It leaves the threads of the rows of the other run
//! reversed, because the steps that follow sort a reversed row as well.
//!
//! Source: K. E. Batcher, "Sorting networks and their applications", AFIPS 1968.

use core::marker::PhantomData;

use ctru_math::{NtruPrimeRing, Ring};

use crate::descriptor::{Batch, Shape};
use crate::kernels::{rolled, row, unrolled, warp};
use crate::simt::{Simt, WARP};

use super::stream;

/// Returns the block shape: one warp and one polynomial per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    warp::shape(0)
}

/// Samples short polynomials from the words of one draw.
///
/// Threads: one warp per polynomial.
/// Arrays: `stream`, rows of [`stream::words`] for one draw; `short`, signed bytes.
#[inline(always)]
pub fn short<S: Simt, R: Ring>(s: S, stream: S::Global<u64>, short: S::Global<u8>, _: Batch) {
    let (words, first) = (s.cast::<u64, u32>(stream), 2 * stream::words::<R>(1) * s.block());
    store_short::<S, R>(s, |i| s.load(words, first + i), (short, row::<R>() * s.block()));
}

/// Writes the short polynomial of `n` words as signed bytes, from byte `start` of an array on.
#[inline(always)]
pub fn store_short<S: Simt, R: NtruPrimeRing>(
    s: S,
    word: impl Fn(u32) -> u32,
    (memory, start): (S::Global<u8>, u32),
) {
    let (n, weight) = (R::N as u32, R::WEIGHT as u32);
    // The two lowest bits are the coefficient plus 1: even for the first words, or else 1.
    let key = |i: u32| {
        let word = word(i.min(n - 1));
        let key = if i < weight { word & !1 } else { word & !3 | 1 };
        if i < n { key } else { u32::MAX }
    };
    let sorted = Sorter::<S, R>::new(s).sorted(key);
    unrolled!(group < groups::<R>(), {
        for (k, &key) in sorted[group as usize].iter().enumerate() {
            let i = place(s, group, k);
            if i < n {
                s.store(memory, start + i, ((key & 3) as u8).wrapping_sub(1));
            }
        }
    });
}

/// Returns the coefficient of a small polynomial, as a signed byte, that follows from a random
/// word.
#[inline(always)]
pub(super) fn small(word: u32) -> u8 {
    (((3 * (word & 0x3fff_ffff)) >> 30) as u8).wrapping_sub(1)
}

/// Rows whose words are compared with one another without a jump.
const GROUP: usize = 4;
/// The most groups that [`unrolled`] counts. A polynomial has at most 10.
const MOST_GROUPS: usize = 18;

/// A thread's word of each row.
type Rows = [[u32; GROUP]; MOST_GROUPS];

/// Returns the number of groups that hold `n` words.
const fn groups<R: NtruPrimeRing>() -> u32 {
    (R::N as u32).div_ceil(GROUP as u32 * WARP)
}

/// Returns the number of the thread's word in row `k` of a group.
#[inline(always)]
fn place<S: Simt>(s: S, group: u32, k: usize) -> u32 {
    (GROUP as u32 * group + k as u32) * WARP + s.lane()
}

/// The sorting network of a warp.
#[derive(Copy, Clone)]
struct Sorter<S, R> {
    s: S,
    ring: PhantomData<R>,
}

impl<S: Simt, R: NtruPrimeRing> Sorter<S, R> {
    fn new(s: S) -> Self {
        Self { s, ring: PhantomData }
    }

    /// Calls `word(i)` for each place `i` of all groups, and returns these words at the same
    /// places, in ascending order.
    #[inline(always)]
    fn sorted(self, word: impl Fn(u32) -> u32) -> Rows {
        const { assert!(groups::<R>() as usize <= MOST_GROUPS) };
        let mut rows = [[0; GROUP]; MOST_GROUPS];
        unrolled!(group < groups::<R>(), {
            for (k, row) in rows[group as usize].iter_mut().enumerate() {
                *row = word(place(self.s, group, k));
            }
        });
        for stage in 0..rolled(self.s, WARP.ilog2()) {
            let run = 1 << stage;
            self.merge_threads(&mut rows, run, 2 * run - 1);
        }
        self.merge_in_groups(&mut rows);
        self.merge_groups::<1>(&mut rows);
        self.merge_groups::<2>(&mut rows);
        self.merge_groups::<4>(&mut rows);
        self.merge_groups::<8>(&mut rows);
        rows
    }

    /// Sorts the words of each group, whose rows are sorted.
    #[inline(always)]
    fn merge_in_groups(self, rows: &mut Rows) {
        unrolled!(group < groups::<R>(), {
            let [a, b, c, d] = &mut rows[group as usize];
            self.order_reversed(a, b);
            self.order_reversed(c, d);
        });
        self.merge_rows(rows);
        unrolled!(group < groups::<R>(), {
            let [a, b, c, d] = &mut rows[group as usize];
            self.order_reversed(a, d);
            self.order_reversed(b, c);
            order(a, b);
            order(c, d);
        });
        self.merge_rows(rows);
    }

    /// Merges pairs of sorted runs of `RUN` groups. Groups after the last one count as words above
    /// all others, which never move.
    #[inline(always)]
    fn merge_groups<const RUN: u32>(self, rows: &mut Rows) {
        if RUN >= groups::<R>() {
            return;
        }
        unrolled!(group < groups::<R>(), {
            let other = group ^ (2 * RUN - 1);
            if group & RUN == 0 && other < groups::<R>() {
                self.pairs(rows, group, other, |k| GROUP - 1 - k, Self::order_reversed);
            }
        });
        self.compare_groups::<4, RUN>(rows);
        self.compare_groups::<2, RUN>(rows);
        self.compare_groups::<1, RUN>(rows);
        unrolled!(group < groups::<R>(), {
            let [a, b, c, d] = &mut rows[group as usize];
            order(a, c);
            order(b, d);
            order(a, b);
            order(c, d);
        });
        self.merge_rows(rows);
    }

    /// Compares groups at a distance, if the distance is less than `RUN`.
    #[inline(always)]
    fn compare_groups<const DISTANCE: u32, const RUN: u32>(self, rows: &mut Rows) {
        if DISTANCE >= RUN {
            return;
        }
        unrolled!(group < groups::<R>(), {
            let other = group + DISTANCE;
            if group & DISTANCE == 0 && other < groups::<R>() {
                self.pairs(rows, group, other, |k| k, |_, low, high| order(low, high));
            }
        });
    }

    /// Calls `compare` for row `k` of group `low` and row `partner(k)` of group `high`.
    #[inline(always)]
    fn pairs(
        self,
        rows: &mut Rows,
        low: u32,
        high: u32,
        partner: impl Fn(usize) -> usize,
        compare: impl Fn(Self, &mut u32, &mut u32),
    ) {
        let (low, high) = (low as usize, high as usize);
        for k in 0..GROUP {
            let (mut a, mut b) = (rows[low][k], rows[high][partner(k)]);
            compare(self, &mut a, &mut b);
            (rows[low][k], rows[high][partner(k)]) = (a, b);
        }
    }

    /// Compares a row with another one, whose threads are reversed before and after.
    #[inline(always)]
    fn order_reversed(self, low: &mut u32, high: &mut u32) {
        *high = self.s.shuffle(*high, WARP - 1 - self.s.lane());
        order(low, high);
    }

    /// Sorts the words of each row, which a merge has compared with those of other rows.
    #[inline(always)]
    fn merge_rows(self, rows: &mut Rows) {
        self.merge_threads(rows, WARP / 2, WARP / 2);
    }

    /// Merges pairs of runs of `run` threads in each row. In the first step, the numbers of two
    /// threads that compare their words differ in the bits `partner`.
    #[inline(always)]
    fn merge_threads(self, rows: &mut Rows, run: u32, partner: u32) {
        let s = self.s;
        let (mut bit, mut partner) = (run, partner);
        while bit != 0 {
            s.keep_rolled();
            let is_low = s.lane() & bit == 0;
            unrolled!(group < groups::<R>(), {
                for row in &mut rows[group as usize] {
                    let (own, other) = (*row, s.shuffle(*row, s.lane() ^ partner));
                    *row = if is_low { own.min(other) } else { own.max(other) };
                }
            });
            bit /= 2;
            partner = bit;
        }
    }
}

/// Moves the smaller word to `low`, and the larger one to `high`.
#[inline(always)]
fn order(low: &mut u32, high: &mut u32) {
    (*low, *high) = ((*low).min(*high), (*low).max(*high));
}
