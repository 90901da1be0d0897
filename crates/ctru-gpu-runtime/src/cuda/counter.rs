//! The numbers of a stream's operations.
//!
//! `tests/model` includes this file with another `super::sync`, which runs threads in every order.

use super::sync::atomic::{AtomicU64, Ordering};

/// Counts operations, and tracks how many of them are known to be done.
pub(super) struct Counter {
    /// The number of counted operations that have been issued.
    issued: AtomicU64,
    /// The number of counted operations that are known to be done.
    done: AtomicU64,
}

impl Counter {
    pub(super) fn new() -> Self {
        Self { issued: AtomicU64::new(0), done: AtomicU64::new(0) }
    }

    /// Counts an operation and returns its number. The operation must already have been issued.
    ///
    /// The order matters, because [`wait`](Self::wait) considers all operations done that were
    /// counted before it waited.
    pub(super) fn count(&self) -> u64 {
        self.issued.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Returns whether the operations up to this number are known to be done.
    pub(super) fn is_done(&self, operation: u64) -> bool {
        self.done.load(Ordering::Acquire) >= operation
    }

    /// Calls `wait`, which waits for all operations that have been issued. If it succeeds, those
    /// that were counted before are known to be done.
    pub(super) fn wait<E>(&self, wait: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let last = self.issued.load(Ordering::Acquire);
        wait()?;
        self.done.fetch_max(last, Ordering::AcqRel);
        Ok(())
    }
}
