//! The program `ctru-server`: serves the KEMs over gRPC, and puts load on a server.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod engine;
mod load;
mod serve;
#[cfg(feature = "opentelemetry")]
mod traces;

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ctru_program::{tell, visible};
use ctru_server::SealingKeys;

/// CTRU-Prime and NTRU Prime over gRPC: many small callers, one engine. No NIST standard has them.
#[derive(Debug, Parser)]
#[command(name = "ctru-server", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves until SIGTERM or SIGINT. SIGHUP reads certificates and sealing keys again
    ///
    /// A second signal ends the server at once. The exit status is 0 after a signal if all calls
    /// were finished, 1 if the server did not start or calls were cut off, 2 for a wrong command
    /// line, and 69 if the device was lost.
    Serve(Box<serve::Args>),
    /// Puts load on a server and prints calls per second, latencies and errors
    Load(Box<load::Args>),
    /// Makes a line with a fresh sealing key, for the file of `--sealing-key-file`
    SealingKey {
        /// Write the line to a new file, which only its owner may read, instead of standard output
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}

type Error = Box<dyn std::error::Error + Send + Sync>;
type Result<T> = std::result::Result<T, Error>;

fn main() -> ExitCode {
    ctru_program::harden();
    let Cli { command } = match ctru_program::parse() {
        Ok(cli) => cli,
        Err(status) => return status,
    };
    let result = match command {
        Command::Serve(args) => serve::run(*args),
        Command::Load(args) => load::run(&args),
        Command::SealingKey { out } => sealing_key(out.as_deref()),
    };
    result.unwrap_or_else(|error| {
        tell("error", &error);
        ExitCode::FAILURE
    })
}

/// Writes a line with a fresh sealing key.
///
/// # Errors
/// If the system provides no randomness, if the file exists, or if it cannot be written.
fn sealing_key(out: Option<&Path>) -> Result<ExitCode> {
    let line = SealingKeys::fresh_line()?;
    match out {
        None => ctru_program::stdout()?.write_all(line.as_bytes())?,
        Some(path) => {
            let written = write_new(path, line.as_bytes());
            written.map_err(|error| format!("{}: {error}", visible(path)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a new file, which only its owner can read where files have such modes. A file that exists
/// may have keys, or be open to others, so it stays.
///
/// # Errors
/// If there is something with this name, or the file cannot be written. No new file is left then.
fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    if written.is_err() {
        // A part of a key is of no use. The first error is the one to be told.
        let _ = fs::remove_file(path);
    }
    written
}
