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

/// The square roots of the first eight primes: 64 bits after the point.
const INITIAL: [u64; 8] = roots(2);
/// The cube roots of the first 80 primes: 64 bits after the point.
static CONSTANTS: [u64; ROUNDS as usize] = roots(3);

/// Returns the 64 bits after the point of the roots of this degree, 2 or 3, of the first primes.
const fn roots<const N: usize>(degree: u32) -> [u64; N] {
    let mut roots = [0; N];
    let (mut prime, mut i) = (2, 0);
    while i < N {
        // The largest number whose power is at most the shifted prime, bit by bit. It has three
        // bits before the point, because no prime here is 512 or more.
        let (mut root, mut bit) = (0_u128, 1 << 66);
        while bit != 0 {
            if fits(root | bit, degree, prime) {
                root |= bit;
            }
            bit >>= 1;
        }
        roots[i] = root as u64;
        i += 1;
        prime += 1;
        while !is_prime(prime) {
            prime += 1;
        }
    }
    roots
}

/// Returns whether `root^degree` is at most `number 2^(64 degree)`.
const fn fits(root: u128, degree: u32, number: u64) -> bool {
    // Limbs of 32 bits, the lowest first.
    let factor = [root as u32, (root >> 32) as u32, (root >> 64) as u32];
    let mut power = [1, 0, 0, 0, 0, 0, 0, 0];
    let mut k = 0;
    while k < degree {
        let mut product = [0; 8];
        let mut i = 0;
        while i < factor.len() {
            let (mut carry, mut j) = (0, 0);
            while i + j < product.len() {
                let sum = factor[i] as u64 * power[j] as u64 + product[i + j] as u64 + carry;
                product[i + j] = sum as u32;
                carry = sum >> 32;
                j += 1;
            }
            i += 1;
        }
        power = product;
        k += 1;
    }
    // The power has fewer than 32 bits before the point.
    let (point, mut fraction, mut i) = (2 * degree as usize, 0, 0);
    while i < point {
        fraction |= power[i];
        i += 1;
    }
    let whole = power[point] as u64;
    whole < number || whole == number && fraction == 0
}

const fn is_prime(number: u64) -> bool {
    let mut divisor = 2;
    while divisor * divisor <= number {
        if number.is_multiple_of(divisor) {
            return false;
        }
        divisor += 1;
    }
    true
}
