//! Runs the blocks of a launch, several at a time if that pays.
//!
//! Each thread of the CPU has a copy of the memory, and runs some blocks on it. Then the memory
//! takes over what they did, in the order of the blocks, as long as no block has touched what an
//! earlier one of the same round has changed, or changed what an earlier one has read. From the
//! first such block on, or from the first that fails, blocks run one after the other on the memory
//! itself, which finds the race. So the result is always that of this order.

use std::ops::Range;

use rayon::prelude::*;

use super::fault::Fault;
use super::memory::Region;
use super::warp::{Block, Memory};

/// The largest number of blocks that a thread runs in a round.
const MOST_AT_ONCE: u32 = 16;
/// A block that executes this many times the instructions of the first one waits for what another
/// block of its round does, which it cannot see. It runs again by itself.
const PATIENCE: u64 = 16;

/// Runs blocks with these numbers. Takes the executed instructions from `left`.
fn one_by_one(
    block: &mut Block<'_>,
    memory: &mut Memory,
    numbers: Range<u32>,
    left: &mut u64,
) -> Result<(), Fault> {
    numbers.into_iter().try_for_each(|number| {
        block.begin(memory, number);
        block.run(memory, left)
    })
}

/// Runs all blocks, with at most this many copies of the memory.
pub(super) fn run<'p>(
    new_block: &(dyn Fn() -> Block<'p> + Sync),
    memory: &mut Memory,
    blocks: u32,
    left: &mut u64,
    most: usize,
) -> Result<(), Fault> {
    let mut block = new_block();
    let before = *left;
    one_by_one(&mut block, memory, 0..1, left)?;
    let bytes: u64 = memory.regions.iter().map(|region| region.bytes.len() as u64).sum();
    let threads = rayon::current_num_threads();
    // An instruction takes about as long as it takes to copy some bytes for each thread.
    let each = before - *left;
    let work = each.saturating_mul(u64::from(blocks - 1));
    let mut next = 1;
    if threads > 1 && blocks > 2 && threads < most && work > bytes.max(1 << 16) {
        next = together(new_block, memory, blocks, left, each, threads);
    }
    one_by_one(&mut block, memory, next..blocks, left)
}

/// Runs blocks from the second one on. Returns the first one that has to run again by itself.
fn together<'p>(
    new_block: &(dyn Fn() -> Block<'p> + Sync),
    memory: &mut Memory,
    blocks: u32,
    left: &mut u64,
    each: u64,
    threads: usize,
) -> u32 {
    let at_once = (blocks / (4 * threads as u32)).clamp(1, MOST_AT_ONCE);
    memory.regions.iter_mut().for_each(|region| drop(region.take_touched()));
    let mut copies: Vec<(Memory, Block<'p>)> =
        (0..threads).map(|_| (memory.copy(), new_block())).collect();
    let mut next = 1;
    while next < blocks {
        let first = next;
        let from = |index: usize| first.saturating_add(index as u32 * at_once).min(blocks);
        let patience = each.saturating_mul(PATIENCE * u64::from(at_once)).saturating_add(1 << 20);
        let limit = patience.min(*left);
        let used: Vec<Result<u64, Fault>> = copies
            .par_iter_mut()
            .enumerate()
            .map(|(index, (memory, block))| {
                let mut left = limit;
                one_by_one(block, memory, from(index)..from(index + 1), &mut left)?;
                Ok(limit - left)
            })
            .collect();
        let mut touched = Vec::new();
        for (index, ((copy, _), used)) in copies.iter_mut().zip(used).enumerate() {
            let (own, others) = (from(index)..from(index + 1), first..from(index));
            let Ok(used) = used else { return next };
            let pages = copy.take_touched();
            let is_free = |&(region, page): &(usize, usize)| {
                let [here, there] = [&copy.regions[region], &memory.regions[region]];
                !here.conflicts(&own, there, &others, page)
            };
            if used > *left || !pages.iter().all(is_free) {
                return next;
            }
            for &(region, page) in &pages {
                memory.regions[region].merge(&copy.regions[region], &own, &others, page);
            }
            *left -= used;
            next = own.end;
            touched.extend(pages);
        }
        for (copy, _) in &mut copies {
            for &(region, page) in &touched {
                copy.regions[region].copy(&memory.regions[region], page);
            }
        }
    }
    next
}

impl Memory {
    /// Returns a copy for other blocks.
    fn copy(&self) -> Self {
        Self {
            regions: self.regions.clone(),
            shared: Region::default(),
            arrivals: Default::default(),
            parameters: self.parameters.clone(),
        }
    }

    /// Returns the pages that blocks have accessed, with the indices of their regions.
    fn take_touched(&mut self) -> Vec<(usize, usize)> {
        let touched = self.regions.iter_mut().enumerate().flat_map(|(index, region)| {
            region.take_touched().into_iter().map(move |page| (index, page))
        });
        touched.collect()
    }
}
