//! The power that a GPU draws, as `nvidia-smi` tells it.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A GPU tells its power averaged over about a second, so what it tells before that is about something else.
const SETTLING: Duration = Duration::from_millis(1250);
/// Time between two questions.
const PAUSE: Duration = Duration::from_millis(50);

/// For at least this long something must go on to be metered.
pub(super) const LEAST: Duration = Duration::from_millis(2500);

/// Runs `load` and returns what comes of it, and the watts that GPU number `gpu` of the machine drew meanwhile: none if nobody
/// tells or it was too short. The driver may number the GPUs of this process differently.
pub(super) fn during<T>(gpu: u32, load: impl FnOnce() -> T) -> (T, Vec<f64>) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let meter = scope.spawn(|| {
            let start = Instant::now();
            let mut watts = Vec::new();
            while !done.load(Ordering::Relaxed) {
                let Some(now) = ask(gpu) else { break };
                if start.elapsed() > SETTLING && !done.load(Ordering::Relaxed) {
                    watts.push(now);
                }
                std::thread::sleep(PAUSE);
            }
            watts
        });
        let result = {
            let _stop = Stop(&done);
            load()
        };
        (result, meter.join().unwrap_or_default())
    })
}

/// Ends the questions when it is dropped, however the load ends.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Watts at this moment.
fn ask(gpu: u32) -> Option<f64> {
    let arguments =
        ["--query-gpu=power.draw", "--format=csv,noheader,nounits", "-i", &gpu.to_string()];
    let output = Command::new("nvidia-smi").args(arguments).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
