//! Packing at a fixed number of bits per coefficient.
//!
//! Bit `j` of coefficient `i` is bit `width * i + j` of the string. Bit `k` of the string is bit `k
//! mod 8` of byte `k / 8`, least significant first. So eight coefficients fill `width` whole bytes:
//! such a group is the unit of work.

use core::array;

/// Coefficients of a group: the fewest that fill whole bytes at every width.
pub const GROUP: usize = 8;

/// Bits of a coefficient of a public key: `q < 2^13` in all rings.
pub const PUBLIC_KEY_WIDTH: u32 = 13;

/// Packs eight values into `8 width` bits, the first value lowest.
///
/// Input: values below `2^width`, `width <= 16`.
#[inline(always)]
#[must_use]
pub fn pack_group(width: u32, values: [u16; GROUP]) -> u128 {
    let mut bits = 0;
    let mut position = 0;
    for value in values {
        bits |= u128::from(value) << position;
        position += width;
    }
    bits
}

/// Packs the top `width` bits of eight numbers as [`pack_group`] does, into words of 32 bits. The
/// other bits of the numbers do not matter.
///
/// Input: `10 <= width <= 12`.
#[inline(always)]
#[must_use]
pub fn pack_tops(width: u32, numbers: [u32; GROUP]) -> [u32; 3] {
    array::from_fn(|k| {
        let start = 32 * k as u32;
        let (first, last) = (start / width, ((start + 31) / width).min(GROUP as u32 - 1));
        let mut word = numbers[last as usize] >> (32 - width);
        for i in (first..last).rev() {
            // The bits of the number that lie in this word.
            let bits = ((i + 1) * width - start).min(width);
            word = word << bits | numbers[i as usize] >> (32 - bits);
        }
        word
    })
}

/// Unpacks eight values of `width` bits from the low `8 width` bits, `width <= 16`.
///
/// Higher bits do not matter.
#[inline(always)]
#[must_use]
pub fn unpack_group(width: u32, bits: u128) -> [u16; GROUP] {
    let mask = ((1u32 << width) - 1) as u16;
    let mut position = 0;
    [(); GROUP].map(|()| {
        let value = (bits >> position) as u16 & mask;
        position += width;
        value
    })
}

/// Packs values below `2^width`, `width <= 16`. Unused bits of the last byte are 0.
///
/// # Panics
/// Panics if `bytes` does not hold `ceil(width values.len() / 8)` bytes.
#[inline(always)]
pub fn pack(width: u32, values: &[u16], bytes: &mut [u8]) {
    assert_eq!(bytes.len(), (width as usize * values.len()).div_ceil(8));
    let (groups, tail) = values.as_chunks::<GROUP>();
    let (group_bytes, tail_bytes) = bytes.split_at_mut(width as usize * groups.len());
    for (group, out) in groups.iter().zip(group_bytes.chunks_exact_mut(width as usize)) {
        out.copy_from_slice(&pack_group(width, *group).to_le_bytes()[..width as usize]);
    }
    let mut last = [0; GROUP];
    last[..tail.len()].copy_from_slice(tail);
    tail_bytes.copy_from_slice(&pack_group(width, last).to_le_bytes()[..tail_bytes.len()]);
}

/// Unpacks values of `width <= 16` bits. Bits after the last value do not matter.
///
/// # Panics
/// Panics if `bytes` does not hold `ceil(width values.len() / 8)` bytes.
#[inline(always)]
pub fn unpack(width: u32, bytes: &[u8], values: &mut [u16]) {
    assert_eq!(bytes.len(), (width as usize * values.len()).div_ceil(8));
    let (groups, tail) = values.as_chunks_mut::<GROUP>();
    let (group_bytes, tail_bytes) = bytes.split_at(width as usize * groups.len());
    let load = |bytes: &[u8]| {
        let mut word = [0; 16];
        word[..bytes.len()].copy_from_slice(bytes);
        u128::from_le_bytes(word)
    };
    for (group, bytes) in groups.iter_mut().zip(group_bytes.chunks_exact(width as usize)) {
        *group = unpack_group(width, load(bytes));
    }
    let last = unpack_group(width, load(tail_bytes));
    tail.copy_from_slice(&last[..tail.len()]);
}
