//! A call in a group: what it does, and how it leaves.

use core::ops::Range;

use super::{Arc, Group, Groups, Ordering, lock, stage};

/// A call in a group.
pub(crate) enum Entry<'a, T: PartialEq, E: Clone> {
    /// It has opened the group and does the work.
    Lead(Leader<'a, T, E>),
    /// It has joined the group.
    Join(Joiner<'a, T, E>),
}

impl<'a, T: PartialEq, E: Clone> Entry<'a, T, E> {
    /// Makes the first call of a new group.
    pub(super) fn lead(groups: &'a Groups<T, E>, group: Arc<Group<E>>, rows: Range<usize>) -> Self {
        Self::Lead(Leader { seat: Seat { groups, group, rows }, phase: Phase::Filling })
    }

    /// Makes a call that has joined a group. The group counts it already.
    pub(super) fn join(groups: &'a Groups<T, E>, group: Arc<Group<E>>, rows: Range<usize>) -> Self {
        Self::Join(Joiner { seat: Seat { groups, group, rows }, has_filled: false })
    }

    /// Returns the lane of the group.
    pub(crate) fn lane(&self) -> usize {
        self.seat().group.lane
    }

    /// Returns the rows of the call.
    pub(crate) fn rows(&self) -> Range<usize> {
        self.seat().rows.clone()
    }

    fn seat(&self) -> &Seat<'a, T, E> {
        match self {
            Self::Lead(Leader { seat, .. }) | Self::Join(Joiner { seat, .. }) => seat,
        }
    }
}

/// The rows of a call. Dropping this value leaves the group.
struct Seat<'a, T: PartialEq, E: Clone> {
    groups: &'a Groups<T, E>,
    group: Arc<Group<E>>,
    rows: Range<usize>,
}

impl<T: PartialEq, E: Clone> Drop for Seat<'_, T, E> {
    fn drop(&mut self) {
        let lane = self.group.lane;
        let mut state = lock(&self.groups.state);
        state.users[lane] -= 1;
        if state.users[lane] == 0 {
            state.free(lane);
            self.groups.wake(&state);
        }
    }
}

/// How far a leader is.
#[derive(Copy, Clone, PartialEq)]
enum Phase {
    /// It fills its rows, or waits for its turn.
    Filling,
    /// It has closed the group and issues the work.
    Issuing,
    /// It waits until the work is done.
    UnderWay,
    /// The group knows how the work went.
    Ended,
}

/// The first call of a group. If it is dropped before [`end`](Self::end), the group is abandoned.
pub(crate) struct Leader<'a, T: PartialEq, E: Clone> {
    seat: Seat<'a, T, E>,
    phase: Phase,
}

impl<T: PartialEq, E: Clone> Leader<'_, T, E> {
    /// Asks for the turn of the group, waits for it, closes the group, and waits until all others
    /// have filled their rows. Returns the number of rows of the group, or `None` if `gives_up`
    /// says so before the turn has come. Call this function once, after filling the leader's rows.
    pub(crate) fn close(&mut self, gives_up: impl Fn() -> bool) -> Option<usize> {
        let Seat { groups, group, .. } = &self.seat;
        let has_turn = || group.stage() == stage::TURN;
        let mut state = lock(&groups.state);
        state.ready.push_back(Arc::clone(group));
        groups.give_turns(&mut state);
        if !has_turn() {
            drop(state);
            groups.wait_until(|| has_turn() || gives_up());
            state = lock(&groups.state);
            if !has_turn() {
                return None;
            }
        }
        self.phase = Phase::Issuing;
        state.closed += 1;
        group.stage.store(stage::CLOSED, Ordering::Release);
        let index = state.open.iter().position(|open| Arc::ptr_eq(&open.group, group))?;
        let rows = state.open.remove(index).rows;
        drop(state);
        groups.wait_until(|| group.filling.load(Ordering::Acquire) == 0);
        Some(rows)
    }

    /// Notes that all work has been issued, so that the next group can issue its own.
    pub(crate) fn issued(&mut self) {
        if self.phase == Phase::Issuing {
            let groups = self.seat.groups;
            let mut state = lock(&groups.state);
            state.issuing -= 1;
            groups.give_turns(&mut state);
            self.phase = Phase::UnderWay;
        }
    }

    /// Tells the others of the group how the work went.
    pub(crate) fn end(&mut self, result: Result<(), E>) {
        match result {
            Ok(()) => self.end_with(stage::DONE),
            Err(error) => {
                *lock(&self.seat.group.failure) = Some(error);
                self.end_with(stage::FAILED);
            }
        }
    }

    /// Ends the group in one of the last three stages.
    fn end_with(&mut self, last: usize) {
        let Seat { groups, group, .. } = &self.seat;
        let mut state = lock(&groups.state);
        let had_turn = self.phase != Phase::Filling || group.stage() == stage::TURN;
        state.open.retain(|open| !Arc::ptr_eq(&open.group, group));
        state.ready.retain(|ready| !Arc::ptr_eq(ready, group));
        state.issuing -= usize::from(had_turn && self.phase != Phase::UnderWay);
        state.under_way -= usize::from(had_turn);
        group.stage.store(last, Ordering::Release);
        groups.give_turns(&mut state);
        self.phase = Phase::Ended;
    }
}

impl<T: PartialEq, E: Clone> Drop for Leader<'_, T, E> {
    fn drop(&mut self) {
        if self.phase != Phase::Ended {
            self.end_with(stage::ABANDONED);
        }
    }
}

/// A call that has joined a group.
pub(crate) struct Joiner<'a, T: PartialEq, E: Clone> {
    seat: Seat<'a, T, E>,
    has_filled: bool,
}

/// How a group ended for a call that has joined it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End<E> {
    /// The work is done.
    Done,
    /// The work has failed.
    Failed(E),
    /// The leader has given up or has panicked.
    Abandoned,
    /// The call has given up.
    GivenUp,
}

impl<T: PartialEq, E: Clone> Joiner<'_, T, E> {
    /// Notes that the call has [filled](Self::filled) its rows, and waits until the group ends. As
    /// long as the group is open, the call leaves it when `gives_up` returns true.
    pub(crate) fn wait(&mut self, gives_up: impl Fn() -> bool) -> End<E> {
        self.filled();
        let Seat { groups, group, .. } = &self.seat;
        groups.wait_until(|| {
            let stage = group.stage();
            stage >= stage::DONE || (stage < stage::CLOSED && gives_up())
        });
        match group.stage() {
            stage::DONE => End::Done,
            stage::FAILED => lock(&group.failure).clone().map_or(End::Abandoned, End::Failed),
            stage::ABANDONED => End::Abandoned,
            _ => End::GivenUp,
        }
    }

    /// Notes that the call writes no more rows.
    pub(crate) fn filled(&mut self) {
        if !self.has_filled {
            self.has_filled = true;
            let Seat { groups, group, .. } = &self.seat;
            if group.filling.fetch_sub(1, Ordering::AcqRel) == 1 {
                groups.wake(&lock(&groups.state));
            }
        }
    }
}

impl<T: PartialEq, E: Clone> Drop for Joiner<'_, T, E> {
    fn drop(&mut self) {
        self.filled();
    }
}
