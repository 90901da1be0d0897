//! The turn to issue the launches of a chunk to a device.

use core::hint;
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Instant;

/// The longest time that a thread waits for its turn: several times as long as launches take. A
/// launch can take long, for example if the driver has no room for it.
const MOST: Duration = Duration::from_micros(500);

/// The lock under which threads issue the launches of a chunk to a device. Without it, threads that
/// issue at the same time alternate inside the driver after each launch, and the first one ends as
/// late as the last one. No result depends on the lock, so a thread that waits too long for it goes
/// on without it.
#[derive(Debug, Default)]
pub(super) struct Turn(Mutex<()>);

impl Turn {
    /// Takes the lock, which the result holds until it is dropped. Returns `None` if another thread
    /// holds it for long.
    pub(super) fn take(&self) -> Option<MutexGuard<'_, ()>> {
        self.take_within(MOST)
    }

    /// Takes the lock, unless others hold it for `most`. The thread spins, because a thread that
    /// sleeps takes longer to wake up than another one takes to issue launches.
    fn take_within(&self, most: Duration) -> Option<MutexGuard<'_, ()>> {
        let start = Instant::now();
        loop {
            match self.0.try_lock() {
                Ok(guard) => return Some(guard),
                Err(TryLockError::Poisoned(error)) => return Some(error.into_inner()),
                Err(TryLockError::WouldBlock) if start.elapsed() >= most => return None,
                Err(TryLockError::WouldBlock) => hint::spin_loop(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_micros(1);

    #[test]
    fn a_turn_is_with_one_thread_and_nobody_waits_for_long() {
        let turn = Turn::default();
        let taken = turn.take_within(SHORT);
        assert!(taken.is_some());
        std::thread::scope(|scope| {
            assert!(scope.spawn(|| turn.take_within(SHORT).is_none()).join().unwrap());
        });
        drop(taken);
        assert!(turn.take_within(SHORT).is_some());
    }

    #[test]
    fn a_panic_gives_the_turn_back() {
        let turn = Turn::default();
        let panicked = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let _taken = turn.take();
                panic!("on purpose");
            });
            thread.join().is_err()
        });
        assert!(panicked && turn.take_within(SHORT).is_some());
    }
}
