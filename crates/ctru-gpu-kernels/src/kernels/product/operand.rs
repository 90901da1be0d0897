//! Operands of products on tensor cores, in blocks of 32 coefficients (four groups of eight).
//!
//! Phase `w` of a polynomial is the list of its coefficients `w`, `8 + w`, `16 + w`, ... A block
//! holds four neighbouring coefficients of each phase. All functions return zeros for the
//! coefficients from `n` on and ignore the content of the row there. Indices past the end of the
//! row load the row's last element, so no load has a condition, and a mask clears what it loads.

use core::array;

use ctru_math::Ring;
use ctru_math::kernel::bits::GROUP;

use crate::kernels::{coin_words, inside_pair, low_bits, row};
use crate::simt::{Simt, U32x4};

/// Number of phases of an operand.
pub const PHASES: u32 = GROUP as u32;
/// Number of coefficients in a block.
pub const BLOCK: u32 = 32;

/// A block of signed bytes: word `w` holds the coefficients `w`, `8 + w`, `16 + w` and `24 + w`.
pub type SmallBlock = [u32; PHASES as usize];
/// A block of coefficients of up to 13 bits: first their low seven bits, then their other bits.
pub type LargeBlock = [SmallBlock; 2];

/// Block 0 of the polynomial 1. Its other blocks are zero.
pub const ONE: SmallBlock = [1, 0, 0, 0, 0, 0, 0, 0];

/// Number of groups in a block.
const BLOCK_ROWS: usize = BLOCK as usize / GROUP;

/// Loads block `block` of row `index` of an array of small polynomials, stored as signed bytes.
#[inline(always)]
pub fn small_block<S: Simt, R: Ring>(
    s: S,
    memory: S::Global<u8>,
    index: u32,
    block: u32,
) -> SmallBlock {
    let rows = row::<R>() / GROUP as u32;
    small_block_of::<S, R>(s, block, |i| s.load(s.cast::<u8, u64>(memory), index * rows + i))
}

/// Returns block `block` of a small polynomial. `group(i)` returns its group `i` as signed bytes.
#[inline(always)]
pub fn small_block_of<S: Simt, R: Ring>(
    s: S,
    block: u32,
    group: impl Fn(u32) -> u64,
) -> SmallBlock {
    let words: [u64; BLOCK_ROWS] = array::from_fn(|k| group(row_of_block::<R>(block, k)));
    let [a, b, c, d] = transpose(s, array::from_fn(|k| words[k] as u32));
    let [e, f, g, h] = transpose(s, array::from_fn(|k| (words[k] >> 32) as u32));
    masked::<R>(block, [a, b, c, d, e, f, g, h])
}

/// Loads block `block` of row `index` of an array of polynomials with coefficients of up to 13
/// bits.
#[inline(always)]
pub fn large_block<S: Simt, R: Ring>(
    s: S,
    memory: S::Global<u16>,
    index: u32,
    block: u32,
) -> LargeBlock {
    large_block_of::<S, R>(s, block, |group| load_pairs::<S, R>(s, memory, index, group))
}

/// Loads group `group` of row `index` of an array of polynomials, two coefficients per word, the
/// first one in the low bits.
#[inline(always)]
pub fn load_pairs<S: Simt, R: Ring>(
    s: S,
    memory: S::Global<u16>,
    index: u32,
    group: u32,
) -> [u32; GROUP / 2] {
    let rows = row::<R>() / GROUP as u32;
    let U32x4(pairs) = s.load(s.cast::<u16, U32x4>(memory), index * rows + group);
    pairs
}

/// Returns block `block` of a polynomial with coefficients of up to 13 bits. `group(i)` returns its
/// group `i`, two coefficients per word, the first one in the low bits.
#[inline(always)]
pub fn large_block_of<S: Simt, R: Ring>(
    s: S,
    block: u32,
    group: impl Fn(u32) -> [u32; GROUP / 2],
) -> LargeBlock {
    let pairs: [[u32; GROUP / 2]; BLOCK_ROWS] =
        array::from_fn(|k| group(row_of_block::<R>(block, k)));
    // Four bytes: the low and the high byte of one coefficient, then those of the next one.
    let split = |pair: u32| pair & 0x007f_007f | (pair << 1) & 0x7f00_7f00;
    from_pairs::<S, R>(s, block, |k, i| split(pairs[k][i]))
}

/// Returns the number of group `k` of a block, or that of the last group for groups after it.
#[inline(always)]
fn row_of_block<R: Ring>(block: u32, k: usize) -> u32 {
    (BLOCK_ROWS as u32 * block + k as u32).min(row::<R>() / GROUP as u32 - 1)
}

/// Loads block `block` of the ciphertext that begins at byte `start` of an array. The array's
/// length is a multiple of 4 bytes.
#[inline(always)]
pub fn ciphertext_block<S: Simt, R: Ring>(
    s: S,
    memory: S::Global<u8>,
    start: u32,
    block: u32,
) -> LargeBlock {
    // A block has 32 coefficients, so it has as many 32-bit words as a coefficient has bits. Its
    // first word may begin inside a word of the array.
    const WORDS: usize = 11;
    const { assert!(R::Q2_BITS as usize <= WORDS) };
    let first = start + BLOCK / 8 * R::Q2_BITS * block;
    let last = (start + R::CIPHERTEXT_BYTES as u32 - 1) / 4;
    let loaded: [u32; WORDS + 1] =
        array::from_fn(|k| s.load(s.cast::<u8, u32>(memory), (first / 4 + k as u32).min(last)));
    let words: [u64; WORDS] =
        array::from_fn(|k| inside_pair(loaded[k], loaded[k + 1], first).into());
    let field = |i: usize| {
        let bit = R::Q2_BITS as usize * i;
        let above = if bit / 32 + 1 < WORDS { words[bit / 32 + 1] } else { 0 };
        ((above << 32 | words[bit / 32]) >> (bit % 32)) as u32 & (R::Q2 - 1)
    };
    let split = |x: u32| x & 0x7f | (x << 1) & 0x7f00;
    from_pairs::<S, R>(s, block, |k, i| {
        let first = GROUP * k + 2 * i;
        split(field(first)) | split(field(first + 1)) << 16
    })
}

/// Builds a block from pairs of coefficients. `pair(k, i)` returns a word with four bytes: the low
/// and the high byte of coefficient `2 i` of group `k`, then those of coefficient `2 i + 1`.
#[inline(always)]
fn from_pairs<S: Simt, R: Ring>(
    s: S,
    block: u32,
    pair: impl Fn(usize, usize) -> u32,
) -> LargeBlock {
    let mut bytes = [[0; PHASES as usize]; 2];
    for i in 0..GROUP / 2 {
        let [low, high, next_low, next_high] = transpose(s, array::from_fn(|k| pair(k, i)));
        bytes[0][2 * i] = low;
        bytes[1][2 * i] = high;
        bytes[0][2 * i + 1] = next_low;
        bytes[1][2 * i + 1] = next_high;
    }
    let [low, high] = bytes;
    [masked::<R>(block, low), masked::<R>(block, high)]
}

/// Returns block `block` of the polynomial that [`ctru_math::sample::sample`] samples from row
/// `index` of coins.
#[inline(always)]
pub fn coins_block<S: Simt, R: Ring>(
    s: S,
    coins: S::Global<u64>,
    index: u32,
    block: u32,
) -> SmallBlock {
    let words = coin_words::<R>();
    let word = |k: u32| s.load(coins, words * index + (R::ETA * block + k).min(words - 1));
    let phases = if R::ETA == 2 {
        nibbles(s, [word(0), word(1)])
    } else {
        sextets([word(0), word(1), word(2)])
    };
    masked::<R>(block, phases)
}

/// Samples 32 coefficients from 16 bytes of coins for `eta = 2`. Each coefficient uses four bits.
#[inline(always)]
fn nibbles<S: Simt>(s: S, [low, high]: [u64; 2]) -> SmallBlock {
    const PAIRS: u32 = 0x3333_3333;
    const EVEN: u32 = 0x0f0f_0f0f;
    // Each nibble of the result is a coefficient plus two, in 0..=4.
    let biased = |coins: u32| {
        let ones = (coins & 0x5555_5555) + (coins >> 1 & 0x5555_5555);
        (ones & PAIRS) + 0x2222_2222 - (ones >> 2 & PAIRS)
    };
    let rows = [
        biased(low as u32),
        biased((low >> 32) as u32),
        biased(high as u32),
        biased((high >> 32) as u32),
    ];
    // Each byte of `even` holds even nibbles of two groups, and each byte of `odd` holds odd
    // nibbles.
    let even = [rows[0] & EVEN | (rows[1] & EVEN) << 4, rows[2] & EVEN | (rows[3] & EVEN) << 4];
    let odd = [rows[0] >> 4 & EVEN | rows[1] & !EVEN, rows[2] >> 4 & EVEN | rows[3] & !EVEN];
    array::from_fn(|w| {
        let byte = (w / 2) as u32;
        let [first, second] = if w % 2 == 0 { even } else { odd };
        let selector = s.byte_permute(first, second, byte | (4 + byte) << 4);
        // The table's byte k is k - 2 as a signed byte.
        s.byte_permute(0x0100_fffe, 2, selector)
    })
}

/// Samples 32 coefficients from 24 bytes of coins for `eta = 3`. Each coefficient uses six bits.
#[inline(always)]
fn sextets([a, b, c]: [u64; 3]) -> SmallBlock {
    // Masks for fields of six bits: the lowest bit of each half of a field, the lower half of each
    // field, and the number 3 in each field.
    const HALVES: u64 = 0o1111_1111_1111_1111;
    const LOWER: u64 = 0o0707_0707_0707_0707;
    const THREE: u64 = 0o0303_0303_0303_0303;
    // Each field of the result is a coefficient plus three, in 0..=6.
    let biased = |coins: u64| {
        let ones = (coins & HALVES) + (coins >> 1 & HALVES) + (coins >> 2 & HALVES);
        (ones & LOWER) + THREE - (ones >> 3 & LOWER)
    };
    let rows = [biased(a), biased(a >> 48 | b << 16), biased(b >> 32 | c << 32), biased(c >> 16)];
    array::from_fn(|w| {
        let byte = |k: usize| ((rows[k] >> (6 * w)) as u32 & 7) << (8 * k);
        subtract_bytes(byte(0) | byte(1) | byte(2) | byte(3), 0x0303_0303)
    })
}

/// Subtracts bytes: returns `a - b` for each byte. All bytes of `a` and `b` are below 128.
#[inline(always)]
pub fn subtract_bytes(a: u32, b: u32) -> u32 {
    const TOP: u32 = 0x8080_8080;
    ((a | TOP) - b) ^ TOP
}

/// Clears the coefficients from `n` on in the words of block `block`.
#[inline(always)]
fn masked<R: Ring>(block: u32, words: SmallBlock) -> SmallBlock {
    // A mask for the coefficients of this block that lie in the polynomial's first `rows` groups.
    let mask = |rows: u32| {
        let inside = rows.saturating_sub(BLOCK_ROWS as u32 * block).min(BLOCK_ROWS as u32);
        low_bits(8 * inside)
    };
    let (whole, rest) = ((R::N / GROUP) as u32, R::N % GROUP);
    let (shorter, longer) = (mask(whole), mask(whole + 1));
    array::from_fn(|w| words[w] & if w < rest { longer } else { shorter })
}

/// Transposes a 4 x 4 matrix of bytes: word `i` of the result holds byte `i` of every input word.
#[inline(always)]
pub fn transpose<S: Simt>(s: S, [a, b, c, d]: [u32; 4]) -> [u32; 4] {
    let (low_ab, low_cd) = (s.byte_permute(a, b, 0x5140), s.byte_permute(c, d, 0x5140));
    let (high_ab, high_cd) = (s.byte_permute(a, b, 0x7362), s.byte_permute(c, d, 0x7362));
    [
        s.byte_permute(low_ab, low_cd, 0x5410),
        s.byte_permute(low_ab, low_cd, 0x7632),
        s.byte_permute(high_ab, high_cd, 0x5410),
        s.byte_permute(high_ab, high_cd, 0x7632),
    ]
}
