//! Makes threads work at the same time.

use core::hint;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::time::Instant;

use rayon::ThreadPool;

/// How long a thread spins for others before it sleeps. A thread that sleeps takes some
/// microseconds to wake up.
const SPIN: Duration = Duration::from_micros(100);

/// How long a thread goes on spinning after the others have done their work. Until then the pool
/// may not have noticed that they are done, and a thread that waits for the pool sleeps.
const NOTED: Duration = Duration::from_micros(2);

/// Calls `others` on threads of `pool` and `own` on this thread, and waits for all. This thread
/// must not be one of the pool.
pub(super) fn in_parallel<W: FnOnce() + Send>(
    pool: &ThreadPool,
    others: impl ExactSizeIterator<Item = W>,
    own: impl FnOnce(),
) {
    if others.len() == 0 {
        return own();
    }
    let running = &AtomicUsize::new(others.len());
    pool.in_place_scope(|scope| {
        for work in others {
            scope.spawn(move |_| {
                work();
                running.fetch_sub(1, Ordering::Relaxed);
            });
        }
        own();
        if spin(SPIN, || running.load(Ordering::Relaxed) == 0) {
            spin(NOTED, || false);
        }
    });
}

/// Spins for this time, or until `condition` holds. Returns whether it holds.
fn spin(time: Duration, condition: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() >= time {
            return false;
        }
        hint::spin_loop();
    }
    true
}

#[cfg(test)]
mod tests {
    use rayon::ThreadPoolBuilder;

    use super::*;

    #[test]
    fn all_work_is_done_when_the_call_returns() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        for count in [0, 1, 5] {
            let done = AtomicUsize::new(0);
            let work = || {
                std::thread::sleep(Duration::from_millis(1));
                done.fetch_add(1, Ordering::Relaxed);
            };
            in_parallel(&pool, (0..count).map(|_| work), work);
            assert_eq!(done.into_inner(), count + 1);
        }
    }
}
