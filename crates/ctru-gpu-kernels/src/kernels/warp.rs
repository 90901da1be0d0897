//! What the kernels that give an operation to a warp have in common. Each warp is a block of its own. Neighbours in a
//! row belong to neighbouring threads, and a barrier costs next to nothing.

use ctru_math::codec::bits::{self, GROUP};

use crate::kernel::Shape;
use crate::simt::{Quad, Simt, WARP};

/// Elements that a thread has on the way at a time.
const IN_FLIGHT: usize = 8;

/// A warp an operation.
pub(super) const fn shape(shared_bytes: u32) -> Shape {
    Shape { threads: WARP, per_block: 1, shared_bytes }
}

/// Hands `load(i)` to `store(i, _)` for every `i < count`. A thread loads some elements before it stores the first, so
/// that it waits for memory once and not for each.
#[inline(always)]
pub(super) fn transfer<S: Simt, T: Copy>(s: S, count: u32, load: impl Fn(u32) -> T, store: impl Fn(u32, T)) {
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

/// Calls `f(i)` for every `i < count`.
#[inline(always)]
pub(super) fn for_each<S: Simt>(s: S, count: u32, f: impl Fn(u32)) {
    let mut i = s.lane();
    while i < count {
        f(i);
        i += WARP;
    }
}

/// Groups of eight coefficients in a row of `n`, the last one not full.
pub(super) const fn groups(n: usize) -> u32 {
    n.div_ceil(GROUP) as u32
}

/// Packs group `group` into the string at `string` in shared memory, `width` bytes a group.
#[inline(always)]
pub(super) fn pack_group<S: Simt>(s: S, width: u32, string: u32, group: u32, values: [u16; GROUP]) {
    let packed = bits::pack_group(width, values);
    for byte in 0..width {
        s.store_shared(string + width * group + byte, (packed >> (8 * byte)) as u8);
    }
}

/// The values of group `group` of the string at `string` in shared memory, all of whose `width` bytes must be there.
#[inline(always)]
pub(super) fn unpack_group<S: Simt>(s: S, width: u32, string: u32, group: u32) -> [u16; GROUP] {
    let mut packed = 0;
    for byte in 0..width {
        packed |= u128::from(s.load_shared::<u8>(string + width * group + byte)) << (8 * byte);
    }
    bits::unpack_group(width, packed)
}

/// Group `group` of the list of 16-bit values at `list` in shared memory, a multiple of 16.
#[inline(always)]
pub(super) fn load_group<S: Simt>(s: S, list: u32, group: u32) -> [u16; GROUP] {
    let Quad(pairs) = s.load_shared(list + 16 * group);
    core::array::from_fn(|i| (pairs[i / 2] >> (16 * (i % 2))) as u16)
}

/// Sets group `group` of the list of 16-bit values at `list` in shared memory, a multiple of 16.
#[inline(always)]
pub(super) fn store_group<S: Simt>(s: S, list: u32, group: u32, values: [u16; GROUP]) {
    let pair = |i: usize| u32::from(values[2 * i]) | u32::from(values[2 * i + 1]) << 16;
    s.store_shared(list + 16 * group, Quad([pair(0), pair(1), pair(2), pair(3)]));
}
