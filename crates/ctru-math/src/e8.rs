//! The E8 lattice code: four message bits in eight coefficients.
//!
//! The codewords are those of the extended Hamming code of length 8 and minimum distance 4. A decrypted
//! coefficient `v` is near 0 where the codeword has a 0 and near `q2/2` where it has a 1, cyclically modulo
//! `q2`; the decoder finds a codeword whose distance to all eight together is least.
//!
//! Source: CTRU-Prime paper, the scalable E8 lattice code.

use crate::poly::RoundedPoly;
use crate::ring::Ring;
use crate::simd::{Simd, WithSimd, dispatch};
use crate::wipe::wipe;

/// Coefficients of a codeword.
pub const BLOCK: usize = 8;

/// The codeword of a nibble `a_0 + 2 a_1 + 4 a_2 + 8 a_3`; bit `j` belongs to coefficient `j` of the block.
#[inline(always)]
#[must_use]
pub fn encode_nibble(nibble: u8) -> u8 {
    let row = |bit: u8, row: u8| (nibble >> bit & 1).wrapping_neg() & row;
    row(0, 0x55) ^ row(1, 0x0f) ^ row(2, 0x3c) ^ row(3, 0xf0)
}

/// The two codewords of a message byte, that of the low nibble first.
#[inline(always)]
#[must_use]
pub fn encode_pair(byte: u8) -> [u8; 2] {
    [encode_nibble(byte & 15), encode_nibble(byte >> 4)]
}

/// By how much `v`, `0 <= v < q2`, speaks for a 0 and against a 1: in `-q2/4..=q2/4`.
///
/// With `a = min(v, q2 - v)` the squared distances to 0 and `q2/2` are `a^2` and `(q2/2 - a)^2`. The second
/// exceeds the first by `q2` times `q2/4 - a`, which is returned. So the squared distances of two codewords
/// differ by `q2` times a sum of such numbers, and the squares are never needed.
#[inline(always)]
#[must_use]
pub fn reliability(q2: u16, v: u16) -> i16 {
    let v = v as i16;
    let negated = (q2 as i16).wrapping_sub(v);
    (q2 / 4) as i16 - v.min(negated)
}

/// The nibble of a nearest codeword for the [`reliability`] of each coefficient, `|u_i| <= 2^10`.
///
/// The codewords with `a_0 = 0` are those that hold 0, 0 or 1, 1 in each of the four pairs of neighbours,
/// with an even number of the latter; the codewords with `a_0 = 1` hold 1, 0 or 0, 1 in the same way. So for
/// both `a_0` the pairs are decided one by one, and if an odd number of them is complemented, the decision
/// that matters least is reversed. In a tie a pair is not complemented, the first pair is reversed, and `a_0`
/// is 0.
#[inline(always)]
#[must_use]
pub fn nearest(u: [i16; BLOCK]) -> u8 {
    let (even_cost, even) = nearest_in_coset([u[0] + u[1], u[2] + u[3], u[4] + u[5], u[6] + u[7]]);
    let (odd_cost, odd) = nearest_in_coset([u[1] - u[0], u[3] - u[2], u[5] - u[4], u[7] - u[6]]);
    // Each cost is relative to no complement at all: 00000000 in the first coset, 10101010 in the second, which
    // costs u_0 + u_2 + u_4 + u_6 more.
    let odd_is_nearer = negative(odd_cost + u[0] + u[2] + u[4] + u[6] - even_cost);
    let chosen = |index: usize| (even[index] & !odd_is_nearer) | (odd[index] & odd_is_nearer);
    let (p0, p1, p3) = (chosen(0), chosen(1), chosen(3));
    ((odd_is_nearer & 1) | (p0 & 2) | ((p0 ^ p1) & 4) | (p3 & 8)) as u8
}

/// Decides four pairs. `differences[j]` is what pair `j` costs more if it is complemented. Returns the total
/// cost relative to no complement at all, and for each pair -1 if it is complemented or else 0: an even
/// number of pairs is.
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

/// -1 if the number is negative, or else 0.
#[inline(always)]
fn negative(number: i16) -> i16 {
    number >> 15
}

/// The nibble of a nearest codeword for a block of values in `0..q2`, `q2 <= 2^12`.
#[inline(always)]
#[must_use]
pub fn decode_block(q2: u16, block: [u16; BLOCK]) -> u8 {
    nearest(block.map(|v| reliability(q2, v)))
}

/// Blocks that are decoded side by side, one in each lane of a vector.
const LANES: usize = 16;

/// Decodes a decrypted polynomial to a message, written to where its owner wipes it. The
/// coefficients after the first [`Ring::CODED_COEFFS`] are not looked at.
pub fn decode<R: Ring>(decrypted: &RoundedPoly<R>, message: &mut R::MessageBytes) {
    R::decode_message(decrypted, message);
}

pub(crate) fn decode_blocks<R: Ring>(decrypted: &RoundedPoly<R>, message: &mut R::MessageBytes) {
    dispatch(Decode { decrypted, message });
}

struct Decode<'a, R: Ring> {
    decrypted: &'a RoundedPoly<R>,
    message: &'a mut R::MessageBytes,
}

impl<R: Ring> WithSimd for Decode<'_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { decrypted, message } = self;
        let (mut u, mut nibbles) = ([[0; LANES]; BLOCK], [0; LANES]);
        let coded = &decrypted.coefficients()[..R::CODED_COEFFS];
        let (groups, tail) = coded.as_chunks::<{ LANES * BLOCK }>();
        let (group_bytes, tail_bytes) = message.as_mut().split_at_mut(groups.len() * (LANES / 2));
        for (bytes, group) in group_bytes.chunks_exact_mut(LANES / 2).zip(groups) {
            decode_group(R::Q2 as u16, group, &mut u, &mut nibbles, bytes);
        }
        let mut last = [0; LANES * BLOCK];
        last[..tail.len()].copy_from_slice(tail);
        decode_group(R::Q2 as u16, &last, &mut u, &mut nibbles, tail_bytes);
        wipe(&mut last);
        wipe(u.as_flattened_mut());
        wipe(&mut nibbles);
    }
}

/// Decodes [`LANES`] blocks to the bytes that their nibbles make, as many as there is room for. `u`
/// and `nibbles` are scratch.
#[inline(always)]
fn decode_group(
    q2: u16,
    values: &[u16; LANES * BLOCK],
    u: &mut [[i16; LANES]; BLOCK],
    nibbles: &mut [u8; LANES],
    bytes: &mut [u8],
) {
    // Coefficient j of all blocks side by side, so that a vector instruction does the same step for all blocks.
    for (lane, block) in values.as_chunks::<BLOCK>().0.iter().enumerate() {
        for (row, &v) in u.iter_mut().zip(block) {
            row[lane] = reliability(q2, v);
        }
    }
    for (lane, nibble) in nibbles.iter_mut().enumerate() {
        *nibble = nearest([
            u[0][lane], u[1][lane], u[2][lane], u[3][lane], u[4][lane], u[5][lane], u[6][lane],
            u[7][lane],
        ]);
    }
    for (byte, [low, high]) in bytes.iter_mut().zip(nibbles.as_chunks::<2>().0) {
        *byte = low | high << 4;
    }
}
