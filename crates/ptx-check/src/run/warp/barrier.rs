//! Barriers of a block.

use super::{Block, State, Warp, each};
use crate::run::fault::{Fault, Rule};
use crate::run::program::{BARRIERS, Barrier, Op};

/// Threads that have arrived at a barrier without waiting.
#[derive(Debug)]
pub(in crate::run) struct Arrival {
    threads: u64,
    /// What has come before, as their warp knows it.
    known: Vec<u32>,
}

impl<'p> Block<'p> {
    /// Lets the threads continue for which a barrier has waited long enough. Returns whether there
    /// were some.
    pub(super) fn open_barriers(
        &mut self,
        arrivals: &mut [Vec<Arrival>; BARRIERS as usize],
    ) -> Result<bool, Fault> {
        let mut waiting: [Vec<(usize, usize)>; BARRIERS as usize] = Default::default();
        for (index, warp) in self.warps.iter().enumerate() {
            for lane in each(warp.in_state(State::Waiting)) {
                let id = self.value(warp, lane, self.barrier(warp, lane).id);
                let here = waiting.get_mut(id as usize);
                let none = || Fault::rule(self.moment(warp, lane), Rule::NoBarrier(id));
                here.ok_or_else(none)?.push((index, lane));
            }
        }
        let mut opened = false;
        for (waiting, arrivals) in waiting.into_iter().zip(arrivals) {
            let Some(&(first, lane)) = waiting.first() else { continue };
            let count = self.barrier(&self.warps[first], lane).count;
            let count = count.map(|count| self.value(&self.warps[first], lane, count));
            if let Some(taken) = self.completed(&waiting, count, arrivals) {
                self.open(&waiting, arrivals.drain(..taken).collect());
                opened = true;
            }
        }
        Ok(opened)
    }

    /// Returns how many of those that arrived without waiting complete a barrier, together with the
    /// threads of these warps and lanes. Returns `None` if threads are missing.
    fn completed(
        &self,
        waiting: &[(usize, usize)],
        count: Option<u64>,
        arrivals: &[Arrival],
    ) -> Option<usize> {
        let threads: u32 = self.shape.iter().product();
        if count.is_none() && waiting.len() as u32 != threads {
            return None;
        }
        let mut present = 0;
        for (index, warp) in self.warps.iter().enumerate() {
            let here = waiting.iter().filter(|(other, _)| *other == index);
            let lanes: u32 = here.fold(0, |all, (_, lane)| all | 1 << lane);
            if lanes == 0 {
                continue;
            }
            let first = lanes.trailing_zeros() as usize;
            let exist = (threads - 32 * warp.number).min(32);
            if self.barrier(warp, first).is_aligned {
                // All threads of the warp wait at the same instruction.
                let is_whole = lanes.count_ones() == exist
                    && each(lanes).all(|lane| warp.at[lane] == warp.at[first]);
                if !is_whole {
                    return None;
                }
                present += 32;
            } else {
                present += u64::from(lanes.count_ones());
            }
        }
        let Some(count) = count else { return Some(0) };
        let mut taken = 0;
        while present < count {
            present += arrivals.get(taken)?.threads;
            taken += 1;
        }
        Some(taken)
    }

    /// Lets threads continue behind a barrier: what they and those that arrived have done comes
    /// before what they will do.
    fn open(&mut self, waiting: &[(usize, usize)], arrivals: Vec<Arrival>) {
        let mut known = vec![0; self.warps.len()];
        let join = |known: &mut Vec<u32>, others: &[u32]| {
            for (all, one) in known.iter_mut().zip(others) {
                *all = (*all).max(*one);
            }
        };
        arrivals.iter().for_each(|arrival| join(&mut known, &arrival.known));
        let mut warps: Vec<usize> = waiting.iter().map(|(warp, _)| *warp).collect();
        warps.dedup();
        for &index in &warps {
            let warp = &mut self.warps[index];
            warp.barriers += 1;
            join(&mut known, &warp.known);
            known[index] = known[index].max(warp.barriers);
        }
        for &index in &warps {
            self.warps[index].known.clone_from(&known);
        }
        let mut votes = Vec::new();
        for &(index, lane) in waiting {
            let warp = &self.warps[index];
            if let Some(vote) = &self.barrier(warp, lane).vote {
                votes.push((index, lane, vote, self.value(warp, lane, vote.from) & 1));
            }
        }
        let (all, ones) = (votes.len() as u64, votes.iter().map(|(.., vote)| vote).sum::<u64>());
        let results: Vec<(usize, usize, usize, u64)> = votes
            .into_iter()
            .map(|(index, lane, vote, _)| {
                let result = match vote.mode {
                    "popc" => ones,
                    "and" => u64::from(ones == all),
                    _ => u64::from(ones != 0),
                };
                (index, lane, vote.to, result)
            })
            .collect();
        for (index, lane, to, result) in results {
            self.warps[index].registers[to][lane] = result;
        }
        for &(index, lane) in waiting {
            let warp = &mut self.warps[index];
            warp.states[lane] = State::Running;
            warp.at[lane] += 1;
        }
    }

    /// Remembers threads that arrive at a barrier and do not wait.
    pub(super) fn arrive(
        &self,
        warp: &mut Warp,
        arrivals: &mut [Vec<Arrival>; BARRIERS as usize],
        barrier: &Barrier,
        active: u32,
    ) -> Result<(), Fault> {
        let Some(first) = each(active).next() else { return Ok(()) };
        let id = self.value(warp, first, barrier.id);
        let Some(arrivals) = arrivals.get_mut(id as usize) else {
            return Err(Fault::rule(self.moment(warp, first), Rule::NoBarrier(id)));
        };
        warp.barriers += 1;
        let mut known = warp.known.clone();
        known[warp.number as usize] = warp.barriers;
        let threads = if barrier.is_aligned { 32 } else { active.count_ones().into() };
        arrivals.push(Arrival { threads, known });
        Ok(())
    }

    /// Returns the barrier at which a thread waits.
    fn barrier(&self, warp: &Warp, lane: usize) -> &'p Barrier {
        match &self.code.steps[warp.at[lane] as usize].op {
            Op::BlockBarrier(barrier) => barrier,
            _ => unreachable!("threads wait at barriers only"),
        }
    }
}
