//! All pairs of a level that have the same radices: blocks of them in loops that the compiler turns to vectors.

use super::{Radix, join, part};

/// Pairs that are joined or parted together where there are as many.
const BLOCK: usize = 16;

/// Joins all `pairs`, which write `BYTES` bytes each.
#[inline(always)]
pub(super) fn join_pairs<const BYTES: usize>(
    radix: u32,
    pairs: &[[u16; 2]],
    next: &mut [u16],
    bytes: &mut [[u8; BYTES]],
) {
    let blocks =
        pairs.as_chunks().0.iter().zip(next.as_chunks_mut().0).zip(bytes.as_chunks_mut().0);
    for ((pairs, next), bytes) in blocks {
        join_block(radix, pairs, next, bytes);
    }
    match (pairs.last_chunk(), next.last_chunk_mut(), bytes.last_chunk_mut()) {
        // The last block may do again what the one before it did.
        (Some(pairs), Some(next), Some(bytes)) => join_block(radix, pairs, next, bytes),
        _ => {
            for ((&[even, odd], next), bytes) in pairs.iter().zip(next).zip(bytes) {
                (*next, *bytes) = split_bytes(join(radix, even, odd));
            }
        }
    }
}

/// Joins a block. The array between the steps is there for the compiler: it turns a loop on memory to vectors only if it
/// knows that nothing overlaps.
#[inline(always)]
fn join_block<const BYTES: usize>(
    radix: u32,
    pairs: &[[u16; 2]; BLOCK],
    next: &mut [u16; BLOCK],
    bytes: &mut [[u8; BYTES]; BLOCK],
) {
    let pairs = *pairs;
    let mut joined = [0; BLOCK];
    for i in 0..BLOCK {
        joined[i] = join(radix, pairs[i][0], pairs[i][1]);
    }
    for i in 0..BLOCK {
        (next[i], bytes[i]) = split_bytes(joined[i]);
    }
}

/// What the next level gets of a joined value, and the bytes that are written.
#[inline(always)]
fn split_bytes<const BYTES: usize>(joined: u32) -> (u16, [u8; BYTES]) {
    let mut bytes = [0; BYTES];
    bytes.copy_from_slice(&joined.to_le_bytes()[..BYTES]);
    ((joined >> (8 * BYTES)) as u16, bytes)
}

/// Parts all `pairs`, which wrote `BYTES` bytes each; returns 0 exactly if nothing was reduced.
#[inline(always)]
pub(super) fn part_pairs<const BYTES: usize>(
    radix: Radix,
    next: &[u16],
    bytes: &[[u8; BYTES]],
    pairs: &mut [[u16; 2]],
) -> u32 {
    let mut excess = [0; BLOCK];
    let blocks =
        pairs.as_chunks_mut().0.iter_mut().zip(next.as_chunks().0).zip(bytes.as_chunks().0);
    for ((pairs, next), bytes) in blocks {
        part_block(radix, next, bytes, pairs, &mut excess);
    }
    match (pairs.last_chunk_mut(), next.last_chunk(), bytes.last_chunk()) {
        // The last block may do again what the one before it did.
        (Some(pairs), Some(next), Some(bytes)) => {
            part_block(radix, next, bytes, pairs, &mut excess);
        }
        _ => {
            for ((pair, &next), bytes) in pairs.iter_mut().zip(next).zip(bytes) {
                let (values, reduced) = part(radix, radix.value, join_bytes(next, bytes));
                *pair = values;
                excess[0] |= reduced;
            }
        }
    }
    excess.into_iter().fold(0, |any, excess| any | excess)
}

/// Parts a block. The arrays between the steps are there for the compiler: it turns a loop on memory to vectors only if it
/// knows that nothing overlaps.
#[inline(always)]
fn part_block<const BYTES: usize>(
    radix: Radix,
    next: &[u16; BLOCK],
    bytes: &[[u8; BYTES]; BLOCK],
    pairs: &mut [[u16; 2]; BLOCK],
    excess: &mut [u32; BLOCK],
) {
    let mut joined = [0; BLOCK];
    for i in 0..BLOCK {
        joined[i] = join_bytes(next[i], &bytes[i]);
    }
    let (mut parted, mut reduced) = ([[0; 2]; BLOCK], [0; BLOCK]);
    for i in 0..BLOCK {
        (parted[i], reduced[i]) = part(radix, radix.value, joined[i]);
    }
    *pairs = parted;
    for i in 0..BLOCK {
        excess[i] |= reduced[i];
    }
}

/// The joined value of which `bytes` were written.
#[inline(always)]
fn join_bytes<const BYTES: usize>(next: u16, bytes: &[u8; BYTES]) -> u32 {
    little_endian(bytes) | u32::from(next) << (8 * BYTES)
}

/// Up to two bytes as a number.
#[inline(always)]
pub(super) fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte))
}
