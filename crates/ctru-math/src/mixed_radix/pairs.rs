//! The pairs of one level whose radices are equal. They are processed in blocks, whose loops the
//! compiler vectorises.

use super::{Radix, combine, split};

/// Number of pairs in a block.
const BLOCK: usize = 16;

/// Combines all `pairs`. Each pair writes `BYTES` bytes.
#[inline(always)]
pub(super) fn combine_pairs<const BYTES: usize>(
    radix: u32,
    pairs: &[[u16; 2]],
    next: &mut [u16],
    bytes: &mut [[u8; BYTES]],
) {
    let blocks =
        pairs.as_chunks().0.iter().zip(next.as_chunks_mut().0).zip(bytes.as_chunks_mut().0);
    for ((pairs, next), bytes) in blocks {
        combine_block(radix, pairs, next, bytes);
    }
    match (pairs.last_chunk(), next.last_chunk_mut(), bytes.last_chunk_mut()) {
        // The last block may overlap the block before.
        (Some(pairs), Some(next), Some(bytes)) => combine_block(radix, pairs, next, bytes),
        _ => {
            for ((&[even, odd], next), bytes) in pairs.iter().zip(next).zip(bytes) {
                (*next, *bytes) = split_bytes(combine(radix, even, odd));
            }
        }
    }
}

/// Combines the pairs of a block. The array between the two loops helps the compiler, which
/// vectorises a loop only if it knows that the memory that the loop writes does not overlap the
/// memory that it reads.
#[inline(always)]
fn combine_block<const BYTES: usize>(
    radix: u32,
    pairs: &[[u16; 2]; BLOCK],
    next: &mut [u16; BLOCK],
    bytes: &mut [[u8; BYTES]; BLOCK],
) {
    let pairs = *pairs;
    let mut combined = [0; BLOCK];
    for i in 0..BLOCK {
        combined[i] = combine(radix, pairs[i][0], pairs[i][1]);
    }
    for i in 0..BLOCK {
        (next[i], bytes[i]) = split_bytes(combined[i]);
    }
}

/// Returns the value that a combined value leaves to the next level, and the bytes to write.
#[inline(always)]
fn split_bytes<const BYTES: usize>(combined: u32) -> (u16, [u8; BYTES]) {
    let mut bytes = [0; BYTES];
    bytes.copy_from_slice(&combined.to_le_bytes()[..BYTES]);
    ((combined >> (8 * BYTES)) as u16, bytes)
}

/// Splits all `pairs`. Each pair wrote `BYTES` bytes. Returns 0 exactly if no value was reduced.
#[inline(always)]
pub(super) fn split_pairs<const BYTES: usize>(
    radix: Radix,
    next: &[u16],
    bytes: &[[u8; BYTES]],
    pairs: &mut [[u16; 2]],
) -> u32 {
    let mut excess = [0; BLOCK];
    let blocks =
        pairs.as_chunks_mut().0.iter_mut().zip(next.as_chunks().0).zip(bytes.as_chunks().0);
    for ((pairs, next), bytes) in blocks {
        split_block(radix, next, bytes, pairs, &mut excess);
    }
    match (pairs.last_chunk_mut(), next.last_chunk(), bytes.last_chunk()) {
        // The last block may overlap the block before.
        (Some(pairs), Some(next), Some(bytes)) => {
            split_block(radix, next, bytes, pairs, &mut excess);
        }
        _ => {
            for ((pair, &next), bytes) in pairs.iter_mut().zip(next).zip(bytes) {
                let (values, reduced) = split(radix, radix.value, combine_bytes(next, bytes));
                *pair = values;
                excess[0] |= reduced;
            }
        }
    }
    excess.into_iter().fold(0, |any, excess| any | excess)
}

/// Splits the values of a block. The arrays between the loops help the compiler as in
/// [`combine_block`].
#[inline(always)]
fn split_block<const BYTES: usize>(
    radix: Radix,
    next: &[u16; BLOCK],
    bytes: &[[u8; BYTES]; BLOCK],
    pairs: &mut [[u16; 2]; BLOCK],
    excess: &mut [u32; BLOCK],
) {
    let mut combined = [0; BLOCK];
    for i in 0..BLOCK {
        combined[i] = combine_bytes(next[i], &bytes[i]);
    }
    let (mut split_values, mut reduced) = ([[0; 2]; BLOCK], [0; BLOCK]);
    for i in 0..BLOCK {
        (split_values[i], reduced[i]) = split(radix, radix.value, combined[i]);
    }
    *pairs = split_values;
    for i in 0..BLOCK {
        excess[i] |= reduced[i];
    }
}

/// Returns the combined value whose low bytes are `bytes`.
#[inline(always)]
fn combine_bytes<const BYTES: usize>(next: u16, bytes: &[u8; BYTES]) -> u32 {
    little_endian(bytes) | u32::from(next) << (8 * BYTES)
}

/// Returns the number that up to two bytes represent.
#[inline(always)]
pub(super) fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte))
}
