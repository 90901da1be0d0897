//! The first half of SHA-512, one state per thread.
//!
//! Source: FIPS 180-4, sections 4.1.3, 4.2.3, 5.3.5 and 6.4.

use core::array;

use crate::kernels::{rolled, unrolled};
use crate::simt::Simt;

/// 64-bit words of a hash that the scheme uses.
pub(crate) const HALF: usize = 4;
/// 64-bit words of a block.
const BLOCK: u32 = 16;
/// Rounds, each with a constant of its own.
const ROUNDS: u32 = 80;

/// Returns the first half of the hash of a byte and a string, in little-endian words.
///
/// The string has `bytes` bytes. `word(block, place)` returns its little-endian word `16 block +
/// place`, `place < 16`, and 0 for words after its end.
#[inline(always)]
pub(crate) fn half_sha512<S: Simt>(
    s: S,
    prefix: u64,
    bytes: u32,
    word: impl Fn(u32, u32) -> u64,
) -> [u64; HALF] {
    let length = 1 + bytes;
    // One byte and the number of bits, which has 16 bytes, follow the input.
    let blocks = (length + 17).div_ceil(8 * BLOCK);
    let mut state = INITIAL;
    let mut before = prefix << 56;
    for block in 0..rolled(s, blocks) {
        let mut schedule = [0; 18];
        unrolled!(place < BLOCK, {
            let own = word(block, place);
            let i = BLOCK * block + place;
            let end = if i == length / 8 { 0x80 << (8 * (length % 8)) } else { 0 };
            let bits = if i == BLOCK * blocks - 1 { u64::from(8 * length) } else { 0 };
            let input: u64 = own << 8 | before >> 56 | end;
            schedule[place as usize] = input.swap_bytes() | bits;
            before = own;
        });
        state = compressed(s, state, schedule);
    }
    let [a, b, c, d, ..] = state;
    [a, b, c, d].map(u64::swap_bytes)
}

/// Returns the state after a block, with which the schedule begins. [`unrolled`] counts to 18.
#[inline(always)]
fn compressed<S: Simt>(s: S, state: [u64; 8], mut schedule: [u64; 18]) -> [u64; 8] {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
    for group in 0..rolled(s, ROUNDS / BLOCK) {
        s.keep_rolled();
        unrolled!(t < BLOCK, {
            let word = |k: u32| schedule[((t + k) % BLOCK) as usize];
            let constant = s.constant(&CONSTANTS, BLOCK * group + t);
            let sum = xor([e.rotate_right(14), e.rotate_right(18), e.rotate_right(41)]);
            let choice = g ^ (e & (f ^ g));
            let first = h.wrapping_add(sum).wrapping_add(choice);
            let first = first.wrapping_add(constant).wrapping_add(word(0));
            let sum = xor([a.rotate_right(28), a.rotate_right(34), a.rotate_right(39)]);
            let majority = a & b ^ c & (a ^ b);
            // The word 16 places later. The last group computes words that nothing uses.
            let early = xor([word(1).rotate_right(1), word(1).rotate_right(8), word(1) >> 7]);
            let late = xor([word(14).rotate_right(19), word(14).rotate_right(61), word(14) >> 6]);
            let next = word(0).wrapping_add(early).wrapping_add(word(9)).wrapping_add(late);
            schedule[t as usize] = next;
            (h, g, f, e) = (g, f, e, d.wrapping_add(first));
            (d, c, b, a) = (c, b, a, first.wrapping_add(sum).wrapping_add(majority));
        });
    }
    let sums = [a, b, c, d, e, f, g, h];
    array::from_fn(|i| sums[i].wrapping_add(state[i]))
}

#[inline(always)]
fn xor([a, b, c]: [u64; 3]) -> u64 {
    a ^ b ^ c
}

// Both tables are written out, because the compiler would take five seconds to compute them.

/// The square roots of the first eight primes: 64 bits after the point.
#[rustfmt::skip]
const INITIAL: [u64; 8] = [
    0x6a09e667_f3bcc908, 0xbb67ae85_84caa73b, 0x3c6ef372_fe94f82b, 0xa54ff53a_5f1d36f1,
    0x510e527f_ade682d1, 0x9b05688c_2b3e6c1f, 0x1f83d9ab_fb41bd6b, 0x5be0cd19_137e2179,
];
/// The cube roots of the first 80 primes: 64 bits after the point.
#[rustfmt::skip]
static CONSTANTS: [u64; ROUNDS as usize] = [
    0x428a2f98_d728ae22, 0x71374491_23ef65cd, 0xb5c0fbcf_ec4d3b2f, 0xe9b5dba5_8189dbbc,
    0x3956c25b_f348b538, 0x59f111f1_b605d019, 0x923f82a4_af194f9b, 0xab1c5ed5_da6d8118,
    0xd807aa98_a3030242, 0x12835b01_45706fbe, 0x243185be_4ee4b28c, 0x550c7dc3_d5ffb4e2,
    0x72be5d74_f27b896f, 0x80deb1fe_3b1696b1, 0x9bdc06a7_25c71235, 0xc19bf174_cf692694,
    0xe49b69c1_9ef14ad2, 0xefbe4786_384f25e3, 0x0fc19dc6_8b8cd5b5, 0x240ca1cc_77ac9c65,
    0x2de92c6f_592b0275, 0x4a7484aa_6ea6e483, 0x5cb0a9dc_bd41fbd4, 0x76f988da_831153b5,
    0x983e5152_ee66dfab, 0xa831c66d_2db43210, 0xb00327c8_98fb213f, 0xbf597fc7_beef0ee4,
    0xc6e00bf3_3da88fc2, 0xd5a79147_930aa725, 0x06ca6351_e003826f, 0x14292967_0a0e6e70,
    0x27b70a85_46d22ffc, 0x2e1b2138_5c26c926, 0x4d2c6dfc_5ac42aed, 0x53380d13_9d95b3df,
    0x650a7354_8baf63de, 0x766a0abb_3c77b2a8, 0x81c2c92e_47edaee6, 0x92722c85_1482353b,
    0xa2bfe8a1_4cf10364, 0xa81a664b_bc423001, 0xc24b8b70_d0f89791, 0xc76c51a3_0654be30,
    0xd192e819_d6ef5218, 0xd6990624_5565a910, 0xf40e3585_5771202a, 0x106aa070_32bbd1b8,
    0x19a4c116_b8d2d0c8, 0x1e376c08_5141ab53, 0x2748774c_df8eeb99, 0x34b0bcb5_e19b48a8,
    0x391c0cb3_c5c95a63, 0x4ed8aa4a_e3418acb, 0x5b9cca4f_7763e373, 0x682e6ff3_d6b2b8a3,
    0x748f82ee_5defb2fc, 0x78a5636f_43172f60, 0x84c87814_a1f0ab72, 0x8cc70208_1a6439ec,
    0x90befffa_23631e28, 0xa4506ceb_de82bde9, 0xbef9a3f7_b2c67915, 0xc67178f2_e372532b,
    0xca273ece_ea26619c, 0xd186b8c7_21c0c207, 0xeada7dd6_cde0eb1e, 0xf57d4f7f_ee6ed178,
    0x06f067aa_72176fba, 0x0a637dc5_a2c898a6, 0x113f9804_bef90dae, 0x1b710b35_131c471b,
    0x28db77f5_23047d84, 0x32caab7b_40c72493, 0x3c9ebe0a_15c9bebc, 0x431d67c4_9c100d4c,
    0x4cc5d4be_cb3e42b6, 0x597f299c_fc657e2a, 0x5fcb6fab_3ad6faec, 0x6c44198c_4a475817,
];
