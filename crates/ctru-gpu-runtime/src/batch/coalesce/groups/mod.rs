//! Groups: calls of several threads that meet and are done together.
//!
//! A group has a lane, which is memory for its rows. Its first call is the leader. While the group
//! is open, other calls join it. Each call reserves rows of the lane and fills them, and all calls
//! of a group do so at the same time. When the leader has filled its own rows and the group's turn
//! has come, it closes the group, waits until the others have filled theirs, and does the work of
//! all. Then each call takes its results, and the last one gives the lane back.
//!
//! A call that meets no other waits for nobody. Turns are given in the order in which the leaders
//! ask for them, and lanes in the order of the calls. A call can give up until its group is closed.
//! If a leader gives up, fails or panics, the others of its group learn it.
//!
//! This module has what the calls share, and [`call`] what each of them does.
//!
//! `tests/model` includes this file with another `super::sync`, which runs threads in every order.

pub(super) mod call;

use core::time::Duration;
use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Instant;
use std::vec;
use std::vec::Vec;

use super::slots::lock;
use super::sync::atomic::{AtomicUsize, Ordering};
use super::sync::{Arc, Condvar, Mutex, MutexGuard};
use call::Entry;

/// The limits of groups.
#[derive(Copy, Clone, Debug)]
pub struct Limits {
    /// The number of lanes.
    pub lanes: usize,
    /// The largest number of rows of a group.
    pub rows: usize,
    /// The largest number of groups whose leaders issue their work at the same time.
    pub issuing: usize,
    /// The largest number of groups that are closed and not done.
    pub under_way: usize,
    /// How long a thread spins before it sleeps.
    pub spin: Duration,
}

/// The stages of a group. Other calls can join it in the first two.
mod stage {
    /// The group is open, and its turn has not come.
    pub(super) const OPEN: usize = 0;
    /// The turn of the group has come.
    pub(super) const TURN: usize = 1;
    /// The leader has closed the group.
    pub(super) const CLOSED: usize = 2;
    /// The work is done.
    pub(super) const DONE: usize = 3;
    /// The work has failed.
    pub(super) const FAILED: usize = 4;
    /// The leader has given up or has panicked.
    pub(super) const ABANDONED: usize = 5;
}

/// A group.
struct Group<E> {
    lane: usize,
    /// One of the constants of [`stage`].
    stage: AtomicUsize,
    /// The number of calls, without the leader, that have not filled their rows yet.
    filling: AtomicUsize,
    /// Why the work has failed.
    failure: Mutex<Option<E>>,
}

impl<E> Group<E> {
    fn stage(&self) -> usize {
        self.stage.load(Ordering::Acquire)
    }
}

/// A group that calls can join.
struct Open<T, E> {
    /// The property that the calls of the group have in common.
    tag: T,
    /// The number of reserved rows.
    rows: usize,
    group: Arc<Group<E>>,
}

struct State<T, E> {
    open: Vec<Open<T, E>>,
    /// The groups whose leaders wait for their turn, the oldest first.
    ready: VecDeque<Arc<Group<E>>>,
    /// The numbers of groups that are being issued, and that are closed and not done.
    issuing: usize,
    under_way: usize,
    /// The free lanes, the one that was given back last at the end.
    free: Vec<usize>,
    /// For each lane, the number of calls that use it.
    users: Vec<usize>,
    /// The number of groups that have been closed so far.
    closed: u64,
    /// The numbers of the calls that wait for a lane, the oldest first, and the number of the next
    /// call.
    waiting: VecDeque<u64>,
    next: u64,
    /// The lanes that threads wait to wipe, and those of them that the threads have received.
    wanted: Vec<usize>,
    given: Vec<usize>,
    /// The number of threads that sleep.
    asleep: usize,
}

impl<T, E> State<T, E> {
    /// Adds a call to those that wait for a lane, and returns its number.
    fn queue_up(&mut self) -> u64 {
        let name = self.next;
        self.next += 1;
        self.waiting.push_back(name);
        name
    }

    /// Removes a call from those that wait for a lane.
    fn withdraw(&mut self, name: Option<u64>) {
        self.waiting.retain(|&waiting| Some(waiting) != name);
    }

    /// Frees a lane, or gives it to a thread that wants to wipe it.
    fn free(&mut self, lane: usize) {
        match self.wanted.iter().position(|&wanted| wanted == lane) {
            Some(index) => self.given.push(self.wanted.swap_remove(index)),
            None => self.free.push(lane),
        }
    }
}

/// The groups of an engine. All calls of a group have the same tag, of type `T`. `E` is the reason
/// why the work of a group fails.
pub(super) struct Groups<T, E> {
    limits: Limits,
    state: Mutex<State<T, E>>,
    /// Signals that something has changed for which threads sleep.
    changed: Condvar,
}

impl<T: PartialEq, E: Clone> Groups<T, E> {
    pub(super) fn new(limits: Limits) -> Self {
        let state = State {
            open: Vec::new(),
            ready: VecDeque::new(),
            issuing: 0,
            under_way: 0,
            free: (0..limits.lanes).rev().collect(),
            users: vec![0; limits.lanes],
            closed: 0,
            waiting: VecDeque::new(),
            next: 0,
            wanted: Vec::new(),
            given: Vec::new(),
            asleep: 0,
        };
        Self { limits, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Joins an open group with this tag and with room for `rows` rows, or opens one. Waits for a
    /// lane if there is none. Returns `None` if `gives_up` says so while the call waits.
    ///
    /// `rows` is at most the limit, and there is at least one lane.
    pub(super) fn enter(
        &self,
        tag: T,
        rows: usize,
        gives_up: impl Fn() -> bool,
    ) -> Option<Entry<'_, T, E>> {
        let mut state = lock(&self.state);
        let mut name = None;
        loop {
            let room = self.limits.rows - rows;
            let open = state.open.iter_mut().find(|open| open.tag == tag && open.rows <= room);
            if let Some(open) = open {
                let (start, group) = (open.rows, Arc::clone(&open.group));
                open.rows += rows;
                group.filling.fetch_add(1, Ordering::Relaxed);
                state.users[group.lane] += 1;
                state.withdraw(name);
                self.wake(&state);
                return Some(Entry::join(self, group, start..start + rows));
            }
            let is_next = match name {
                None => state.waiting.is_empty(),
                name => state.waiting.front() == name.as_ref(),
            };
            if is_next && let Some(lane) = state.free.pop() {
                let group = Arc::new(Group {
                    lane,
                    stage: AtomicUsize::new(stage::OPEN),
                    filling: AtomicUsize::new(0),
                    failure: Mutex::new(None),
                });
                state.users[lane] = 1;
                state.open.push(Open { tag, rows, group: Arc::clone(&group) });
                state.withdraw(name);
                self.wake(&state);
                return Some(Entry::lead(self, group, 0..rows));
            }
            if gives_up() {
                state.withdraw(name);
                self.wake(&state);
                return None;
            }
            if name.is_none() {
                name = Some(state.queue_up());
            }
            state = self.sleep(state);
        }
    }

    /// Returns the number of groups that have been closed so far.
    pub(super) fn closed(&self) -> u64 {
        lock(&self.state).closed
    }

    /// Makes waiting calls ask again whether they give up.
    pub(super) fn wake_all(&self) {
        self.wake(&lock(&self.state));
    }

    /// Calls `work` with each lane, one after the other, while no group has it.
    pub(super) fn for_each_lane(&self, mut work: impl FnMut(usize)) {
        for lane in 0..self.limits.lanes {
            let mut state = lock(&self.state);
            match state.free.iter().position(|&free| free == lane) {
                Some(index) => drop(state.free.swap_remove(index)),
                None => {
                    state.wanted.push(lane);
                    while !state.given.contains(&lane) {
                        state = self.sleep(state);
                    }
                    state.given.retain(|&given| given != lane);
                }
            }
            drop(state);
            work(lane);
            let mut state = lock(&self.state);
            state.free(lane);
            self.wake(&state);
        }
    }

    /// Gives turns to the groups that have waited longest, as many as the limits allow.
    fn give_turns(&self, state: &mut State<T, E>) {
        while state.issuing < self.limits.issuing
            && state.under_way < self.limits.under_way
            && let Some(group) = state.ready.pop_front()
        {
            state.issuing += 1;
            state.under_way += 1;
            group.stage.store(stage::TURN, Ordering::Release);
        }
        self.wake(state);
    }

    /// Wakes the threads that sleep.
    fn wake(&self, state: &State<T, E>) {
        if state.asleep != 0 {
            self.changed.notify_all();
        }
    }

    /// Sleeps until something changes.
    fn sleep<'a>(&self, mut state: MutexGuard<'a, State<T, E>>) -> MutexGuard<'a, State<T, E>> {
        state.asleep += 1;
        let mut state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.asleep -= 1;
        state
    }

    /// Waits until `condition` holds: spins for a while, then sleeps. Whoever makes the condition
    /// true calls [`wake`](Self::wake) afterwards.
    fn wait_until(&self, condition: impl Fn() -> bool) {
        const LOOKS: usize = 64;
        let start = Instant::now();
        while !self.limits.spin.is_zero() {
            for _ in 0..LOOKS {
                if condition() {
                    return;
                }
                core::hint::spin_loop();
            }
            if start.elapsed() >= self.limits.spin {
                break;
            }
            std::thread::yield_now();
        }
        let mut state = lock(&self.state);
        while !condition() {
            state = self.sleep(state);
        }
    }
}
