//! Runs a test on every backend that this CPU has.

use std::sync::{Condvar, Mutex, PoisonError};

use ctru_math::backend;

/// The number of tests that need the backend in use. All threads of a process use the same one, so
/// a test that needs another one waits.
static TESTS: Mutex<usize> = Mutex::new(0);
static FREE: Condvar = Condvar::new();

/// Runs `test` on one available backend after the other, and leaves the widest one selected. `test`
/// must not call this function. A panic names the backend.
pub fn on_every_backend(mut test: impl FnMut()) {
    for backend in backend::available() {
        let tests = TESTS.lock().unwrap_or_else(PoisonError::into_inner);
        let other = |tests: &mut usize| *tests > 0 && backend::in_use() != backend;
        let mut tests = FREE.wait_while(tests, other).unwrap_or_else(PoisonError::into_inner);
        backend::select(backend).unwrap();
        *tests += 1;
        drop(tests);
        let _in_use = InUse(backend);
        test();
    }
}

struct InUse(backend::Backend);

impl Drop for InUse {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("on the backend {}", self.0);
        }
        let mut tests = TESTS.lock().unwrap_or_else(PoisonError::into_inner);
        *tests -= 1;
        if *tests == 0 {
            FREE.notify_all();
        }
    }
}
