//! A gate: no more callers than CPUs are inside at a time, and all others sleep before it.
//!
//! Callers inside spin while they wait for one another. If there were more of them than CPUs, some
//! would spin while the thread that they wait for does not run.
//!
//! A caller that arrives while a place is free takes it, even if others sleep: it runs already, and
//! a thread that sleeps takes long to wake up. After some such callers, the next place is left to
//! one that sleeps.
//!
//! `tests/model` includes this file with another `super::sync`, which runs threads in every order.

use std::sync::PoisonError;

use super::slots::lock;
use super::sync::{Condvar, Mutex};

struct State {
    inside: usize,
    /// The number of callers that sleep, or that wake up and have not entered yet.
    waiting: usize,
    /// How many arriving callers have passed the sleeping ones since a sleeping one last entered.
    passed: usize,
    /// Whether a caller has been woken and does not run yet. Then nobody else is woken.
    is_waking: bool,
}

/// The gate.
pub(super) struct Gate {
    /// The largest number of callers inside.
    most: usize,
    /// How many arriving callers may pass the sleeping ones before a place is left to a sleeping
    /// one.
    passes: usize,
    state: Mutex<State>,
    /// Signals that a place is free.
    left: Condvar,
}

impl Gate {
    /// Makes a gate for at most `most` callers, or for one if `most` is 0. After `passes` callers
    /// have passed those that sleep, one of these enters.
    pub(super) fn new(most: usize, passes: usize) -> Self {
        let state = State { inside: 0, waiting: 0, passed: 0, is_waking: false };
        Self { most: most.max(1), passes, state: Mutex::new(state), left: Condvar::new() }
    }

    /// Waits for a place and takes it. Returns `None` if `gives_up` says so while the caller waits.
    pub(super) fn enter(&self, gives_up: impl Fn() -> bool) -> Option<Inside<'_>> {
        let mut state = lock(&self.state);
        if state.inside < self.most && (state.waiting == 0 || state.passed < self.passes) {
            state.passed += usize::from(state.waiting != 0);
            state.inside += 1;
            return Some(Inside(self));
        }
        state.waiting += 1;
        let has_place = loop {
            if gives_up() {
                break false;
            }
            state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.is_waking = false;
            if state.inside < self.most {
                state.inside += 1;
                state.passed = 0;
                break true;
            }
        };
        state.waiting -= 1;
        self.wake_one(&mut state);
        drop(state);
        has_place.then(|| Inside(self))
    }

    /// Makes waiting callers ask again whether they give up.
    pub(super) fn wake_all(&self) {
        let _state = lock(&self.state);
        self.left.notify_all();
    }

    /// Wakes a caller if there is a place for it and no other one is about to run.
    fn wake_one(&self, state: &mut State) {
        if state.waiting != 0 && state.inside < self.most && !state.is_waking {
            state.is_waking = true;
            self.left.notify_one();
        }
    }
}

/// A place inside. Dropping this value leaves it to others.
pub(super) struct Inside<'a>(&'a Gate);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.inside -= 1;
        self.0.wake_one(&mut state);
    }
}
