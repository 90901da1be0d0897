//! The steps of the sorting network in AVX-512: a row is one vector.

use core::arch::x86_64::*;
use core::mem::transmute;

use super::sort::{Compare, LANES, Row};
use crate::backend::Avx512;

impl Compare for Avx512 {
    #[inline(always)]
    fn order(&self, low: &mut Row, high: &mut Row) {
        // SAFETY: the token exists only where the CPU has AVX-512F.
        #[allow(unsafe_code)]
        unsafe {
            order(low, high);
        }
    }
    #[inline(always)]
    fn order_reversed(&self, low: &mut Row, high: &mut Row) {
        // SAFETY: the token exists only where the CPU has AVX-512F.
        #[allow(unsafe_code)]
        unsafe {
            order_reversed(low, high);
        }
    }
    #[inline(always)]
    fn sort_rows(&self, a: &mut Row, b: &mut Row) {
        // SAFETY: the token exists only where the CPU has AVX-512F.
        #[allow(unsafe_code)]
        unsafe {
            sort_rows(a, b);
        }
    }
    #[inline(always)]
    fn merge_rows(&self, a: &mut Row, b: &mut Row) {
        // SAFETY: the token exists only where the CPU has AVX-512F.
        #[allow(unsafe_code)]
        unsafe {
            merge_rows(a, b);
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn vector(row: Row) -> __m512i {
    // SAFETY: both types are 64 bytes in which every bit pattern is valid.
    #[allow(unsafe_code)]
    unsafe {
        transmute::<Row, __m512i>(row)
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn row(vector: __m512i) -> Row {
    // SAFETY: both types are 64 bytes in which every bit pattern is valid.
    #[allow(unsafe_code)]
    unsafe {
        transmute::<__m512i, Row>(vector)
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn reversed(x: __m512i) -> __m512i {
    const REVERSED: Row = [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];
    _mm512_permutexvar_epi32(vector(REVERSED), x)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn order(low: &mut Row, high: &mut Row) {
    let (a, b) = (vector(*low), vector(*high));
    *low = row(_mm512_min_epu32(a, b));
    *high = row(_mm512_max_epu32(a, b));
}

#[inline]
#[target_feature(enable = "avx512f")]
fn order_reversed(low: &mut Row, high: &mut Row) {
    let (a, b) = (vector(*low), reversed(vector(*high)));
    *low = row(_mm512_min_epu32(a, b));
    *high = row(reversed(_mm512_max_epu32(a, b)));
}

/// Returns which word of two rows lies in `lane` of the two vectors of a step that compares words
/// whose numbers differ in the bits `partner`: vector 0 has the lower words of both rows, and
/// vector 1 their partners. If `partner` is 0, the vectors are the rows.
const fn word(partner: usize, lane: usize) -> usize {
    if partner == 0 {
        return lane;
    }
    let (vector, row, i) = (lane / LANES, lane % LANES / 8, lane % 8);
    let top = 1 << partner.ilog2();
    let lower = i / top * 2 * top + i % top;
    row * LANES + if vector == 0 { lower } else { lower ^ partner }
}

/// Returns the lanes before a step `FROM` of which the vectors of a step `TO` consist.
const fn lanes<const FROM: usize, const TO: usize>() -> [Row; 2] {
    let mut lanes = [[0; LANES]; 2];
    let mut to = 0;
    while to < 2 * LANES {
        let mut from = 0;
        while word(FROM, from) != word(TO, to) {
            from += 1;
        }
        lanes[to / LANES][to % LANES] = from as u32;
        to += 1;
    }
    lanes
}

/// Takes the vectors of a step `FROM` to those of a step `TO`.
#[inline]
#[target_feature(enable = "avx512f")]
fn arrange<const FROM: usize, const TO: usize>([a, b]: [__m512i; 2]) -> [__m512i; 2] {
    let [first, second] = const { lanes::<FROM, TO>() };
    [
        _mm512_permutex2var_epi32(a, vector(first), b),
        _mm512_permutex2var_epi32(a, vector(second), b),
    ]
}

/// Does the step `TO` after the step `FROM`.
#[inline]
#[target_feature(enable = "avx512f")]
fn step<const FROM: usize, const TO: usize>(rows: [__m512i; 2]) -> [__m512i; 2] {
    let [low, high] = arrange::<FROM, TO>(rows);
    [_mm512_min_epu32(low, high), _mm512_max_epu32(low, high)]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sort_rows(a: &mut Row, b: &mut Row) {
    let x = step::<0, 1>([vector(*a), vector(*b)]);
    let x = step::<3, 1>(step::<1, 3>(x));
    let x = step::<2, 1>(step::<7, 2>(step::<1, 7>(x)));
    let x = step::<2, 1>(step::<4, 2>(step::<15, 4>(step::<1, 15>(x))));
    let [x, y] = arrange::<1, 0>(x);
    (*a, *b) = (row(x), row(y));
}

#[inline]
#[target_feature(enable = "avx512f")]
fn merge_rows(a: &mut Row, b: &mut Row) {
    let x = step::<4, 2>(step::<8, 4>(step::<0, 8>([vector(*a), vector(*b)])));
    let [x, y] = arrange::<1, 0>(step::<2, 1>(x));
    (*a, *b) = (row(x), row(y));
}
