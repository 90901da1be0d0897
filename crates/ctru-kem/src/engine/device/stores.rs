//! Copies between the caller's memory and pinned memory, with streaming (non-temporal) stores where
//! these are faster.
//!
//! On an H200 with 16 cores, batches of 1024 to 16,384 with a key for each operation take 4 to 20 %
//! less time if keys and ciphertexts of the caller are copied to pinned memory by streaming stores.
//! Batches of 131,072 and more take up to 23 % less time if their results are copied so. In the
//! other cases most batches take more time with streaming stores. For the inputs of batches of
//! 65,536 the measurements disagree, from 9 % less time to 9 % more.

#![allow(unsafe_code)]

use core::ops::RangeInclusive;

/// The batches whose inputs are copied to pinned memory by streaming stores. Batches of 256 gain
/// nothing. Sizes between 256 and 1024, and between 16,384 and 65,536, were not measured.
const STREAMED_INPUTS: RangeInclusive<usize> = 1024..=16384;

/// The largest batch whose results are copied to memory of the caller by ordinary stores.
const LARGEST_TEMPORAL: usize = 65536;

/// The kind of stores with which the host copies.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Stores {
    /// Ordinary stores, which load the lines that they overwrite into the caches.
    Temporal,
    /// Streaming stores for whole cache lines, and ordinary ones for incomplete lines at both ends.
    /// They bypass the caches, and the processor does not load what it overwrites, which saves
    /// bandwidth of the memory. Only for x86-64.
    Streaming,
}

impl Stores {
    /// Returns the stores for the inputs of a batch of `batch_len` operations.
    pub(super) fn to_pinned(batch_len: usize) -> Self {
        Self::streaming_if(STREAMED_INPUTS.contains(&batch_len))
    }

    /// Returns the stores for the results of a batch of `batch_len` operations.
    pub(super) fn to_caller(batch_len: usize) -> Self {
        Self::streaming_if(batch_len > LARGEST_TEMPORAL)
    }

    /// Returns the stores for keys that the host writes to pinned memory of the caller while the
    /// devices write others. Several devices use all bandwidth of the memory.
    pub(super) fn by_engine(has_several: bool) -> Self {
        Self::streaming_if(has_several)
    }

    fn streaming_if(condition: bool) -> Self {
        let is_possible = cfg!(target_arch = "x86_64");
        if condition && is_possible { Self::Streaming } else { Self::Temporal }
    }
}

/// Copies the first slice of each pair to the second one, of the same length.
///
/// # Panics
/// Panics if the slices of a pair have different lengths.
pub(super) fn copy<'a>(kind: Stores, pairs: impl IntoIterator<Item = (&'a [u8], &'a mut [u8])>) {
    #[cfg(target_arch = "x86_64")]
    if kind == Stores::Streaming {
        let _fence = Fence;
        return pairs.into_iter().for_each(|(from, to)| {
            // SAFETY: `_fence` comes after all copies, and nothing accesses `to` before: the pairs
            // are borrowed for longer than this function.
            unsafe { copy_unfenced(from, to) };
        });
    }
    let _ = kind;
    pairs.into_iter().for_each(|(from, to)| to.copy_from_slice(from));
}

/// Orders all streaming stores before later ones when it is dropped, also if a copy panics. So
/// other threads see them when they learn of the copy.
#[cfg(target_arch = "x86_64")]
struct Fence;

#[cfg(target_arch = "x86_64")]
impl Drop for Fence {
    fn drop(&mut self) {
        // SAFETY: every x86-64 processor has the instruction.
        unsafe { core::arch::x86_64::_mm_sfence() };
    }
}

/// Copies bytes with streaming stores.
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

    use super::{Stores, copy};

    #[test]
    fn copies_every_length_and_alignment() {
        let from: Vec<u8> = (0..400_u32).map(|i| (i * i / 7) as u8).collect();
        for start in [0, 1, 15, 16, 17, 63, 64, 65] {
            for len in [0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300] {
                let mut to = [0xaa; 400];
                let pair = (&from[7..7 + len], &mut to[start..start + len]);
                copy(Stores::Streaming, [pair]);
                assert_eq!(to[start..start + len], from[7..7 + len]);
                let others = to[..start].iter().chain(&to[start + len..]);
                assert!(others.into_iter().all(|&byte| byte == 0xaa), "{start} {len}");
            }
        }
    }
}
