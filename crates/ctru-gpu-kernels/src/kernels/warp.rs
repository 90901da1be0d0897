//! Common functions of the kernels that use one warp per operation.
//!
//! Barriers of a warp cost almost nothing. Neighbouring threads access neighbouring elements of a
//! row, so the hardware coalesces the accesses.

use ctru_math::kernel::bits::{self, GROUP};

use super::inside_pair;
use crate::descriptor::Shape;
use crate::simt::{Simt, U32x4, WARP};

/// Number of loads that a thread issues before it uses the first value.
const IN_FLIGHT: usize = 8;

/// Returns the block shape: one warp and one operation per block.
#[must_use]
pub const fn shape(shared_bytes: u32) -> Shape {
    Shape::new(WARP, 1, shared_bytes)
}

/// Returns the number of the thread's warp in its block. Because the number comes from a shuffle,
/// the assembler knows that it is the same in the whole warp, and that the warp does not diverge
/// where a branch depends on it. Otherwise each barrier and shuffle after the branch would take a
/// detour.
#[inline(always)]
pub fn number<S: Simt>(s: S) -> u32 {
    s.shuffle(s.warp(), 0)
}

/// Calls `store(i, load(i))` for every `i < count`. A thread issues several loads before the first
/// store, so that it waits only once for all of them.
#[inline(always)]
pub fn transfer<S: Simt, T: Copy>(
    s: S,
    count: u32,
    load: impl Fn(u32) -> T,
    store: impl Fn(u32, T),
) {
    let mut start = 0;
    while start < count {
        let index = |k: usize| start + k as u32 * WARP + s.lane();
        let elements: [Option<T>; IN_FLIGHT] =
            core::array::from_fn(|k| (index(k) < count).then(|| load(index(k))));
        for (k, element) in elements.iter().enumerate() {
            if let &Some(element) = element {
                store(index(k), element);
            }
        }
        start += IN_FLIGHT as u32 * WARP;
    }
}

/// Calls `f(i)` for every `i < count`. The threads of the warp share the calls.
#[inline(always)]
pub fn for_each<S: Simt>(s: S, count: u32, f: impl Fn(u32)) {
    let mut i = s.lane();
    while i < count {
        f(i);
        i += WARP;
    }
}

/// Returns the combination of the values of all threads of the warp. `combine` is commutative and
/// associative.
#[inline(always)]
pub fn reduce<S: Simt>(s: S, value: u32, combine: impl Fn(u32, u32) -> u32) -> u32 {
    let mut value = value;
    for distance in [16, 8, 4, 2, 1] {
        value = combine(value, s.shuffle(value, s.lane() ^ distance));
    }
    value
}

/// Copies the bytes `from..from + bytes` of shared memory to the array, beginning at its byte `to`.
/// `from` and `to` must be congruent modulo 4.
#[inline(always)]
pub fn write_bytes<S: Simt>(s: S, from: u32, memory: S::Global<u8>, to: u32, bytes: u32) {
    let byte = |i| s.load_shared(from + i);
    write_words(s, memory, to, bytes, |i| s.load_shared(from + i), byte);
}

/// Copies bytes of shared memory as [`write_bytes`] does, from an address `from` that need not be
/// congruent to `to`. It loads whole words, so it first overwrites the three bytes of shared memory
/// after the last one with zeros. The caller puts a barrier before the call.
#[inline(always)]
pub fn shift_bytes<S: Simt>(s: S, from: u32, memory: S::Global<u8>, to: u32, bytes: u32) {
    if s.lane() < 3 {
        s.store_shared(from + bytes + s.lane(), 0u8);
    }
    s.sync_warp();
    let last = (from + bytes - 1) & !3;
    let four = |i: u32| {
        let first = (from + i) & !3;
        inside_pair(s.load_shared(first), s.load_shared((first + 4).min(last)), from + i)
    };
    write_words(s, memory, to, bytes, four, |i| s.load_shared(from + i));
}

/// Writes the bytes `to..to + bytes` of the array, in words where possible. `four(i)` returns the
/// bytes `i..i + 4` as a little-endian number, and `one(i)` returns byte `i`.
#[inline(always)]
pub fn write_words<S: Simt>(
    s: S,
    memory: S::Global<u8>,
    to: u32,
    bytes: u32,
    four: impl Fn(u32) -> u32,
    one: impl Fn(u32) -> u8,
) {
    let Words { before, first, count, after } = Words::of(to, bytes);
    let words = s.cast::<u8, u32>(memory);
    transfer(s, count, |i| four(before + 4 * i), |i, word| s.store(words, first + i, word));
    if s.lane() < before {
        s.store(memory, to + s.lane(), one(s.lane()));
    }
    if s.lane() < after {
        let i = bytes - after + s.lane();
        s.store(memory, to + i, one(i));
    }
}

/// Returns the size in bytes of a row into which `copy_bytes` copies `bytes` bytes.
#[must_use]
pub const fn copied_bytes(bytes: u32) -> u32 {
    bytes.next_multiple_of(4) + 4
}

/// Returns the index of the byte to which `copy_bytes` copies byte `start`.
#[must_use]
pub const fn place_of_copy(start: u32, bytes: u32, row: u32) -> u32 {
    copied_bytes(bytes) * row + start % 4
}

/// Copies the bytes `start..start + bytes` of an array to row `row` of another array, whose rows
/// have [`copied_bytes`] bytes; see [`place_of_copy`]. Copies whole words of 4 bytes, so the
/// lengths of both arrays are multiples of 4 bytes.
#[inline(always)]
pub fn copy_bytes<S: Simt>(
    s: S,
    (from, start): (S::Global<u8>, u32),
    bytes: u32,
    (to, row): (S::Global<u8>, u32),
) {
    let (first, end) = (start / 4, (start + bytes).div_ceil(4));
    let (from, to) = (s.cast::<u8, u32>(from), s.cast::<u8, u32>(to));
    let place = copied_bytes(bytes) / 4 * row;
    transfer(s, end - first, |i| s.load(from, first + i), |i, word| s.store(to, place + i, word));
}

/// A range of bytes, split into aligned 4-byte words and the bytes before and after them.
struct Words {
    /// Bytes before the first whole word.
    before: u32,
    /// Index of the first whole word.
    first: u32,
    /// Number of whole words.
    count: u32,
    /// Bytes after the last whole word.
    after: u32,
}

impl Words {
    /// Splits the range `start..start + bytes`.
    #[inline(always)]
    fn of(start: u32, bytes: u32) -> Self {
        let (first, end) = (start.div_ceil(4), (start + bytes) / 4);
        Self { before: 4 * first - start, first, count: end - first, after: (start + bytes) % 4 }
    }
}

/// Returns the number of groups in a polynomial of `n` coefficients. The last group is not full.
#[must_use]
pub const fn groups(n: usize) -> u32 {
    n.div_ceil(GROUP) as u32
}

/// Returns the maximum number of a polynomial's groups per lane: lane `l` has the groups `l`, `32 +
/// l` and so on.
#[must_use]
pub const fn rounds(n: usize) -> u32 {
    groups(n).div_ceil(WARP)
}

/// Packs eight values of `width` bits as group `group` of the packed list that begins at byte
/// `string` of shared memory. A packed group has `width` bytes.
#[inline(always)]
pub fn pack_group<S: Simt>(s: S, width: u32, string: u32, group: u32, values: [u16; GROUP]) {
    let packed = bits::pack_group(width, values);
    for byte in 0..width {
        s.store_shared(string + width * group + byte, (packed >> (8 * byte)) as u8);
    }
}

/// Returns the eight values of group `group` of the packed list that begins at byte `string` of
/// shared memory.
#[inline(always)]
pub fn unpack_group<S: Simt>(s: S, width: u32, string: u32, group: u32) -> [u16; GROUP] {
    let mut packed = 0;
    for byte in 0..width {
        packed |= u128::from(s.load_shared::<u8>(string + width * group + byte)) << (8 * byte);
    }
    bits::unpack_group(width, packed)
}

/// Returns group `group` of the list of 16-bit values that begins at byte `list` of shared memory.
/// `list` is a multiple of 16.
#[inline(always)]
pub fn load_group<S: Simt>(s: S, list: u32, group: u32) -> [u16; GROUP] {
    let U32x4(pairs) = s.load_shared(list + 16 * group);
    core::array::from_fn(|i| (pairs[i / 2] >> (16 * (i % 2))) as u16)
}

/// Writes group `group` of the list of 16-bit values that begins at byte `list` of shared memory.
/// `list` is a multiple of 16.
#[inline(always)]
pub fn store_group<S: Simt>(s: S, list: u32, group: u32, values: [u16; GROUP]) {
    s.store_shared(list + 16 * group, U32x4(pairs(values)));
}

/// Returns the values of a group, two per word, the first one in the low bits.
#[inline(always)]
pub fn pairs(values: [u16; GROUP]) -> [u32; GROUP / 2] {
    core::array::from_fn(|i| u32::from(values[2 * i]) | u32::from(values[2 * i + 1]) << 16)
}
