//! The slots of a device: each is with one chunk at a time.
//!
//! `tests/model` includes this file with another `super::sync`, which runs threads in every order.

use core::ops::{Deref, DerefMut};
use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::vec::Vec;

use super::sync::{Condvar, Mutex, MutexGuard};

/// Locks `mutex`, even if a thread panicked while it held the lock.
///
/// A slot can be used again after a panic, because every operation writes the slot's memory before
/// it reads this memory.
pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The slots of a device. One chunk at a time uses a slot.
#[derive(Debug)]
pub(super) struct Slots<S> {
    all: Vec<Mutex<S>>,
    /// The indices of the free slots.
    free: Mutex<BTreeSet<usize>>,
    /// Signals that a slot has been given back.
    returned: Condvar,
}

impl<S> Slots<S> {
    pub(super) fn new(slots: Vec<S>) -> Self {
        let all: Vec<_> = slots.into_iter().map(Mutex::new).collect();
        let free = (0..all.len()).collect();
        Self { all, free: Mutex::new(free), returned: Condvar::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Calls `work` with each slot, one after the other. Waits for a slot that is in use.
    pub(super) fn for_each(&self, mut work: impl FnMut(&mut S)) {
        self.all.iter().for_each(|slot| work(&mut lock(slot)));
    }

    /// Returns a slot that is no longer among the free ones.
    fn taken(&self, index: usize) -> Taken<'_, S> {
        Taken { slots: self, index, slot: lock(&self.all[index]) }
    }

    /// Takes the first free slot, if there is one.
    pub(super) fn try_take(&self) -> Option<Taken<'_, S>> {
        let index = lock(&self.free).pop_first()?;
        Some(self.taken(index))
    }

    /// Waits until a slot is free, and takes the first free one.
    pub(super) fn take(&self) -> Taken<'_, S> {
        let mut free = lock(&self.free);
        loop {
            if let Some(index) = free.pop_first() {
                drop(free);
                return self.taken(index);
            }
            free = self.returned.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A slot in use. Dropping this value gives the slot back.
#[derive(Debug)]
pub(super) struct Taken<'a, S> {
    slots: &'a Slots<S>,
    index: usize,
    slot: MutexGuard<'a, S>,
}

impl<S> Deref for Taken<'_, S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.slot
    }
}

impl<S> DerefMut for Taken<'_, S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.slot
    }
}

impl<S> Drop for Taken<'_, S> {
    fn drop(&mut self) {
        lock(&self.slots.free).insert(self.index);
        self.slots.returned.notify_one();
    }
}
