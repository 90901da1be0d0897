//! Small batches of several callers, done together.
//!
//! `groups` says which calls form a group, and who waits for whom. A group has a *lane*, which is
//! memory in which its calls meet, and its work is done once. `gate` keeps out more callers than
//! there are CPUs.

mod gate;
mod groups;

use core::fmt;
use core::ops::Range;
use core::time::Duration;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

// The modules `groups` and `gate` take these from here.
use super::{slots, sync};
use gate::Gate;
use groups::Groups;
use groups::call::{End, Entry};

pub use groups::Limits;

/// A small batch: what it puts into a lane, and what its group does there.
pub trait Call<L, E> {
    /// What the caller makes while the device works.
    type Made;

    /// Copies all inputs to rows of the lane.
    ///
    /// # Errors
    /// If the lane cannot be written.
    fn stage(&self, lane: &L, rows: Range<usize>) -> Result<(), E>;

    /// Makes something while the device works. Each caller calls it once, unless its group is
    /// abandoned.
    fn meanwhile(&self) -> Self::Made;

    /// Does the work of all `rows` rows of a lane. Calls `issued` when all of it has been issued,
    /// and returns the result when it is done.
    ///
    /// # Errors
    /// If the work fails.
    fn work(
        &self,
        lane: (usize, &mut L),
        rows: usize,
        issued: impl FnOnce() -> Self::Made,
    ) -> Result<Self::Made, E>;

    /// Copies the results out of rows of the lane.
    ///
    /// # Errors
    /// If the lane cannot be read. Nothing is copied then.
    fn receive(self, lane: &L, rows: Range<usize>, made: Self::Made) -> Result<(), E>;
}

/// Does small batches of several callers together. All calls of a group have the same tag, of type
/// `T`. `L` is a lane, and `E` the reason why work fails.
pub struct Coalescer<T, L, E> {
    groups: Groups<T, E>,
    /// Callers that fill or empty rows hold a lane for reading, and the leader of a group holds it
    /// for writing while the device works.
    lanes: Vec<RwLock<L>>,
    /// Callers pass this gate before they meet.
    gate: Gate,
    rows: usize,
}

impl<T, L, E> fmt::Debug for Coalescer<T, L, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coalescer").field("lanes", &self.lanes.len()).finish_non_exhaustive()
    }
}

/// The call has given up.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct GivenUp;

impl<T: PartialEq + Copy, L, E: Clone> Coalescer<T, L, E> {
    /// Creates a coalescer with these lanes, for at most `callers` callers at a time. `passes` of
    /// them may pass those that sleep until one of these enters.
    #[must_use]
    pub fn new(limits: Limits, lanes: Vec<L>, callers: usize, passes: usize) -> Self {
        let gate = Gate::new(callers, passes);
        let (rows, lanes) = (limits.rows, lanes.into_iter().map(RwLock::new).collect());
        Self { groups: Groups::new(limits), lanes, gate, rows }
    }

    /// Returns the number of rows of all lanes.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.lanes.len() * self.rows
    }

    /// Returns the number of groups so far.
    #[must_use]
    pub fn groups(&self) -> u64 {
        self.groups.closed()
    }

    /// Makes waiting callers ask again whether they give up.
    pub fn wake(&self) {
        self.gate.wake_all();
        self.groups.wake_all();
    }

    /// Calls `work` with each lane while no group has it.
    pub fn for_each_lane(&self, mut work: impl FnMut(&L)) {
        self.groups.for_each_lane(|lane| work(&read(&self.lanes[lane])));
    }

    /// Does a batch of `count` operations together with others: at most as many as a lane has rows.
    /// Returns [`GivenUp`] if `gives_up` says so at first or while the call waits.
    ///
    /// # Errors
    /// Those of the call, or of the leader of its group.
    pub fn run<C: Call<L, E>>(
        &self,
        tag: T,
        count: usize,
        call: C,
        gives_up: impl Fn() -> bool,
    ) -> Result<Result<(), GivenUp>, E> {
        let Self { groups, lanes, gate, .. } = self;
        if gives_up() {
            return Ok(Err(GivenUp));
        }
        let Some(_inside) = gate.enter(&gives_up) else { return Ok(Err(GivenUp)) };
        loop {
            let Some(mut entry) = groups.enter(tag, count, &gives_up) else {
                return Ok(Err(GivenUp));
            };
            let (number, rows) = (entry.lane(), entry.rows());
            let lane = &lanes[number];
            call.stage(&read(lane), rows.clone())?;
            let made = match &mut entry {
                Entry::Lead(leader) => {
                    let Some(all) = leader.close(&gives_up) else { return Ok(Err(GivenUp)) };
                    let made = call.work((number, &mut write(lane)), all, || {
                        leader.issued();
                        call.meanwhile()
                    });
                    leader.end(made.as_ref().map(|_| ()).map_err(Clone::clone));
                    made?
                }
                Entry::Join(joiner) => {
                    joiner.filled();
                    let made = call.meanwhile();
                    match joiner.wait(&gives_up) {
                        End::Done => made,
                        End::Failed(error) => return Err(error),
                        End::Abandoned => continue,
                        End::GivenUp => return Ok(Err(GivenUp)),
                    }
                }
            };
            return call.receive(&read(lane), rows, made).map(Ok);
        }
    }
}

impl Limits {
    /// Returns the limits of groups of `rows` rows, of which `under_way` are under way on each of
    /// `devices` devices. Callers spin for `spin` before they sleep.
    #[must_use]
    pub fn new(rows: usize, under_way: usize, devices: usize, spin: Duration) -> Self {
        let under_way = under_way.max(1) * devices;
        // While as many groups as possible are under way, as many others can be filled. Threads
        // that issue launches to the same device at the same time disturb each other.
        let lanes = if rows == 0 { 0 } else { 2 * under_way };
        Self { lanes, rows, issuing: devices, under_way, spin }
    }
}

/// Locks memory for reading, even if a thread panicked while it held the lock. Every batch writes
/// the rows that it reads later.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks memory for writing, as [`read`] does for reading.
fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
