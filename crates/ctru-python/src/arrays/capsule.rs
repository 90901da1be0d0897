//! The lock under which this module takes what capsules hold.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

static TAKING: Mutex<()> = Mutex::new(());

/// Calls `take` while no other call of this module takes what a capsule holds.
///
/// Two threads can have the same capsule. Without the GIL, both could see that nobody has taken its
/// content, before one of them marks it as taken, and both would free it. So a check and the mark
/// that follows are one call of `take`. Libraries that take the content of a capsule do not know
/// this lock: no two libraries may get the same capsule at the same time.
///
/// `take` must run no code of Python's, which could wait for a thread that waits for the lock. As
/// only threads that are attached to the interpreter hold it, a fork never finds it locked.
pub(super) fn take_alone<T>(_: Python<'_>, take: impl FnOnce() -> T) -> T {
    let _alone = TAKING.lock().unwrap_or_else(PoisonError::into_inner);
    take()
}
