//! The program `ptx-check`.

mod arguments;
mod flow;
mod list;
mod npy;
mod run;

use std::error::Error as _;
use std::fmt::Display;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use clap::{Parser, Subcommand};
use ptx_check::syntax::{self, Module};
use ptx_check::{run as interpreter, tools};

/// Checks compiled GPU kernels without a GPU
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    job: Job,
    /// Prints JSON instead of text
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Job {
    List(list::List),
    Run(run::Run),
    Flow(flow::Flow),
}

/// The reason why a job was not done.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot write to standard output")]
    Output { source: io::Error },
    #[error("{}:{fault}", path.display())]
    Syntax { path: PathBuf, fault: syntax::Error },
    #[error("no kernel has a parameter {0}")]
    NoParameter(String),
    #[error("{0} is no array; the value of a parameter is followed in PTX only")]
    Value(String),
    #[error("no kernel to check")]
    NoKernel,
    #[error("{0} has several kernels: name one with --kernel")]
    SeveralKernels(PathBuf),
    #[error("{0} is no array of numpy that this program reads")]
    NotNumpy(PathBuf),
    #[error("argument {number}, {text}: {why}")]
    Argument { number: usize, text: String, why: String },
    #[error(transparent)]
    Launch(interpreter::Error),
    #[error(transparent)]
    Tools(#[from] tools::Error),
}

fn main() -> ExitCode {
    let Arguments { job, json } = Arguments::parse();
    let done = match job {
        Job::List(list) => list.run(json),
        Job::Run(run) => run.run(json),
        Job::Flow(flow) => flow.run(json),
    };
    match done {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            let mut text = format!("error: {error}\n");
            let mut cause = error.source();
            while let Some(error) = cause {
                text += &format!("because: {error}\n");
                cause = error.source();
            }
            // Nobody can be told that nobody reads this. The exit status stays.
            let _ = io::stderr().write_all(text.as_bytes());
            ExitCode::from(2)
        }
    }
}

/// Writes a line to standard output.
fn tell(line: impl Display) -> Result<(), Error> {
    writeln!(io::stdout(), "{line}").map_err(|source| Error::Output { source })
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}

fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    fs::write(path, content).map_err(|source| Error::Write { path: path.to_owned(), source })
}

fn read_text(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}

fn parse<'t>(path: &Path, text: &'t str) -> Result<Module<'t>, Error> {
    syntax::parse(text).map_err(|fault| Error::Syntax { path: path.to_owned(), fault })
}
