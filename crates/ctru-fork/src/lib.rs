//! Tells a process from its forks.
//!
//! The threads of a process do not exist in its forks, and a fork can share memory with it. The
//! number of a process does not tell the two apart: in a new PID namespace, which `clone` makes
//! with `CLONE_NEWPID`, the fork of a process with the number 1 has the number 1 again. Handlers of
//! `pthread_atfork` do not either, because only `fork` of the C library calls them, not `clone`.
//!
//! So a page of memory decides: Linux fills it with zeros in each new process that has a copy of
//! the memory (`MADV_WIPEONFORK`), whichever call made the process. The number of the process is
//! compared as well. Where there is no such page, the number alone decides: before Linux 4.14, on
//! other systems, and in emulators that ignore the advice.

use std::process;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

mod page;
#[cfg(all(test, target_os = "linux"))]
mod tests;

/// The identity of a process, for a later comparison with the current process.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Process {
    id: u32,
    number: u64,
}

impl Process {
    /// Returns the process that runs.
    ///
    /// The value differs from that of each ancestor and of each fork of this process.
    #[must_use]
    pub fn current() -> Self {
        Self { id: process::id(), number: number() }
    }

    /// Returns whether this process runs, and not a fork of it.
    #[must_use]
    pub fn is_current(self) -> bool {
        self == Self::current()
    }
}

/// Returns the number that the page holds, and writes one if it holds none. A fork, whose page
/// holds none, writes a number that the processes before it have not had.
fn number() -> u64 {
    /// The last number that was written, by this process or by those from which it was forked.
    static LAST: AtomicU64 = AtomicU64::new(0);
    let place = page::place();
    match place.load(Relaxed) {
        0 => {
            let new = LAST.fetch_add(1, Relaxed) + 1;
            place.compare_exchange(0, new, Relaxed, Relaxed).map_or_else(|other| other, |_| new)
        }
        number => number,
    }
}
