//! The slots of a device, and which of them are free.

use core::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

/// Slots, to be taken by one chunk at a time each.
#[derive(Debug)]
pub(super) struct Slots<S> {
    all: Vec<Mutex<S>>,
    /// Which ones nobody has taken.
    free: Mutex<Vec<usize>>,
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

    /// A free slot, the one that was given back last; waits until there is one.
    pub(super) fn take(&self) -> Taken<'_, S> {
        let mut free = lock(&self.free);
        loop {
            if let Some(index) = free.pop() {
                return Taken { slots: self, index, slot: lock(&self.all[index]) };
            }
            free = self.returned.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A slot that is given back when this is dropped.
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
        lock(&self.slots.free).push(self.index);
        self.slots.returned.notify_one();
    }
}

/// The content of a lock. What a panic left is used again: every operation on a slot writes what it reads.
pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;

    #[test]
    fn a_slot_is_with_one_at_a_time() {
        let slots = Slots::new(vec![0u32, 0]);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        *slots.take() += 1;
                    }
                });
            }
        });
        let (first, second) = (slots.take(), slots.take());
        assert_eq!(*first + *second, 8000);
        assert!(lock(&slots.free).is_empty());
    }

    #[test]
    fn a_panic_gives_the_slot_back() {
        let slots = Slots::new(vec![7u32]);
        let panicked = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let _slot = slots.take();
                panic!("on purpose");
            });
            thread.join().is_err()
        });
        assert!(panicked);
        assert_eq!(*slots.take(), 7);
    }
}
