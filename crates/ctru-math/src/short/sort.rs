//! A sorting network: the words are compared in an order that does not depend on them.
//!
//! A row is a vector of words. The network is the bitonic one: it merges sorted runs, in steps that
//! compare words at a distance and move the smaller one to the lower place. The first step of a
//! merge compares a run with the reversed other one, so all steps move smaller words down. Missing
//! rows at the end count as words above all others, which never move, so any number of rows can be
//! sorted. Steps within four rows are done together, because four rows fit into registers.
//!
//! Source: K. E. Batcher, "Sorting networks and their applications", AFIPS 1968.

/// Words in a row.
pub(super) const LANES: usize = 16;
/// Most groups of rows: those of 1277 words.
pub(super) const MOST_GROUPS: usize = 20;

/// A vector of words.
pub(super) type Row = [u32; LANES];

/// The steps of the network.
pub(super) trait Compare {
    /// Moves the smaller word of each lane to `low`, and the larger one to `high`.
    fn order(&self, low: &mut Row, high: &mut Row);
    /// Does the same for `low` and the reversed `high`.
    fn order_reversed(&self, low: &mut Row, high: &mut Row);
    /// Sorts the words of each row.
    fn sort_rows(&self, a: &mut Row, b: &mut Row);
    /// Sorts the words of each row, whose lower and higher half a merge has compared with other
    /// rows.
    fn merge_rows(&self, a: &mut Row, b: &mut Row);
}

/// Rows that fit into registers.
pub(super) const GROUP: usize = 4;

/// Sorts the words of all rows.
#[inline(always)]
pub(super) fn sort(compare: &impl Compare, groups: &mut [[Row; GROUP]]) {
    for group in groups.iter_mut() {
        sort_group(compare, group);
    }
    let rows = groups.as_flattened_mut();
    let mut run = GROUP;
    while run < rows.len() {
        for first in (0..rows.len()).step_by(2 * run) {
            for i in 0..run {
                let (low, high) = (first + i, first + 2 * run - 1 - i);
                if let Some((rows, high)) = rows.split_at_mut_checked(high)
                    && let Some(high) = high.first_mut()
                {
                    compare.order_reversed(&mut rows[low], high);
                }
            }
        }
        let mut distance = run / 2;
        while distance >= GROUP {
            for first in (0..rows.len()).step_by(2 * distance) {
                for low in first..first + distance {
                    if let Some((rows, high)) = rows.split_at_mut_checked(low + distance)
                        && let Some(high) = high.first_mut()
                    {
                        compare.order(&mut rows[low], high);
                    }
                }
            }
            distance /= 2;
        }
        for group in rows.as_chunks_mut().0 {
            merge_group(compare, group);
        }
        run *= 2;
    }
}

/// Sorts the words of a group.
#[inline(always)]
fn sort_group(compare: &impl Compare, group: &mut [Row; GROUP]) {
    let [mut a, mut b, mut c, mut d] = *group;
    compare.sort_rows(&mut a, &mut b);
    compare.sort_rows(&mut c, &mut d);
    compare.order_reversed(&mut a, &mut b);
    compare.order_reversed(&mut c, &mut d);
    compare.merge_rows(&mut a, &mut b);
    compare.merge_rows(&mut c, &mut d);
    compare.order_reversed(&mut a, &mut d);
    compare.order_reversed(&mut b, &mut c);
    compare.order(&mut a, &mut b);
    compare.order(&mut c, &mut d);
    compare.merge_rows(&mut a, &mut b);
    compare.merge_rows(&mut c, &mut d);
    *group = [a, b, c, d];
}

/// Sorts the words of a group whose lower and higher half a merge has compared with other groups.
#[inline(always)]
fn merge_group(compare: &impl Compare, group: &mut [Row; GROUP]) {
    let [mut a, mut b, mut c, mut d] = *group;
    compare.order(&mut a, &mut c);
    compare.order(&mut b, &mut d);
    compare.order(&mut a, &mut b);
    compare.order(&mut c, &mut d);
    compare.merge_rows(&mut a, &mut b);
    compare.merge_rows(&mut c, &mut d);
    *group = [a, b, c, d];
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

/// The steps in plain Rust, which the compiler vectorises.
pub(super) struct Plain([Row; 4]);

impl Plain {
    #[inline(always)]
    pub(super) fn new() -> Self {
        // The masks come from memory, because the compiler vectorises operations that are the same
        // for all lanes.
        Self(core::hint::black_box(MASKS))
    }
}

impl Compare for Plain {
    #[inline(always)]
    fn order(&self, low: &mut Row, high: &mut Row) {
        let (a, b) = (*low, *high);
        for i in 0..LANES {
            low[i] = a[i].min(b[i]);
            high[i] = a[i].max(b[i]);
        }
    }

    #[inline(always)]
    fn order_reversed(&self, low: &mut Row, high: &mut Row) {
        high.reverse();
        self.order(low, high);
        high.reverse();
    }

    #[inline(always)]
    fn sort_rows(&self, a: &mut Row, b: &mut Row) {
        let [one, two, four, eight] = &self.0;
        for row in [a, b] {
            let x = step::<1>(*row, one);
            let x = step::<1>(step::<3>(x, two), one);
            let x = step::<1>(step::<2>(step::<7>(x, four), two), one);
            *row = step::<1>(step::<2>(step::<4>(step::<15>(x, eight), four), two), one);
        }
    }

    #[inline(always)]
    fn merge_rows(&self, a: &mut Row, b: &mut Row) {
        let [one, two, four, eight] = &self.0;
        for row in [a, b] {
            *row = step::<1>(step::<2>(step::<4>(step::<8>(*row, eight), four), two), one);
        }
    }
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
