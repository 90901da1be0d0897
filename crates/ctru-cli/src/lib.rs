//! The program `ctru`: keys, encapsulation and decapsulation on files, known-answer checks and
//! benchmarks.
//!
//! Each subcommand is one module. The other modules serve the subcommands:
//!
//! - `parameters` turns a parameter set that is chosen at run time into a type of `ctru-kem`.
//! - `engine` does the same for engines.
//! - `backend` chooses the vector instructions of the CPU.
//! - `transcript` runs all operations on given inputs, for comparison with known answers.
//! - `format` converts keys, ciphertexts and shared secrets to the contents of files, and back.
//! - `found` names what a file holds if it is nothing of this program.
//! - `key_file` converts keys to and from PKCS#8 and SubjectPublicKeyInfo, the forms of other
//!   programs.
//! - `files` reads and writes files, and `lines` reads files of one object per line.
//! - `sink` finds out whether an output is a file or a stream, and writes to streams.
//! - `lock` lets only one program at a time replace several files in a folder, on Unix.

// The macros `print` and `eprint` panic if a write to their stream fails.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod backend;
mod bench;
mod check;
mod decaps;
#[cfg(feature = "cuda")]
mod devices;
mod encaps;
mod engine;
mod error;
mod files;
mod format;
mod found;
mod info;
mod kat;
mod key_file;
mod keygen;
mod lines;
#[cfg(unix)]
mod lock;
mod names;
mod parameters;
#[cfg(feature = "cuda")]
mod plan;
mod problem;
mod report;
mod selftest;
mod sink;
mod transcript;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ctru_program::{Output, tell};

use crate::error::Error;

/// The KEMs CTRU-Prime and Streamlined NTRU Prime on files and in benchmarks. CTRU-Prime is not
/// standardised: see `ctru info`.
#[derive(Debug, Parser)]
#[command(name = "ctru", version, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    backend: backend::BackendArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Keygen(keygen::Args),
    Encaps(encaps::Args),
    Decaps(decaps::Args),
    Check(check::Args),
    /// Show parameter sets, sizes, security status and the instructions of this CPU that are in use
    Info,
    /// Known-answer vectors
    #[command(subcommand)]
    Kat(kat::Action),
    Bench(bench::Args),
    Report(report::Args),
    Selftest(selftest::Args),
    #[cfg(feature = "cuda")]
    /// List the GPUs that the engine can use
    Devices,
    #[cfg(feature = "cuda")]
    Plan(plan::Args),
}

/// Runs the program.
///
/// Errors go to standard error. The exit status is 0 for success, 1 for errors and failed checks,
/// and 2 for a wrong command line.
pub fn main() -> ExitCode {
    ctru_program::harden();
    let cli: Cli = match ctru_program::parse() {
        Ok(cli) => cli,
        Err(status) => return status,
    };
    match cli.backend.select().and_then(|()| execute(&cli.command)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // If the reader closed the pipe, it does not expect more output.
            let closed = |source: &io::Error| source.kind() == io::ErrorKind::BrokenPipe;
            if !matches!(&error, Error::Report(source) if closed(source)) {
                tell("error", &error);
            }
            match error {
                Error::UnknownBackend { .. } => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

/// Runs a command. Returns `false` if one of its checks failed.
fn execute(command: &Command) -> Result<bool, Error> {
    let out = &mut Output;
    let passed = match command {
        Command::Keygen(args) => keygen::run(args).map(|()| true),
        Command::Encaps(args) => encaps::run(args).map(|()| true),
        Command::Decaps(args) => decaps::run(args).map(|()| true),
        Command::Check(args) => check::run(args, out),
        Command::Info => info::run(out).map(|()| true),
        Command::Kat(action) => kat::run(action, out),
        Command::Bench(args) => bench::run(args, out).map(|()| true),
        Command::Report(args) => report::run(args).map(|()| true),
        #[cfg(feature = "cuda")]
        Command::Devices => devices::run(out).map(|()| true),
        #[cfg(feature = "cuda")]
        Command::Plan(args) => plan::run(args, out).map(|()| true),
        Command::Selftest(args) => selftest::run(args, out),
    }?;
    out.flush()?;
    Ok(passed)
}
