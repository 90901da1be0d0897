//! The E8 code on single blocks; [`e8`](crate::e8) describes the code.

/// Number of coefficients of a codeword.
pub const BLOCK: usize = 8;

/// Returns the codeword of a nibble `a_0 + 2 a_1 + 4 a_2 + 8 a_3`. Bit `j` belongs to coefficient
/// `j` of the block.
#[inline(always)]
#[must_use]
pub fn encode_nibble(nibble: u8) -> u8 {
    let row = |bit: u8, row: u8| (nibble >> bit & 1).wrapping_neg() & row;
    row(0, 0x55) ^ row(1, 0x0f) ^ row(2, 0x3c) ^ row(3, 0xf0)
}

/// Returns the two codewords of a message byte. The first one belongs to the low nibble.
#[inline(always)]
#[must_use]
pub fn encode_pair(byte: u8) -> [u8; 2] {
    [encode_nibble(byte & 15), encode_nibble(byte >> 4)]
}

/// Returns the reliability of a coefficient `v`: positive if it is nearer to 0 than to `q2/2`.
///
/// With `a = min(v, q2 - v)`, the squared distances to 0 and `q2/2` are `a^2` and `(q2/2 - a)^2`.
/// Their difference is `q2 (q2/4 - a)`, and the function returns `q2/4 - a`. The squared distances
/// of two codewords differ by `q2` times a sum of reliabilities, so no square is needed.
///
/// Input: `0 <= v < q2`. Output: `-q2/4..=q2/4`.
#[inline(always)]
#[must_use]
pub fn reliability(q2: u16, v: u16) -> i16 {
    let v = v as i16;
    let negated = (q2 as i16).wrapping_sub(v);
    (q2 / 4) as i16 - v.min(negated)
}

/// Returns the nibble of a nearest codeword for the [`reliability`] of each coefficient.
///
/// A codeword has four pairs of neighbours. With `a_0 = 0`, each pair is `00` or its complement
/// `11`; with `a_0 = 1`, each pair is `10` or its complement `01`. In both cases an even number of
/// pairs are complemented. For each `a_0`, the function decides pair by pair whether to complement
/// the pair. If the number of complemented pairs is odd, it reverses the decision whose reversal
/// costs least. In a tie a pair is not complemented, the first of several cheapest decisions is
/// reversed, and `a_0` is 0.
///
/// Input: `|u_i| <= 2^10`.
#[inline(always)]
#[must_use]
pub fn nearest(u: [i16; BLOCK]) -> u8 {
    let (even_cost, even) = nearest_in_coset([u[0] + u[1], u[2] + u[3], u[4] + u[5], u[6] + u[7]]);
    let (odd_cost, odd) = nearest_in_coset([u[1] - u[0], u[3] - u[2], u[5] - u[4], u[7] - u[6]]);
    // Costs are relative to no complement: 00000000 in the first coset and 10101010 in the second,
    // which costs u_0 + u_2 + u_4 + u_6 more.
    let odd_is_nearer = negative(odd_cost + u[0] + u[2] + u[4] + u[6] - even_cost);
    let chosen = |index: usize| (even[index] & !odd_is_nearer) | (odd[index] & odd_is_nearer);
    let (p0, p1, p3) = (chosen(0), chosen(1), chosen(3));
    ((odd_is_nearer & 1) | (p0 & 2) | ((p0 ^ p1) & 4) | (p3 & 8)) as u8
}

/// Decides which of four pairs to complement, so that an even number of pairs are complemented.
///
/// `differences[j]` is the cost of complementing pair `j`. Returns the total cost relative to no
/// complement, and for each pair -1 if it is complemented or else 0.
#[inline(always)]
fn nearest_in_coset(differences: [i16; 4]) -> (i16, [i16; 4]) {
    let [p0, p1, p2, p3] = differences.map(negative);
    let [d0, d1, d2, d3] = differences.map(i16::abs);
    let odd = p0 ^ p1 ^ p2 ^ p3;

    let (first, second) = (d0.min(d1), d2.min(d3));
    let (second_of_first, second_of_second) = (negative(d1 - d0), negative(d3 - d2));
    let second_is_less = negative(second - first);
    let reversed = [
        odd & !second_is_less & !second_of_first,
        odd & !second_is_less & second_of_first,
        odd & second_is_less & !second_of_second,
        odd & second_is_less & second_of_second,
    ];
    let [e0, e1, e2, e3] = differences.map(|difference| difference.min(0));
    let cost = e0 + e1 + e2 + e3 + (odd & first.min(second));
    (cost, [p0 ^ reversed[0], p1 ^ reversed[1], p2 ^ reversed[2], p3 ^ reversed[3]])
}

/// Returns -1 if the number is negative, or else 0.
#[inline(always)]
fn negative(number: i16) -> i16 {
    number >> 15
}

/// Returns the nibble of a nearest codeword for a block of values in `0..q2`, `q2 <= 2^12`.
#[inline(always)]
#[must_use]
pub fn decode_block(q2: u16, block: [u16; BLOCK]) -> u8 {
    nearest(block.map(|v| reliability(q2, v)))
}
