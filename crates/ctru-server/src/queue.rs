//! A queue that is fair to clients, and joins jobs of the same group.
//!
//! Jobs of a group can be computed together. Within a group, the clients take turns; in each turn,
//! a client may bring some operations. The group comes next whose next client has waited longest
//! for its turn, so a client that has filled one group does not hold up those of others. A group
//! that waits for further jobs holds up none that is ready. [`Room`] limits the calls that wait.
//! Messages of streams have no limit here: each stream has a few, and they count as memory.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use crate::identity::Share;
use crate::room::Room;

/// The operations that a client brings in one turn. After a larger job, it misses turns, whether or
/// not it has another one by then.
const TURN: usize = 64;

/// A job that waits.
#[derive(Debug)]
pub(crate) struct Waiting<J> {
    pub(crate) job: J,
    /// The number of its operations, at least 1.
    weight: usize,
    /// The room that it takes.
    room: usize,
    /// When it came.
    pub(crate) since: Instant,
}

/// The jobs of one client in one group, oldest first.
#[derive(Debug)]
struct Line<J> {
    share: Share,
    jobs: VecDeque<Waiting<J>>,
    /// Since when the client waits for its turn.
    since: Instant,
    /// The operations that it has brought in this turn, which a full batch interrupts, or has
    /// brought before.
    turn: usize,
}

impl<J> Line<J> {
    /// Returns whether the client has jobs, or misses turns if it comes again while others wait.
    fn is_needed(&self) -> bool {
        !self.jobs.is_empty() || self.turn >= TURN
    }
}

/// The jobs of a group. There is one at least.
#[derive(Debug)]
struct GroupQueue<J> {
    /// The clients in the order of their turns.
    lines: VecDeque<Line<J>>,
    weight: usize,
}

/// The queue. `G` names groups.
#[derive(Debug)]
pub(crate) struct FairQueue<G, J> {
    groups: BTreeMap<G, GroupQueue<J>>,
    /// The operations of calls that the clients have in the queue.
    room: Room,
}

impl<G: Ord + Copy, J> FairQueue<G, J> {
    /// Returns an empty queue for calls of at most `capacity` operations.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { groups: BTreeMap::new(), room: Room::new(capacity) }
    }

    /// Returns the number of operations in the queue.
    pub(crate) fn weight(&self) -> usize {
        self.groups.values().map(|queue| queue.weight).sum()
    }

    /// Returns whether no job waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Adds a call of `weight` operations that came at the time `since`.
    ///
    /// # Errors
    /// The call, if the queue has no room for it.
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
        self.insert(group, share, Waiting { job, weight, room: weight, since });
        Ok(())
    }

    /// Adds a message of a stream with `weight` operations that came at the time `since`.
    pub(crate) fn push_message(
        &mut self,
        group: G,
        share: Share,
        job: J,
        weight: usize,
        since: Instant,
    ) {
        self.insert(group, share, Waiting { job, weight: weight.max(1), room: 0, since });
    }

    fn insert(&mut self, group: G, share: Share, waiting: Waiting<J>) {
        let queue = self
            .groups
            .entry(group)
            .or_insert_with(|| GroupQueue { lines: VecDeque::new(), weight: 0 });
        queue.weight += waiting.weight;
        let since = waiting.since;
        match queue.lines.iter_mut().find(|line| line.share == share) {
            Some(line) => line.jobs.push_back(waiting),
            None => {
                let jobs = VecDeque::from([waiting]);
                queue.lines.push_back(Line { share, jobs, since, turn: 0 });
            }
        }
    }

    /// Returns the next group, since when the oldest of its jobs waits, and how many of its
    /// operations wait. `is_ready` gets the last two: of the groups that are ready, the one comes
    /// next whose next client has waited longest for its turn. If there is none, the group with the
    /// oldest job does.
    pub(crate) fn next(
        &self,
        is_ready: impl Fn(Instant, usize) -> bool,
    ) -> Option<(G, Instant, usize)> {
        let groups = self.groups.iter().filter_map(|(&group, queue)| {
            let jobs = queue.lines.iter().filter_map(|line| line.jobs.front());
            let since = jobs.map(|job| job.since).min()?;
            let is_ready = is_ready(since, queue.weight);
            let mut lines = queue.lines.iter().filter(|line| !line.jobs.is_empty());
            let order = if is_ready { lines.next()?.since } else { since };
            Some(((!is_ready, order), (group, since, queue.weight)))
        });
        groups.min_by_key(|&(order, _)| order).map(|(_, next)| next)
    }

    /// Takes jobs of a group at the time `now`, in turns, until they have `most` operations. Takes
    /// one job at least. Jobs for which `is_dead` holds bring no operations.
    pub(crate) fn take(
        &mut self,
        group: G,
        most: usize,
        now: Instant,
        is_dead: impl Fn(&J) -> bool,
    ) -> Vec<Waiting<J>> {
        let mut taken = Vec::new();
        let Some(queue) = self.groups.get_mut(&group) else { return taken };
        let mut brought = 0;
        while let Some(mut line) = queue.lines.pop_front() {
            while line.turn < TURN
                && let Some(first) = line.jobs.front()
                && let count = if is_dead(&first.job) { 0 } else { first.weight }
                && (brought == 0 || brought + count <= most)
                && let Some(job) = line.jobs.pop_front()
            {
                line.turn += count;
                brought += count;
                queue.weight -= job.weight;
                self.room.release(line.share, job.room);
                taken.push(job);
            }
            if line.turn >= TURN {
                (line.turn, line.since) = (line.turn - TURN, now);
                if line.is_needed() {
                    queue.lines.push_back(line);
                }
            } else if !line.jobs.is_empty() {
                queue.lines.push_front(line);
                break;
            }
        }
        if queue.weight == 0 {
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
                        self.room.release(line.share, waiting.room);
                        removed.push(waiting.job);
                    } else {
                        line.jobs.push_back(waiting);
                    }
                }
            }
            queue.lines.retain(Line::is_needed);
        }
        self.groups.retain(|_, queue| queue.weight > 0);
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
        let taken = queue.take((), 100, now, |_| false);
        let first: Vec<_> = taken.into_iter().map(|waiting| waiting.job).collect();
        let expected: Vec<_> =
            (0..8).map(|job| (0, job)).chain((0..3).map(|job| (1, job))).chain([(0, 8)]).collect();
        assert_eq!(first, expected);
        assert_eq!(queue.weight(), 8 * 91);
    }

    /// A batch that is smaller than a turn interrupts it, and does not begin it again.
    #[test]
    fn small_batches_do_not_prolong_a_turn() {
        for most in [1, 32, TURN] {
            let mut queue = FairQueue::new(10_000);
            let now = Instant::now();
            for number in [0, 1] {
                (0..200).for_each(|_| queue.push((), share(number), number, 1, now).unwrap());
            }
            let mut taken = Vec::new();
            while taken.len() < 2 * TURN {
                taken.extend(
                    queue.take((), most, now, |_| false).into_iter().map(|waiting| waiting.job),
                );
            }
            assert_eq!(taken, [[0; TURN], [1; TURN]].concat(), "{most}");
        }
    }

    /// Large jobs bring a client no more operations than small ones.
    #[test]
    fn turns_do_not_depend_on_the_size_of_jobs() {
        let mut queue = FairQueue::new(100_000);
        let now = Instant::now();
        (0..20).for_each(|_| queue.push((), share(0), (0, 640), 640, now).unwrap());
        (0..12_800).for_each(|_| queue.push((), share(1), (1, 1), 1, now).unwrap());
        let mut done = [0_usize; 2];
        for _ in 0..12 {
            for Waiting { job: (client, weight), .. } in queue.take((), 1024, now, |_| false) {
                done[client] += weight;
            }
            assert!(done[0].abs_diff(done[1]) <= 640 + 64, "{done:?}");
        }
    }

    /// Nor do they if each comes after the one before it was taken.
    #[test]
    fn who_comes_again_has_had_its_turn() {
        let mut queue = FairQueue::new(100_000);
        let now = Instant::now();
        for number in 1..4 {
            (0..12_000).for_each(|_| queue.push((), share(number), (number, 1), 1, now).unwrap());
        }
        let (mut done, mut waits) = ([0_usize; 4], false);
        for _ in 0..30 {
            if !std::mem::replace(&mut waits, true) {
                queue.push((), share(0), (0, 640), 640, now).unwrap();
            }
            for Waiting { job: (client, weight), .. } in queue.take((), 1024, now, |_| false) {
                done[client as usize] += weight;
                waits &= client != 0;
            }
        }
        assert!(done[0] <= done[1] + 640 + 64, "{done:?}");
    }

    /// Who has filled one group has had its turn when a client of another group comes.
    #[test]
    fn a_flood_of_one_group_does_not_hold_up_others() {
        let mut queue = FairQueue::new(10_000);
        let now = Instant::now();
        let after = |seconds| now + Duration::from_secs(seconds);
        (0..100).for_each(|_| queue.push('a', share(0), (), 50, now).unwrap());
        queue.push('b', share(1), (), 1, after(1)).unwrap();
        // The flood came first, and has a batch before the other client.
        assert_eq!(queue.next(|_, _| true), Some(('a', now, 5000)));
        assert_eq!(queue.take('a', 100, after(2), |_| false).len(), 2);
        assert_eq!(queue.next(|_, _| true), Some(('b', after(1), 1)));
        assert_eq!(queue.take('b', 100, after(3), |_| false).len(), 1);
        // The time for which jobs wait for others to join them counts from when they came.
        assert_eq!(queue.next(|_, _| true), Some(('a', now, 4900)));
        // It still waits for others, and a group that is full does not wait for it.
        queue.push('b', share(1), (), 64, after(4)).unwrap();
        assert_eq!(queue.next(|_, weight| weight == 64), Some(('b', after(4), 64)));
        assert_eq!(queue.next(|_, _| false), Some(('a', now, 4900)));
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
        // Messages of streams take no room of calls, and give none back.
        (0..100).for_each(|_| queue.push_message((), share(4), (), 1000, now));
        assert_eq!(queue.weight(), 50 + 25 + 12 + 6 + 100_000);
        assert_eq!(fill(&mut queue, 4), 3);
        assert_eq!(queue.remove_if(|()| true).len(), 191);
        assert_eq!((fill(&mut queue, 4), queue.weight()), (50, 50));
    }

    #[test]
    fn the_oldest_group_comes_first() {
        let mut queue = FairQueue::new(100);
        let now = Instant::now();
        let after = |seconds| now + Duration::from_secs(seconds);
        assert!(queue.next(|_, _| true).is_none());
        queue.push('b', share(0), 1, 5, after(1)).unwrap();
        queue.push('a', share(0), 2, 3, after(2)).unwrap();
        queue.push('b', share(1), 3, 1, after(3)).unwrap();
        assert_eq!(queue.next(|_, _| true), Some(('b', after(1), 6)));
        assert_eq!(queue.remove_if(|&job| job == 1), [1]);
        assert_eq!(queue.next(|_, _| true), Some(('a', after(2), 3)));
        // A job that is larger than the batch comes alone.
        assert_eq!(queue.take('a', 1, now, |_| false).len(), 1);
        assert_eq!(queue.take('a', 1, now, |_| false).len(), 0);
        assert_eq!(queue.next(|_, _| true), Some(('b', after(3), 1)));
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
                    if let Some((group, _, queued)) = queue.next(|_, _| true) {
                        let of_group = list.iter().filter(|job| job.0 == group);
                        prop_assert_eq!(queued, of_group.map(|job| job.2).sum::<usize>());
                        let is_dead = |job: &(u8, u64, usize)| job.2.is_multiple_of(3);
                        for waiting in queue.take(group, weight, now, is_dead) {
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
