//! `cargo xtask`: builds and checks the device code, and checks the arithmetic and the structure of
//! the workspace.

use std::error::Error as _;
use std::process::{Command, ExitCode, Stdio};

use clap::{Parser, Subcommand};
use ptx_check::tools;
use xtask::{
    build_ptx, dist, exhaust, machine_code, ptx_flow, ptx_report, structure, workspace, wrapper,
};

/// Builds and checks the device code of the ctru workspace, and checks its arithmetic and structure
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    job: Job,
}

#[derive(Subcommand)]
enum Job {
    BuildPtx(build_ptx::Options),
    PtxReport(ptx_report::Options),
    PtxFlow(ptx_flow::Options),
    /// Checks the order of the crates and the references between modules
    ///
    /// Fails if a crate depends on one above it, or if the modules of a crate form a cycle.
    Structure,
    Exhaust(exhaust::Options),
    MachineCode(machine_code::Options),
    /// Makes all files of a release in target/dist
    ///
    /// The files depend on the commit, the compilers and the tools, and on no folder: paths in them
    /// are relative, and times are that of the commit. Needs what .ci/packages/debian.txt names.
    Dist,
    /// Builds target/gpu-bundle, which tests and measures a GPU on a machine without Rust
    ///
    /// Runs research/bench/gpu/bundle, which says how to use the folder.
    GpuBundle,
}

fn main() -> ExitCode {
    if let Some(status) = wrapper::run() {
        return status;
    }
    let done = match Arguments::parse().job {
        Job::BuildPtx(options) => build_ptx::run(&options),
        Job::PtxReport(options) => ptx_report::run(&options),
        Job::PtxFlow(options) => ptx_flow::run(&options),
        Job::Structure => structure::run(),
        Job::Exhaust(options) => exhaust::run(&options),
        Job::MachineCode(options) => machine_code::run(&options),
        Job::Dist => dist::run(),
        Job::GpuBundle => gpu_bundle(),
    };
    let Err(error) = done else { return ExitCode::SUCCESS };
    eprintln!("error: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        eprintln!("because: {error}");
        cause = error.source();
    }
    ExitCode::FAILURE
}

fn gpu_bundle() -> xtask::Result<()> {
    let mut script = Command::new(workspace::root().join("research/bench/gpu/bundle"));
    tools::output(script.stdout(Stdio::inherit()).stderr(Stdio::inherit()))?;
    Ok(())
}
