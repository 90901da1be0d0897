//! Copies between memories of the host, with streaming (non-temporal) stores where the
//! [plan](super::plan) asks for them.

#![allow(unsafe_code)]

use core::iter;
use core::ops::Range;

/// The kind of stores with which the host copies.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Stores {
    /// Ordinary stores, which load the lines that they overwrite into the caches.
    Temporal,
    /// Streaming stores for whole cache lines, and ordinary ones for incomplete lines at both ends.
    /// They bypass the caches, and the processor does not load what it overwrites, which saves
    /// bandwidth of the memory. Only for x86-64.
    Streaming,
}

impl Stores {
    /// Returns streaming stores if `condition` holds and the processor has them.
    #[must_use]
    pub fn streaming_if(condition: bool) -> Self {
        let is_possible = cfg!(target_arch = "x86_64");
        if condition && is_possible { Self::Streaming } else { Self::Temporal }
    }
}

/// Copies the first slice of each pair to the second one, of the same length.
///
/// # Panics
/// Panics if the slices of a pair have different lengths.
pub fn copy<'a>(kind: Stores, pairs: impl IntoIterator<Item = (&'a [u8], &'a mut [u8])>) {
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

/// Copies the bytes `part` of each row of `from` to `to`, until `to` is full.
///
/// A device has just written `from`, so the caches of the host do not hold it. The loop prefetches
/// the rows that it copies later, without which the copies take longer.
pub fn copy_parts(kind: Stores, from: &[u8], row: usize, part: Range<usize>, to: &mut [u8]) {
    /// The distance in rows between the prefetch and the copy.
    const AHEAD: usize = 2;
    let part_of = |i: usize| from.get(i * row..)?.get(part.clone());
    if kind == Stores::Streaming {
        let parts = (0..to.len() / part.len()).map_while(|i| {
            part_of(i + AHEAD).inspect(|later| prefetch(later));
            part_of(i)
        });
        return copy(kind, parts.zip(to.chunks_exact_mut(part.len())));
    }
    for i in 0..to.len() / part.len() {
        let later = (i + AHEAD) * part.len();
        if let (Some(from), Some(to)) = (part_of(i + AHEAD), to.get(later..later + part.len())) {
            prefetch(from);
            prefetch(to);
        }
        if let Some(from) = part_of(i) {
            to[i * part.len()..][..part.len()].copy_from_slice(from);
        }
    }
}

/// Copies rows to `to`, and the bytes `part` of each to `parts`, which has as many rows or is
/// empty.
pub fn copy_rows_and_parts(
    kind: Stores,
    from: &[u8],
    row: usize,
    part: Range<usize>,
    to: &mut [u8],
    parts: &mut [u8],
) {
    /// Rows of a block, which the caches hold until it has been read twice.
    const ROWS: usize = 8;
    if kind == Stores::Temporal {
        to.copy_from_slice(from);
        return copy_parts(kind, to, row, part, parts);
    }
    if parts.is_empty() {
        return copy(kind, [(from, to)]);
    }
    // Streaming stores leave no copy of `to` in the caches, so both copies read `from`.
    let blocks = from.chunks(ROWS * row).zip(to.chunks_mut(ROWS * row));
    let blocks = blocks.zip(parts.chunks_mut(ROWS * part.len()));
    copy(
        kind,
        blocks.flat_map(|((from, to), parts)| {
            let inside = from.chunks_exact(row).map(|row| &row[part.clone()]);
            iter::once((from, to)).chain(inside.zip(parts.chunks_exact_mut(part.len())))
        }),
    );
}

/// Converts bytes to 64-bit words in little-endian order. The number of bytes is a multiple of 8.
pub fn bytes_to_words(bytes: &[u8], words: &mut [u64]) {
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
}

/// Converts 64-bit words to bytes, as [`bytes_to_words`] does the other way.
pub fn words_to_bytes(words: &[u64], bytes: &mut [u8]) {
    for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
}

/// Asks the processor to load bytes into its caches. Does nothing on processors other than x86-64.
fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

        /// Bytes of a cache line, which are loaded together.
        const CACHE_LINE: usize = 64;
        for line in bytes.chunks(CACHE_LINE) {
            // SAFETY: every x86-64 processor has the instruction, and the address is valid.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

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

    #[test]
    fn all_ways_to_copy_rows_and_parts_agree() {
        const ROW: usize = 150;
        let part = 13..104;
        for count in [1, 7, 8, 9, 20] {
            let from: Vec<u8> = (0..count * ROW).map(|i| (i * i / 7) as u8).collect();
            let parts = from.chunks_exact(ROW).flat_map(|row| &row[part.clone()]);
            let expected: Vec<u8> = parts.copied().collect();
            for kind in [Stores::Temporal, Stores::Streaming] {
                let mut parts = vec![0; expected.len()];
                copy_parts(kind, &from, ROW, part.clone(), &mut parts);
                assert!(parts == expected, "{count} {kind:?}");
                for len in [0, expected.len()] {
                    let (mut to, mut parts) = (vec![0; from.len()], vec![0; len]);
                    copy_rows_and_parts(kind, &from, ROW, part.clone(), &mut to, &mut parts);
                    assert!(to == from && parts == expected[..len], "{count} {kind:?} {len}");
                }
            }
        }
    }
}
