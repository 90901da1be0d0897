//! Transposition of square matrices by interleaving.

/// Transposes eight rows of eight lanes in each part of a vector that the instructions treat alone.
///
/// `words`, `pairs` and `quads` interleave the lower and the upper halves of such parts: one, two
/// and four lanes at a time.
#[inline(always)]
pub(super) fn eight<T: Copy>(
    rows: [T; 8],
    words: impl Fn(T, T) -> (T, T),
    pairs: impl Fn(T, T) -> (T, T),
    quads: impl Fn(T, T) -> (T, T),
) -> [T; 8] {
    let [r0, r1, r2, r3, r4, r5, r6, r7] = rows;
    let ((a0, a1), (b0, b1)) = (words(r0, r1), words(r2, r3));
    let ((c0, c1), (d0, d1)) = (words(r4, r5), words(r6, r7));
    let (upper_01, upper_23) = pairs(a0, b0);
    let (upper_45, upper_67) = pairs(a1, b1);
    let (lower_01, lower_23) = pairs(c0, d0);
    let (lower_45, lower_67) = pairs(c1, d1);
    let (c0, c1) = quads(upper_01, lower_01);
    let (c2, c3) = quads(upper_23, lower_23);
    let (c4, c5) = quads(upper_45, lower_45);
    let (c6, c7) = quads(upper_67, lower_67);
    [c0, c1, c2, c3, c4, c5, c6, c7]
}
