//! Barriers of a block.

use super::{Block, State, Warp, each};
use crate::run::fault::{Fault, Rule};
use crate::run::program::{BARRIERS, Barrier, Op};
use crate::run::value::low;

/// Threads that have arrived at a barrier without waiting.
#[derive(Debug)]
pub(in crate::run) struct Arrival {
    threads: u64,
    /// `Warp::known` of their warp when they arrived, with the number of the warp itself.
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
        for (waiting, arrivals) in waiting.iter().zip(arrivals) {
            let mut left = &waiting[..];
            while let Some((woken, taken)) = self.completed(left, arrivals)? {
                self.open(&left[..woken], arrivals.drain(..taken).collect());
                left = &left[woken..];
                opened = true;
            }
        }
        Ok(opened)
    }

    /// Returns how many of these warps and lanes that wait, and how many of those that arrived
    /// without waiting, complete a barrier, the first ones first. Returns `None` if threads are
    /// missing.
    fn completed(
        &self,
        waiting: &[(usize, usize)],
        arrivals: &[Arrival],
    ) -> Result<Option<(usize, usize)>, Fault> {
        let Some(&(first, lane)) = waiting.first() else { return Ok(None) };
        let threads: u32 = self.shape.iter().product();
        let count = |&(index, lane): &(usize, usize)| {
            let warp = &self.warps[index];
            self.barrier(warp, lane).count.map(|count| low(self.value(warp, lane, count), 32))
        };
        let wanted = count(&waiting[0]);
        if wanted.is_none() && waiting.len() as u32 != threads {
            return Ok(None);
        }
        let divergent = || Fault::rule(self.moment(&self.warps[first], lane), Rule::Divergent);
        let (mut present, mut woken) = (0, 0);
        for here in waiting.chunk_by(|(warp, _), (other, _)| warp == other) {
            let (index, first) = here[0];
            let warp = &self.warps[index];
            let exist = (threads - 32 * warp.number).min(32);
            if here.iter().any(|thread| count(thread) != wanted) {
                return Err(divergent());
            }
            if self.barrier(warp, first).is_aligned {
                // All threads of the warp wait at the same instruction.
                let is_whole = here.len() as u32 == exist
                    && here.iter().all(|&(_, lane)| warp.at[lane] == warp.at[first]);
                if !is_whole {
                    return Ok(None);
                }
                present += 32;
            } else {
                present += here.len() as u64;
            }
            woken += here.len();
            if wanted.is_some_and(|wanted| present >= wanted) {
                break;
            }
        }
        let Some(wanted) = wanted else { return Ok(Some((woken, 0))) };
        let mut taken = 0;
        while present < wanted {
            let Some(arrival) = arrivals.get(taken) else { return Ok(None) };
            present += arrival.threads;
            taken += 1;
        }
        if present > wanted { Err(divergent()) } else { Ok(Some((woken, taken))) }
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
