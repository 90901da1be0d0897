//! Runs a test on every backend that this CPU has.

use std::sync::{Mutex, PoisonError};

use ctru_math::backend;

/// All threads of a process use the same backend, so tests that select a backend take turns.
static TURN: Mutex<()> = Mutex::new(());

/// Runs `test` on one available backend after the other, then selects the backend that was in use
/// before. A panic names the backend.
pub fn on_every_backend(mut test: impl FnMut()) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let before = backend::in_use();
    for backend in backend::available() {
        backend::select(backend).unwrap();
        let on_panic = NameOnPanic(backend);
        test();
        drop(on_panic);
    }
    backend::select(before).unwrap();
}

struct NameOnPanic(backend::Backend);

impl Drop for NameOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("on the backend {}", self.0);
        }
    }
}
