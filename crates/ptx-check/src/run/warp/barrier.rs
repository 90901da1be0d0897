//! Barriers of a block.

use super::{Block, Clocks, State, Warp, join};
use crate::run::fault::{Fault, Rule};
use crate::run::program::{BARRIERS, Barrier, Op, Source};
use crate::run::value::{each, low};

/// Threads that have arrived at a barrier without waiting.
#[derive(Debug)]
pub(in crate::run) struct Arrival {
    threads: u64,
    /// The number of threads that the barrier counts.
    wanted: u64,
    /// What has come before, as these threads know it: `Warp::pass`.
    known: Vec<Clocks>,
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
                let id = warp.lanes(self.barrier(warp, lane).id)[lane];
                let here = waiting.get_mut(id as usize);
                let none = || Fault::rule(self.moment(warp, lane), Rule::NoBarrier(id));
                here.ok_or_else(none)?.push((index, lane));
            }
        }
        let mut opened = false;
        for (waiting, arrivals) in waiting.iter().zip(arrivals) {
            if self.is_complete(waiting, arrivals)? {
                self.open(waiting, &std::mem::take(arrivals));
                opened = true;
            }
        }
        Ok(opened)
    }

    /// Returns whether these warps and lanes that wait, with those that arrived without waiting,
    /// complete a barrier. If they are more than it counts, chance decides which of them meet.
    fn is_complete(&self, waiting: &[(usize, usize)], arrivals: &[Arrival]) -> Result<bool, Fault> {
        let Some(&(first, lane)) = waiting.first() else { return Ok(false) };
        let threads: u32 = self.shape.iter().product();
        let count = |&(index, lane): &(usize, usize)| {
            let warp = &self.warps[index];
            self.barrier(warp, lane).count.map(|count| low(warp.lanes(count)[lane], 32))
        };
        let wanted = count(&waiting[0]);
        if wanted.is_none() && waiting.len() as u32 != threads {
            return Ok(false);
        }
        let divergent = || Fault::rule(self.moment(&self.warps[first], lane), Rule::Divergent);
        if waiting.iter().any(|thread| count(thread) != wanted)
            || arrivals.iter().any(|arrival| Some(arrival.wanted) != wanted)
        {
            return Err(divergent());
        }
        let mut present: u64 = arrivals.iter().map(|arrival| arrival.threads).sum();
        for here in waiting.chunk_by(|(warp, _), (other, _)| warp == other) {
            let (index, first) = here[0];
            let warp = &self.warps[index];
            if self.barrier(warp, first).is_aligned {
                // All threads of the warp wait at the same instruction.
                let is_whole = here.len() as u32 == self.threads_of(warp).count_ones()
                    && here.iter().all(|&(_, lane)| warp.at[lane] == warp.at[first]);
                if !is_whole {
                    return Ok(false);
                }
                present += 32;
            } else {
                present += here.len() as u64;
            }
        }
        match wanted {
            Some(wanted) if present > wanted => Err(divergent()),
            wanted => Ok(wanted.is_none_or(|wanted| present == wanted)),
        }
    }

    /// Returns the lanes of a warp that have threads.
    fn threads_of(&self, warp: &Warp) -> u32 {
        let left = self.shape.iter().product::<u32>() - 32 * warp.number;
        u32::MAX >> 32_u32.saturating_sub(left)
    }

    /// Lets threads continue behind a barrier: what they and those that arrived have done comes
    /// before what they will do.
    fn open(&mut self, waiting: &[(usize, usize)], arrivals: &[Arrival]) {
        let mut known = vec![[0; 32]; self.warps.len()];
        arrivals.iter().for_each(|arrival| join(&mut known, &arrival.known));
        let warps = || {
            let same = waiting.chunk_by(|(warp, _), (other, _)| warp == other);
            same.map(|here| (here[0].0, here.iter().fold(0, |all, (_, lane)| all | 1 << lane)))
        };
        for (index, lanes) in warps() {
            join(&mut known, &self.warps[index].pass(lanes));
        }
        for (index, lanes) in warps() {
            let warp = &mut self.warps[index];
            warp.known.clone_from(&known);
            each(lanes).for_each(|lane| warp.seen[lane] = known[index]);
        }
        let mut votes = Vec::new();
        for &(index, lane) in waiting {
            let warp = &self.warps[index];
            if let Some(vote) = &self.barrier(warp, lane).vote {
                votes.push((index, lane, vote, warp.lanes(vote.from)[lane] & 1));
            }
        }
        let (all, ones) = (votes.len() as u64, votes.iter().map(|(.., vote)| vote).sum());
        for (index, lane, vote, _) in votes {
            self.warps[index].registers[vote.to][lane] = (vote.result)(all, ones);
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
        let of = |source: Source| warp.lanes(source).map(|value| low(value, 32));
        let (ids, counts) = (of(barrier.id), barrier.count.map(of).unwrap_or_default());
        let fault = |warp: &Warp, lane, rule| Err(Fault::rule(self.moment(warp, lane), rule));
        let is_same = |lane| (ids[lane], counts[lane]) == (ids[first], counts[first]);
        if barrier.is_aligned && (active != self.threads_of(warp) || !each(active).all(is_same)) {
            return fault(warp, first, Rule::Divergent);
        }
        for lane in each(active) {
            let Some(arrivals) = arrivals.get_mut(ids[lane] as usize) else {
                return fault(warp, lane, Rule::NoBarrier(ids[lane]));
            };
            let threads = if barrier.is_aligned { 32 } else { 1 };
            let present: u64 = arrivals.iter().map(|arrival| arrival.threads).sum();
            let most = counts[lane].min(32 * self.warps.len() as u64);
            if present + threads > most {
                return fault(warp, lane, Rule::Divergent);
            }
            let known = warp.pass(if barrier.is_aligned { active } else { 1 << lane });
            arrivals.push(Arrival { threads, wanted: counts[lane], known });
            if barrier.is_aligned {
                break;
            }
        }
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
