//! Launches, and the time that they may take.

use core::time::Duration;
use std::time::Instant;

/// The state that the blocks of a launch share.
#[derive(Copy, Clone)]
pub(super) struct Launch {
    /// The number of the launch, unique in the process.
    pub(super) number: u32,
    /// Whether accesses are recorded.
    pub(super) trace: bool,
    /// How long the launch may take.
    pub(super) limit: Duration,
    /// When this time is over, if ever.
    end: Option<Instant>,
}

impl Launch {
    /// Begins a launch.
    pub(super) fn new(number: u32, trace: bool, limit: Duration) -> Self {
        Self { number, trace, limit, end: Instant::now().checked_add(limit) }
    }

    /// Returns whether the launch has taken longer than it may.
    pub(super) fn is_late(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }
}
