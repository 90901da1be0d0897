//! Reads the power that GPUs draw from `nvidia-smi`.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The time after which readings count. A GPU reports the average over about one second, so earlier
/// readings include another load.
const SETTLING: Duration = Duration::from_millis(1250);
/// The time between two readings.
const PAUSE: Duration = Duration::from_millis(50);

/// The least time of a load whose power is read.
pub(crate) const LEAST: Duration = Duration::from_millis(2500);

/// Runs `load`. Returns its result and readings of the watts that these GPUs draw together
/// meanwhile.
///
/// There are no readings if the load is too short or `nvidia-smi` is missing. The numbers of the
/// GPUs are those in `nvidia-smi`. CUDA can give the GPUs other numbers in this process.
pub(crate) fn during<T>(gpus: &[u32], load: impl FnOnce() -> T) -> (T, Vec<f64>) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let meter = scope.spawn(|| {
            let start = Instant::now();
            let mut watts = Vec::new();
            while !done.load(Ordering::Relaxed) {
                let Some(now) = ask(gpus) else { break };
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

/// Ends the readings when it is dropped, also if the load panics.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns the present power of these GPUs together in watts.
fn ask(gpus: &[u32]) -> Option<f64> {
    let numbers: Vec<String> = gpus.iter().map(u32::to_string).collect();
    let arguments =
        ["--query-gpu=power.draw", "--format=csv,noheader,nounits", "-i", &numbers.join(",")];
    let output = Command::new("nvidia-smi").args(arguments).output().ok()?;
    String::from_utf8(output.stdout).ok()?.lines().map(|line| line.trim().parse::<f64>().ok()).sum()
}
