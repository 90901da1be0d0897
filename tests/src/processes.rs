//! Checks of running processes.

use std::fs;
use std::time::{Duration, Instant};

/// Waits until a process may have no core dump. Fails if it has not forbidden them after 10
/// seconds, or if this process may have none either, so that the child proves nothing.
///
/// Call it for a process that waits for something, on Linux.
pub fn has_no_core_dumps(process: u32) {
    let limit = |process: &str| {
        let limits = fs::read_to_string(format!("/proc/{process}/limits")).unwrap();
        let line = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
        line.split_whitespace().skip(4).take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_ne!(limit("self")[1], "0", "the system allows no core dumps; the test needs them");
    let start = Instant::now();
    while limit(&process.to_string()) != ["0", "0"] {
        assert!(start.elapsed() < Duration::from_secs(10), "the process may have core dumps");
        std::thread::sleep(Duration::from_millis(5));
    }
}
