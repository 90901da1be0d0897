//! Measures for research: CTRU-Prime beside other KEMs, the paper's tables and figures, methods of
//! modular reduction, and every kernel. Writes tables and pictures of the measurements.
//!
//! All measurements have one format, the [`Record`](ctru_measure::Record): one JSON object per
//! line.

mod copies;
mod counters;
mod error;
mod failures;
#[cfg(feature = "cuda")]
mod gpu;
#[cfg(feature = "cuda")]
mod gpus;
#[cfg(feature = "cuda")]
mod kernels;
mod lab;
#[cfg(feature = "cuda")]
mod link;
mod paper;
#[cfg(feature = "peers")]
mod peers;
#[cfg(feature = "cuda")]
mod power;
mod publish;
mod records;
mod references;
mod sources;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ctru_math::backend::{self, Backend};

use crate::error::Error;

/// Measures CTRU-Prime for research. To measure the speed of this machine, use `ctru bench`.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    /// Vector instructions of the CPU: portable, neon, sse2, avx2 or avx512 [default: the widest
    /// that the CPU has]
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        env = ctru_program::variable("CTRU_BACKEND"),
        hide_env_values = true
    )]
    backend: Option<Backend>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[cfg(feature = "peers")]
    Peers(peers::Args),
    Paper(paper::Args),
    #[command(subcommand)]
    Lab(lab::Laboratory),
    #[cfg(feature = "cuda")]
    Kernels(kernels::Args),
    #[cfg(feature = "cuda")]
    Gpus(gpus::Args),
    Copies(copies::Args),
    Counters(counters::Args),
    Failures(failures::Args),
    Publish(publish::Args),
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<(), Error> {
    if let Some(chosen) = cli.backend {
        backend::select(chosen)?;
    }
    let out = &mut io::stdout();
    match &cli.command {
        #[cfg(feature = "peers")]
        Command::Peers(args) => peers::run(args, out),
        Command::Paper(args) => paper::run(args, out),
        Command::Lab(laboratory) => laboratory.run(out),
        #[cfg(feature = "cuda")]
        Command::Kernels(args) => kernels::run(args, out),
        #[cfg(feature = "cuda")]
        Command::Gpus(args) => gpus::run(args, out),
        Command::Copies(args) => copies::run(args, out),
        Command::Counters(args) => counters::run(args, out),
        Command::Failures(args) => failures::run(args, out),
        Command::Publish(args) => publish::run(args),
    }
}
