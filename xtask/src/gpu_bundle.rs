//! Builds a folder with the programs and the script that test and measure a GPU on a machine
//! without Rust.

use std::fs;
use std::path::{Path, PathBuf};

use ptx_check::tools;
use serde::Deserialize;

use crate::{Error, IoContext, Result, process, workspace};

/// Builds target/gpu-bundle, which tests and measures a GPU on a machine without Rust
///
/// The folder holds the programs ctru and ctru-research, the tests that need a GPU, and run.sh,
/// which runs them. Copy target/gpu-bundle, tests/vectors and research/bench/cuda to the same
/// places of a folder on the other machine. There, `target/gpu-bundle/run.sh FOLDER` writes logs
/// and records into FOLDER.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Build only the programs that the reduction laboratory needs
    #[arg(long)]
    lab: bool,
}

/// The arguments of a call of cargo, and what the names of its programs begin with in the bundle.
type Build = (&'static str, &'static [&'static str]);

/// What the reduction laboratory needs.
const LAB: [Build; 3] = [
    ("", &["build", "--release", "-p", "ctru-cli"]),
    ("", &["build", "--release", RESEARCH, "-p", "ctru-research"]),
    ("reductions_", &["test", "--no-run", RESEARCH, "-p", "research-reductions", CUDA]),
];

/// What the other parts of run.sh need.
const OTHERS: [Build; 8] = [
    ("paper_", &["test", "--no-run", RESEARCH, "-p", "research-paper", CUDA]),
    ("", &["test", "--no-run", "-p", "ctru-suites", CUDA, "--test=kernels", "--test=gpu_engine"]),
    ("", &["test", "--no-run", "-p", "ctru-machine", CUDA, "--test=machine"]),
    ("", &["build", "-p", "ctru-machine", CUDA, "--example=planted"]),
    ("", &["test", "--no-run", OWN_KERNEL, OWN_CONFIG, CUDA, "--test=own_kernel"]),
    ("", &["build", "--release", OWN_KERNEL, OWN_CONFIG, CUDA, "--example=measure"]),
    ("", &["test", "--no-run", "-p", "ctru-gpu-runtime", CUDA, "--test=cuda"]),
    ("", &["build", "-p", "ctru-gpu-runtime", CUDA, "--example=faults"]),
];

const CUDA: &str = "--features=cuda";
const RESEARCH: &str = "--manifest-path=research/Cargo.toml";
const OWN_KERNEL: &str = "--manifest-path=examples/own-kernel/Cargo.toml";
const OWN_CONFIG: &str = "--config=examples/own-kernel/.cargo/config.toml";

/// Runs the job.
///
/// # Errors
/// [`Error`] if a program cannot be built or a file cannot be copied.
pub fn run(options: &Options) -> Result<()> {
    let bundle = workspace::target().join("gpu-bundle");
    if bundle.exists() {
        fs::remove_dir_all(&bundle).at("remove", &bundle)?;
    }
    fs::create_dir_all(&bundle).at("create", &bundle)?;

    let others: &[Build] = if options.lab { &[] } else { &OTHERS };
    for (beginning, arguments) in LAB.iter().chain(others) {
        for (name, path) in build(arguments)? {
            let copy = bundle.join(format!("{beginning}{name}"));
            fs::copy(&path, &copy).at("copy", &path)?;
            println!("{}", copy.display());
        }
    }
    let script = bundle.join("run.sh");
    fs::write(&script, include_str!("gpu_bundle/run.sh")).at("write", &script)?;
    make_executable(&script)?;
    println!("{}", script.display());
    Ok(())
}

/// A line of cargo's JSON report.
#[derive(Deserialize)]
struct Message {
    executable: Option<PathBuf>,
    target: Option<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

/// Builds programs without symbols, which keeps the bundle small. Returns their names and files.
fn build(arguments: &[&str]) -> Result<Vec<(String, PathBuf)>> {
    let mut command = process::cargo();
    command
        .current_dir(workspace::root())
        .args(arguments)
        .arg("--message-format=json-render-diagnostics");
    for profile in ["RELEASE", "TEST", "DEV"] {
        command.env(format!("CARGO_PROFILE_{profile}_STRIP"), "symbols");
        command.env(format!("CARGO_PROFILE_{profile}_DEBUG"), "0");
    }
    executables(&tools::text(&mut command)?)
}

fn executables(report: &str) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for line in report.lines().filter(|line| line.starts_with('{')) {
        let message: Message = serde_json::from_str(line)
            .map_err(|source| Error::Json { what: "cargo's report".to_owned(), source })?;
        found.extend(message.target.map(|target| target.name).zip(message.executable));
    }
    Ok(found)
}

#[cfg(unix)]
fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).at("change", path)
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_executables_in_a_report() {
        let report = concat!(
            "{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"lib\"},\
             \"executable\":null}\n",
            "{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"ctru\"},\
             \"executable\":\"/t/ctru\"}\n",
            "{\"reason\":\"build-finished\",\"success\":true}\n",
        );
        assert_eq!(executables(report).unwrap(), [("ctru".to_owned(), "/t/ctru".into())]);
        assert!(executables("{broken").is_err());
    }
}
