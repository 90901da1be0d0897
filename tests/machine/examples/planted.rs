//! Runs kernels with planted faults on GPU 0, and NVIDIA's compute-sanitizer on them.
//!
//! - `planted run NAME` runs one kernel.
//! - `planted table [SANITIZER]` runs each kernel under each tool of the sanitizer. It prints a
//!   line of JSON for each: the kernel, the tool, the number of errors, and the beginning of the
//!   report.
#![allow(unsafe_code)]

use std::env;
use std::error::Error;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use ctru_gpu_runtime::cuda::CudaDevice;
use ctru_gpu_runtime::{Device, Queue, RuntimeError};
use ctru_machine::MODULE;
use ctru_machine::faults::{self, Planted};
use ctru_simt::descriptor::Batch;

const TOOLS: [&str; 4] = ["memcheck", "racecheck", "initcheck", "synccheck"];
/// Seconds after which a kernel counts as one that does not end.
const TIME_LIMIT: &str = "60";
/// Runs at the same time.
const AT_ONCE: usize = 6;
/// Lines of a report that are printed.
const LINES: usize = 6;

fn main() -> Result<(), Box<dyn Error>> {
    // SAFETY: `run` is called with one of the kernels, and then the process ends.
    let planted = unsafe { faults::planted() };
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["run", name] => {
            let planted = planted.iter().find(|planted| planted.kernel.name() == name);
            Ok(run(planted.ok_or("there is no such kernel")?)?)
        }
        ["table"] => table(planted, "compute-sanitizer"),
        ["table", sanitizer] => table(planted, sanitizer),
        _ => Err("usage: planted run NAME | planted table [SANITIZER]".into()),
    }
}

/// Runs a kernel.
fn run(planted: &Planted) -> Result<(), RuntimeError> {
    let queue = CudaDevice::open(0, &MODULE)?.queue()?;
    let count = 2 * faults::THREADS;
    let numbers = queue.allocate::<u32>(count as usize)?;
    if !planted.needs_new_memory {
        queue.wipe(&numbers)?;
    }
    queue.launch(planted.kernel, &[&numbers], Batch::each(count))?;
    queue.synchronise()
}

/// Prints what each tool reports of each kernel.
fn table(planted: &[Planted], sanitizer: &str) -> Result<(), Box<dyn Error>> {
    let program = env::current_exe()?;
    let names = planted.iter().map(|planted| planted.kernel.name());
    let runs: Vec<_> = names.flat_map(|name| TOOLS.map(|tool| (name, tool))).collect();
    let left = Mutex::new(runs.iter().enumerate());
    let next = || left.lock().ok()?.next();
    let lines = Mutex::new(vec![String::new(); runs.len()]);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((i, (name, tool))) = next() {
                    let mut command = Command::new("timeout");
                    command.args([TIME_LIMIT, sanitizer, "--tool", tool]).arg(&program);
                    let output = command.args(["run", name]).output();
                    let line = match output {
                        Ok(output) => {
                            let status = output.status.code().unwrap_or(-1);
                            let summary = summary(&String::from_utf8_lossy(&output.stdout));
                            format!("\"status\": {status}, {summary}")
                        }
                        Err(error) => format!("\"failed\": {:?}", error.to_string()),
                    };
                    let line = format!("{{\"kernel\": \"{name}\", \"tool\": \"{tool}\", {line}}}");
                    if let Ok(mut lines) = lines.lock() {
                        lines[i] = line;
                    }
                }
            });
        }
    });
    for line in lines.into_inner()? {
        println!("{line}");
    }
    Ok(())
}

/// Returns fields of a line of the table: the number of errors, if the tool has come to its
/// end, and the beginning of the report.
fn summary(report: &str) -> String {
    let lines: Vec<&str> =
        report.lines().filter_map(|line| line.strip_prefix("=========")).map(str::trim).collect();
    let counted = lines.iter().find_map(|line| {
        let (_, count) = line.split_once("SUMMARY: ")?;
        count.split(' ').next()?.parse::<u32>().ok()
    });
    let count = counted.map_or("null".to_owned(), |count| count.to_string());
    let is_told = |line: &&&str| {
        !line.is_empty() && !line.contains("COMPUTE-SANITIZER") && !line.contains("SUMMARY")
    };
    // JSON has other escapes than Rust for what is not printable.
    let printable = |line: &&str| line.replace(|c: char| !(' '..='~').contains(&c), "?");
    let told: Vec<String> = lines.iter().filter(is_told).take(LINES).map(printable).collect();
    format!("\"errors\": {count}, \"report\": {told:?}")
}
