//! The program `ctru`; everything is in the library.

use std::process::ExitCode;

use clap::Parser;
use ctru_cli::Cli;

fn main() -> ExitCode {
    ctru_cli::run(&Cli::parse())
}
