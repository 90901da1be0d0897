//! The program `ctru`: keys, encapsulation and decapsulation on files, known-answer checks, benchmarks.
//!
//! One module a subcommand; under them [`set`] turns a choice made at run time into the types of `ctru-kem`,
//! [`engine`] does the same for engines, [`backend`] chooses the CPU's instructions, `format` knows what a file contains, and `files` how it is read and written.
//! Nothing but the subcommands knows the command line.

// These panic if their stream takes nothing.
#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub mod backend;
pub mod bench;
mod budget;
mod chart;
pub mod check;
pub mod decaps;
pub mod encaps;
pub mod engine;
mod error;
mod files;
mod fixture;
mod format;
#[cfg(feature = "cuda")]
pub mod gpu;
pub mod info;
pub mod kat;
#[cfg(feature = "cuda")]
pub mod kernels;
pub mod keygen;
pub mod lab;
pub mod paper;
pub mod record;
pub mod selftest;
pub mod set;
#[cfg(feature = "cuda")]
mod timing;
mod transcript;

pub use error::Error;
pub use files::Place;
pub use format::{Kind, Object, Problem};

/// The post-quantum KEM CTRU-Prime on files and in benchmarks. Not standardised: see `ctru info`.
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
    Info(info::Args),
    Kat(kat::Args),
    Bench(bench::Args),
    Selftest(selftest::Args),
    #[cfg(feature = "cuda")]
    Devices(gpu::Args),
    #[cfg(feature = "cuda")]
    Kernels(kernels::Args),
}

/// Runs the program with the arguments of the process. An error is reported on standard error; the
/// status is 1 for errors and failed checks, 2 for a wrong command line.
#[must_use]
pub fn main() -> ExitCode {
    let result = match Cli::try_parse() {
        Ok(cli) => cli.backend.select().and_then(|()| execute(&cli.command)),
        Err(wrong) if wrong.use_stderr() => {
            // If standard error takes nothing, the status must do.
            let _ = wrong.print();
            return ExitCode::from(2);
        }
        Err(help) => help.print().map(|()| true).map_err(Error::from),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // Who closed the pipe does not want to read on.
            if !matches!(&error, Error::Report(source) if source.kind() == io::ErrorKind::BrokenPipe)
            {
                tell("error", &error);
            }
            ExitCode::FAILURE
        }
    }
}

/// Writes a line to standard error. There is nobody to tell if that fails.
pub(crate) fn tell(kind: &str, message: &dyn Display) {
    let _ = io::stderr().write_all(format!("{kind}: {message}\n").as_bytes());
}

/// Whether all checks of the command passed.
fn execute(command: &Command) -> Result<bool, Error> {
    let out = &mut io::stdout();
    let passed = match command {
        Command::Keygen(args) => keygen::run(args).map(|()| true),
        Command::Encaps(args) => encaps::run(args).map(|()| true),
        Command::Decaps(args) => decaps::run(args).map(|()| true),
        Command::Check(args) => check::run(args, out),
        Command::Info(args) => info::run(args, out).map(|()| true),
        Command::Kat(args) => kat::run(args, out),
        Command::Bench(args) => bench::run(args, out).map(|()| true),
        #[cfg(feature = "cuda")]
        Command::Devices(args) => gpu::run(args, out).map(|()| true),
        #[cfg(feature = "cuda")]
        Command::Kernels(args) => kernels::run(args, out).map(|()| true),
        Command::Selftest(args) => selftest::run(args, out),
    }?;
    out.flush()?;
    Ok(passed)
}
