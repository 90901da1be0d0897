//! A queue that is fair to clients, and joins jobs of the same group.
//!
//! Jobs of a group can be computed together. Within a group, the clients take turns; in each turn,
//! a client may bring some operations. [`Room`] limits what waits.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use crate::identity::Share;
use crate::room::Room;

/// The operations that a client brings in one turn, at least one job.
const TURN: usize = 64;

/// A job that waits.
#[derive(Debug)]
pub(crate) struct Waiting<J> {
    pub(crate) job: J,
    /// The number of its operations, at least 1.
    weight: usize,
    /// When it came.
    pub(crate) since: Instant,
}

/// The jobs of one client in one group, oldest first.
#[derive(Debug)]
struct Line<J> {
    share: Share,
    jobs: VecDeque<Waiting<J>>,
}

#[derive(Debug)]
struct GroupQueue<J> {
    /// The clients in the order of their turns. No line is empty.
    lines: VecDeque<Line<J>>,
    weight: usize,
}

/// The queue. `G` names groups.
#[derive(Debug)]
pub(crate) struct FairQueue<G, J> {
    groups: BTreeMap<G, GroupQueue<J>>,
    /// The operations that the clients have in the queue.
    room: Room,
}

impl<G: Ord + Copy, J> FairQueue<G, J> {
    /// Returns an empty queue for at most `capacity` operations.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { groups: BTreeMap::new(), room: Room::new(capacity) }
    }

    /// Returns the number of operations in the queue.
    pub(crate) fn weight(&self) -> usize {
        self.room.used()
    }

    /// Adds a job of `weight` operations that came at the time `since`.
    ///
    /// # Errors
    /// The job, if the queue has no room for it.
    pub(crate) fn push(
        &mut self,
        group: G,
        share: Share,
        job: J,
        weight: usize,
        since: Instant,
    ) -> Result<(), J> {
        let weight = weight.max(1);
        if !self.room.take(share, weight) {
            return Err(job);
        }
        let queue = self
            .groups
            .entry(group)
            .or_insert_with(|| GroupQueue { lines: VecDeque::new(), weight: 0 });
        queue.weight += weight;
        let waiting = Waiting { job, weight, since };
        match queue.lines.iter_mut().find(|line| line.share == share) {
            Some(line) => line.jobs.push_back(waiting),
            None => queue.lines.push_back(Line { share, jobs: VecDeque::from([waiting]) }),
        }
        Ok(())
    }

    /// Returns the group whose oldest job has waited longest, since when it waits, and how many
    /// operations of the group wait.
    pub(crate) fn oldest(&self) -> Option<(G, Instant, usize)> {
        let oldest = |queue: &GroupQueue<J>| {
            queue.lines.iter().filter_map(|line| line.jobs.front()).map(|job| job.since).min()
        };
        let groups = self.groups.iter();
        let groups =
            groups.filter_map(|(&group, queue)| Some((group, oldest(queue)?, queue.weight)));
        groups.min_by_key(|&(_, since, _)| since)
    }

    /// Takes jobs of a group, in turns, until they have `most` operations. Takes one job at least.
    pub(crate) fn take(&mut self, group: G, most: usize) -> Vec<Waiting<J>> {
        let mut taken = Vec::new();
        let Some(queue) = self.groups.get_mut(&group) else { return taken };
        let mut weight = 0;
        while let Some(mut line) = queue.lines.pop_front() {
            let mut turn = 0;
            let mut is_full = false;
            while let Some(next) = line.jobs.front() {
                if !taken.is_empty() && weight + next.weight > most {
                    is_full = true;
                    break;
                }
                if turn >= TURN {
                    break;
                }
                let Some(job) = line.jobs.pop_front() else { break };
                turn += job.weight;
                weight += job.weight;
                self.room.release(line.share, job.weight);
                taken.push(job);
            }
            if is_full {
                // The client keeps its turn.
                queue.lines.push_front(line);
                break;
            }
            if !line.jobs.is_empty() {
                queue.lines.push_back(line);
            }
        }
        queue.weight -= weight;
        if queue.lines.is_empty() {
            self.groups.remove(&group);
        }
        taken
    }

    /// Removes and returns the jobs for which `is_dead` holds.
    pub(crate) fn remove_if(&mut self, mut is_dead: impl FnMut(&J) -> bool) -> Vec<J> {
        let mut removed = Vec::new();
        for queue in self.groups.values_mut() {
            for line in &mut queue.lines {
                for waiting in std::mem::take(&mut line.jobs) {
                    if is_dead(&waiting.job) {
                        queue.weight -= waiting.weight;
                        self.room.release(line.share, waiting.weight);
                        removed.push(waiting.job);
                    } else {
                        line.jobs.push_back(waiting);
                    }
                }
            }
            queue.lines.retain(|line| !line.jobs.is_empty());
        }
        self.groups.retain(|_, queue| !queue.lines.is_empty());
        removed
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn share(number: u64) -> Share {
        Share::Connection(number)
    }

    #[test]
    fn clients_take_turns() {
        let mut queue = FairQueue::new(10_000);
        let now = Instant::now();
        for job in 0..100 {
            queue.push((), share(0), (0, job), 8, now).unwrap();
        }
        for job in 0..3 {
            queue.push((), share(1), (1, job), 8, now).unwrap();
        }
        let first: Vec<_> = queue.take((), 100).into_iter().map(|waiting| waiting.job).collect();
        let expected: Vec<_> =
            (0..8).map(|job| (0, job)).chain((0..3).map(|job| (1, job))).chain([(0, 8)]).collect();
        assert_eq!(first, expected);
        assert_eq!(queue.weight(), 8 * 91);
    }

    #[test]
    fn a_flood_leaves_room_for_others() {
        let mut queue = FairQueue::new(100);
        let now = Instant::now();
        let fill = |queue: &mut FairQueue<_, _>, number| {
            (0..200).take_while(|_| queue.push((), share(number), (), 1, now).is_ok()).count()
        };
        assert_eq!(fill(&mut queue, 0), 50);
        assert_eq!(fill(&mut queue, 1), 25);
        assert_eq!(fill(&mut queue, 2), 12);
        assert!(queue.push((), share(3), (), 7, now).is_err());
        assert!(queue.push((), share(3), (), 6, now).is_ok());
    }

    #[test]
    fn the_oldest_group_comes_first() {
        let mut queue = FairQueue::new(100);
        let now = Instant::now();
        let after = |seconds| now + Duration::from_secs(seconds);
        assert!(queue.oldest().is_none());
        queue.push('b', share(0), 1, 5, after(1)).unwrap();
        queue.push('a', share(0), 2, 3, after(2)).unwrap();
        queue.push('b', share(1), 3, 1, after(3)).unwrap();
        assert_eq!(queue.oldest(), Some(('b', after(1), 6)));
        assert_eq!(queue.remove_if(|&job| job == 1), [1]);
        assert_eq!(queue.oldest(), Some(('a', after(2), 3)));
        // A job that is larger than the batch comes alone.
        assert_eq!(queue.take('a', 1).len(), 1);
        assert_eq!(queue.take('a', 1).len(), 0);
        assert_eq!(queue.oldest(), Some(('b', after(3), 1)));
    }

    proptest! {
        /// Compares counts with a list of jobs, over random steps.
        #[test]
        fn counts_are_exact(
            steps in prop::collection::vec((0..3_u64, 0..4_u8, 0..40_usize), 0..99),
        ) {
            let mut queue = FairQueue::new(200);
            let mut list: Vec<(u8, u64, usize)> = Vec::new();
            let now = Instant::now();
            for (number, group, weight) in steps {
                if group == 3 {
                    if let Some((group, _, queued)) = queue.oldest() {
                        let of_group = list.iter().filter(|job| job.0 == group);
                        prop_assert_eq!(queued, of_group.map(|job| job.2).sum::<usize>());
                        for waiting in queue.take(group, weight) {
                            let place = list.iter().position(|job| *job == waiting.job);
                            list.remove(place.unwrap());
                        }
                    }
                } else {
                    let job = (group, number, weight.max(1));
                    let used: usize = list.iter().map(|job| job.2).sum();
                    let own: usize =
                        list.iter().filter(|job| job.1 == number).map(|job| job.2).sum();
                    let has_room = own + 2 * job.2 <= 200 - used;
                    let added = queue.push(group, share(number), job, weight, now).is_ok();
                    prop_assert_eq!(added, has_room);
                    if added {
                        list.push(job);
                    }
                }
                prop_assert_eq!(queue.weight(), list.iter().map(|job| job.2).sum::<usize>());
            }
        }
    }
}
