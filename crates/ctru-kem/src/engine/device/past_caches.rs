//! Copies between the caller's memory and pinned memory, with streaming (non-temporal) stores where
//! these are faster.
//!
//! On an H200 with 16 cores, batches of 1024 to 16,384 with a key for each operation take 4 to 20 %
//! less time if bytes of the caller go past the caches, and batches of 131,072 and more take up to
//! 23 % less if results do. The other way round, most of them take more time. For bytes of the
//! caller in batches of 65,536, the measurements disagree, from 9 % less time to 9 % more
//! (research/records/h200-past-caches.jsonl).

#![allow(unsafe_code)]

use core::ops::RangeInclusive;

/// The batches whose bytes go past the caches to pinned memory. Batches of 256 gain nothing. Sizes
/// between 256 and 1024, and between 16,384 and 65,536, were not measured.
const UPLOADED_PAST: RangeInclusive<usize> = 1024..=16384;

/// The largest batch whose results go through the caches to memory of the caller.
const LARGEST_IN_CACHES: usize = 65536;

/// Where the bytes that a copy writes are kept.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// In the caches, from which they go to memory later.
    InCaches,
    /// In memory, but for incomplete lines at both ends. The processor does not load the lines that
    /// it overwrites, which takes less of the memory's bandwidth. Only for x86-64.
    PastCaches,
}

impl Written {
    /// Returns how bytes of a batch of `whole` operations are written to pinned memory.
    pub(super) fn to_pinned(whole: usize) -> Self {
        Self::past_caches_if(UPLOADED_PAST.contains(&whole))
    }

    /// Returns how the results of a batch of `whole` operations are written to memory of the
    /// caller.
    pub(super) fn to_caller(whole: usize) -> Self {
        Self::past_caches_if(whole > LARGEST_IN_CACHES)
    }

    /// Returns how the host writes keys to the caller's pinned memory, to which the devices of an
    /// engine write others. Several devices leave no bandwidth of the memory unused.
    pub(super) fn by_engine(has_several: bool) -> Self {
        Self::past_caches_if(has_several)
    }

    fn past_caches_if(condition: bool) -> Self {
        let is_possible = cfg!(target_arch = "x86_64");
        if condition && is_possible { Self::PastCaches } else { Self::InCaches }
    }
}

/// Copies the first slice of each pair to the second one, of the same length.
///
/// # Panics
/// Panics if the slices of a pair have different lengths.
pub(super) fn copy<'a>(
    written: Written,
    pairs: impl IntoIterator<Item = (&'a [u8], &'a mut [u8])>,
) {
    #[cfg(target_arch = "x86_64")]
    if written == Written::PastCaches {
        let _fence = Fence;
        return pairs.into_iter().for_each(|(from, to)| {
            // SAFETY: `_fence` comes after all copies, and nothing accesses `to` before: the pairs
            // are borrowed for longer than this function.
            unsafe { copy_unfenced(from, to) };
        });
    }
    let _ = written;
    pairs.into_iter().for_each(|(from, to)| to.copy_from_slice(from));
}

/// Waits for all stores past the caches when it is dropped, also if a copy panics, before other
/// threads can learn of them.
#[cfg(target_arch = "x86_64")]
struct Fence;

#[cfg(target_arch = "x86_64")]
impl Drop for Fence {
    fn drop(&mut self) {
        // SAFETY: every x86-64 processor has the instruction.
        unsafe { core::arch::x86_64::_mm_sfence() };
    }
}

/// Copies bytes with stores past the caches.
///
/// # Safety
/// This thread drops a [`Fence`] before anything accesses `to`.
#[cfg(target_arch = "x86_64")]
unsafe fn copy_unfenced(from: &[u8], to: &mut [u8]) {
    use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};

    /// A line of the caches. The processor stores whole lines.
    #[repr(C, align(64))]
    struct Line([__m128i; 4]);

    assert_eq!(from.len(), to.len(), "the slices have different lengths");
    // SAFETY: all bytes are a valid `Line`.
    let (before, lines, after) = unsafe { to.align_to_mut::<Line>() };
    let (from_before, from) = from.split_at(before.len());
    let (from_lines, from_after) = from.split_at(size_of_val(lines));
    before.copy_from_slice(from_before);
    for (Line(to), from) in lines.iter_mut().zip(from_lines.chunks_exact(size_of::<Line>())) {
        for (to, from) in to.iter_mut().zip(from.as_chunks::<16>().0) {
            // SAFETY: every x86-64 processor has SSE2, `from` has 16 bytes, and `to` is a place of
            // 16 aligned bytes.
            unsafe { _mm_stream_si128(to, _mm_loadu_si128(from.as_ptr().cast())) };
        }
    }
    after.copy_from_slice(from_after);
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::{Written, copy};

    #[test]
    fn copies_every_length_and_alignment() {
        let from: Vec<u8> = (0..400_u32).map(|i| (i * i / 7) as u8).collect();
        for start in [0, 1, 15, 16, 17, 63, 64, 65] {
            for len in [0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300] {
                let mut to = [0xaa; 400];
                let pair = (&from[7..7 + len], &mut to[start..start + len]);
                copy(Written::PastCaches, [pair]);
                assert_eq!(to[start..start + len], from[7..7 + len]);
                let others = to[..start].iter().chain(&to[start + len..]);
                assert!(others.into_iter().all(|&byte| byte == 0xaa), "{start} {len}");
            }
        }
    }
}
