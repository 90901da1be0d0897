//! `cargo xtask exhaust`: runs the checks and proofs of `ctru-math` on all inputs.

use std::process::Stdio;

use ptx_check::tools;

use crate::{Result, workspace};

/// Proves the arithmetic on all inputs of its steps, or on a basis
///
/// Prints the number of inputs of each proof and its time. Builds with optimisation.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Run only the checks whose names contain this text, such as `modular` or `e8`
    #[arg(value_name = "TEXT")]
    only: Option<String>,
}

/// Runs the job.
///
/// # Errors
/// [`Error::Program`](crate::Error::Program) if cargo cannot be run or a check fails.
pub fn run(options: &Options) -> Result<()> {
    let mut command = workspace::cargo();
    command.current_dir(workspace::root());
    command.args([
        "test",
        "--release",
        "--package",
        "ctru-math",
        "--lib",
        "--test",
        "exhaust",
        "--",
    ]);
    command.args(["--ignored", "--nocapture", "--test-threads=1"]);
    command.args(&options.only);
    tools::output(command.stdout(Stdio::inherit()).stderr(Stdio::inherit()))?;
    Ok(())
}
