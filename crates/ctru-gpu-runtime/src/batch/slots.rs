//! The slots of a device: each is with one chunk at a time.
//!
//! `tests/model` includes this file with another `super::sync`, which runs threads in every order.

use core::ops::{Deref, DerefMut};
use std::sync::PoisonError;
use std::vec::Vec;

use super::sync::{Condvar, Mutex, MutexGuard};

/// Locks `mutex`, even if a thread panicked while it held the lock.
///
/// A slot can be used again after a panic, because every operation writes the slot's memory before
/// it reads this memory.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a slot may have under way.
pub trait Settle {
    /// Waits until nothing is under way in the slot, whether it succeeds or not.
    fn settle(&self);
}

/// The slots of a device. One chunk at a time uses a slot.
#[derive(Debug)]
pub struct Slots<S> {
    all: Vec<Mutex<S>>,
    /// The indices of the free slots. The one that was given back last goes first.
    free: Mutex<Vec<usize>>,
    /// Signals that a slot has been given back.
    returned: Condvar,
}

impl<S: Settle> Slots<S> {
    /// Returns slots that are free.
    #[must_use]
    pub fn new(slots: Vec<S>) -> Self {
        let all: Vec<_> = slots.into_iter().map(Mutex::new).collect();
        let free = (0..all.len()).rev().collect();
        Self { all, free: Mutex::new(free), returned: Condvar::new() }
    }

    /// Returns the number of slots.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns whether there are no slots.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Calls `work` with each slot, one after the other. Waits for a slot that is in use.
    pub fn for_each(&self, mut work: impl FnMut(&mut S)) {
        self.all.iter().for_each(|slot| work(&mut lock(slot)));
    }

    /// Returns a slot that is no longer among the free ones.
    fn taken(&self, index: usize) -> Taken<'_, S> {
        Taken { slots: self, index, slot: lock(&self.all[index]), has_succeeded: false }
    }

    /// Takes a free slot, if there is one.
    pub fn try_take(&self) -> Option<Taken<'_, S>> {
        let index = lock(&self.free).pop()?;
        Some(self.taken(index))
    }

    /// Waits until a slot is free, and takes it.
    pub fn take(&self) -> Taken<'_, S> {
        let mut free = lock(&self.free);
        loop {
            if let Some(index) = free.pop() {
                drop(free);
                return self.taken(index);
            }
            free = self.returned.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A slot in use. Dropping this value gives the slot back. If the work in the slot has not
/// [succeeded](Self::succeeded), it first waits until nothing is under way, so that no operation is
/// when another chunk takes the slot, or when the caller frees memory.
#[derive(Debug)]
pub struct Taken<'a, S: Settle> {
    slots: &'a Slots<S>,
    index: usize,
    slot: MutexGuard<'a, S>,
    has_succeeded: bool,
}

impl<S: Settle> Taken<'_, S> {
    /// Gives the slot back after work that has succeeded and has left nothing under way.
    pub fn succeeded(mut self) {
        self.has_succeeded = true;
    }
}

impl<S: Settle> Deref for Taken<'_, S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.slot
    }
}

impl<S: Settle> DerefMut for Taken<'_, S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.slot
    }
}

impl<S: Settle> Drop for Taken<'_, S> {
    fn drop(&mut self) {
        if !self.has_succeeded {
            self.slot.settle();
        }
        lock(&self.slots.free).push(self.index);
        self.slots.returned.notify_one();
    }
}
