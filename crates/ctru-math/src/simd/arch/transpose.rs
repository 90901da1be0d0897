//! Transposition of square matrices by interleaving.

/// Vectors that the CPU can interleave. Each method returns the lower halves of two vectors
/// interleaved, and the upper halves interleaved. Each 128-bit part of the vectors is interleaved
/// by itself.
pub(super) trait Interleave: Copy {
    /// Interleaves single lanes.
    fn interleave_words(self, y: Self) -> (Self, Self);
    /// Interleaves pairs of lanes.
    fn interleave_pairs(self, y: Self) -> (Self, Self);
    /// Interleaves groups of four lanes.
    fn interleave_quads(self, y: Self) -> (Self, Self);
}

/// Transposes the matrix of eight rows of eight lanes in each 128-bit part of the vectors.
#[inline(always)]
pub(super) fn eight<V: Interleave>(rows: [V; 8]) -> [V; 8] {
    let [r0, r1, r2, r3, r4, r5, r6, r7] = rows;
    let ((a0, a1), (b0, b1)) = (r0.interleave_words(r1), r2.interleave_words(r3));
    let ((c0, c1), (d0, d1)) = (r4.interleave_words(r5), r6.interleave_words(r7));
    let (upper_01, upper_23) = a0.interleave_pairs(b0);
    let (upper_45, upper_67) = a1.interleave_pairs(b1);
    let (lower_01, lower_23) = c0.interleave_pairs(d0);
    let (lower_45, lower_67) = c1.interleave_pairs(d1);
    let (c0, c1) = upper_01.interleave_quads(lower_01);
    let (c2, c3) = upper_23.interleave_quads(lower_23);
    let (c4, c5) = upper_45.interleave_quads(lower_45);
    let (c6, c7) = upper_67.interleave_quads(lower_67);
    [c0, c1, c2, c3, c4, c5, c6, c7]
}
