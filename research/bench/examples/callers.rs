//! Measures small batches that several threads give to one engine on a GPU, without and with common
//! launches, for several numbers of callers. All measurements run in one process, one after the
//! other, so that they see the same machine.
//!
//! `cargo run --release --manifest-path research/Cargo.toml --example callers [-- CALLERS BATCH
//! SECONDS]`, by default 16 callers with batches of 32 for half a second each. A line has the
//! limits, with times in microseconds and the number of callers inside, which is by default the
//! number of CPUs. Then it has for each operation the median time of a call, the distance between
//! the 10th and the 90th percentile, the rate of all callers together, and about how many calls
//! share a launch. With 0 rows, each call has launches of its own. The last lines are those of a
//! lone caller.

use std::env;
use std::thread;
use std::time::Duration;

use ctru_gpu_runtime::batch::tuning::Tuning;
use ctru_kem::engine::device::DeviceEngine;
use ctru_kem::engine::{DeviceOptions, EngineError, cuda};
use ctru_kem::{CtruPrime761, ParameterSet};
use ctru_measure::{HostMemory, KeyUse, Operation, Statistics, Workload, times};

/// Returns the arguments: callers, operations per batch, and seconds per measurement.
fn arguments() -> (usize, usize, Duration) {
    let mut arguments = env::args().skip(1).map(|text| text.parse::<f64>().expect("a number"));
    let mut next = |default| arguments.next().unwrap_or(default);
    (next(16.0) as usize, next(32.0) as usize, Duration::from_secs_f64(next(0.5)))
}

/// Measures all operations with these limits, and prints a line.
fn measure(
    callers: usize,
    batch: usize,
    budget: Duration,
    tuning: &'static Tuning,
) -> Result<(), EngineError> {
    // Small chunks, because an engine with large ones takes seconds to allocate.
    let options = DeviceOptions { chunk: 1024, tuning: Some(tuning), ..Default::default() };
    let engine = DeviceEngine::new(cuda::open(0)?, options)?;
    let Tuning { coalesced_rows: rows, under_way, spin, callers: inside, .. } = tuning;
    print!(
        "callers {callers:2} batch {batch:3} rows {rows:3} under way {under_way:2} spin {:4} \
         inside {:3}",
        spin.as_micros(),
        inside.map_or_else(|| "CPU".to_owned(), |inside| inside.to_string()),
    );
    let workload = Workload::new(&engine, <CtruPrime761>::PARAMETERS, batch, HostMemory::Pinned)?;
    for (name, operation, keys) in [
        ("encaps each", Operation::Encaps, KeyUse::Each),
        ("decaps each", Operation::Decaps, KeyUse::Each),
        ("encaps one", Operation::Encaps, KeyUse::One),
        ("decaps one", Operation::Decaps, KeyUse::One),
    ] {
        let call = || {
            workload.with_batch(operation, keys, |run| {
                // The threads prepare their batches for different times.
                thread::sleep(Duration::from_millis(20));
                times(budget, run)
            })
        };
        let before = engine.common_launches();
        let measured: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..callers).map(|_| scope.spawn(call)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let mut all = Vec::new();
        let mut rate = 0.0;
        for measured in measured {
            let times = measured?;
            let seconds = times.iter().sum::<f64>() * 1e-9;
            rate += times.len() as f64 * batch as f64 / seconds;
            all.extend(times);
        }
        let calls = all.len();
        let Statistics { median, spread, .. } = Statistics::of(all);
        print!(
            " | {name} {:6.1} us {:3.0} % {:6.2} M/s {:4.1}",
            median * 1e-3,
            100.0 * spread,
            rate * 1e-6,
            calls as f64 / (engine.common_launches() - before) as f64
        );
    }
    println!();
    Ok(())
}

fn main() -> Result<(), EngineError> {
    let (callers, batch, budget) = arguments();
    let usual = Tuning::of("");
    let table = |tuning: Tuning| -> &'static Tuning { Box::leak(Box::new(tuning)) };
    let alone = table(Tuning { coalesced_rows: 0, ..usual.clone() });
    measure(callers, batch, budget, alone)?;
    for under_way in [8, 12] {
        measure(callers, batch, budget, table(Tuning { under_way, ..usual.clone() }))?;
    }
    for callers in [4, 8, 24, 32, 64] {
        for tuning in [alone, usual] {
            measure(callers, batch, budget, tuning)?;
        }
    }
    for batch in [batch, 1] {
        for tuning in [alone, usual] {
            measure(1, batch, budget, tuning)?;
        }
    }
    Ok(())
}
