//! `ctru report`: draws measurements as one HTML file.

mod page;

use std::fs;
use std::path::PathBuf;

use ctru_measure::Record;
use ctru_program::visible;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::{self, Output};
use crate::lines::{self, Lines};
use crate::names::{self, PathOrStdio};

/// Draw measurements as figures in one HTML file
///
/// The file FOLDER/report.html opens in a browser without a network. A table compares the rates in
/// the given files, which `ctru bench --json` writes. If a file has several sizes of batches,
/// pictures show how the rates depend on the size.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder of report.html; it is created if it is missing
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Replace an existing report.html
    #[arg(long)]
    force: bool,
    /// Files of measurements, one JSON object per line, - for standard input
    #[arg(required = true, value_name = "RECORDS")]
    records: Vec<PathOrStdio>,
}

/// Runs the command.
///
/// # Errors
/// [`Error`] if several files are standard input, or if a file cannot be read, is not a file of
/// measurements, has no rate of an operation, or cannot be written.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    names::check_inputs(&args.records)?;
    let mut records = Vec::new();
    for file in &args.records {
        let name = file.to_string();
        let mut of_file = read(&name, lines::open(file)?)?;
        of_file.retain(page::has_rate);
        if of_file.is_empty() {
            return Err(Error::NoRates { file: name });
        }
        // The figures show the name of the file alone, unless another file has the same name.
        let short = short_name(file);
        let is_only = args.records.iter().filter(|other| short_name(other) == short).count() == 1;
        let name = short.filter(|_| is_only).unwrap_or(name);
        records.extend(of_file.into_iter().map(|record| (name.clone(), record)));
    }
    write(args, page::page(&records))
}

/// Returns the name of a file without its folder.
fn short_name(file: &PathOrStdio) -> Option<String> {
    match file {
        PathOrStdio::Stdio => Some("standard input".to_owned()),
        PathOrStdio::Path(path) => Some(visible(path.file_name()?)),
    }
}

/// Reads measurements, one per line.
fn read(file: &str, mut lines: Lines) -> Result<Vec<Record>, Error> {
    let mut records = Vec::new();
    loop {
        let line = lines.next()?.map(serde_json::from_slice);
        match line {
            Some(Ok(record)) => records.push(record),
            Some(Err(error)) => {
                return Err(Error::Measurement {
                    file: file.to_owned(),
                    line: lines.number,
                    problem: lines::problem(&error),
                });
            }
            None if records.is_empty() => {
                return Err(Error::NoRecords { file: file.to_owned() });
            }
            None => return Ok(records),
        }
    }
}

/// Writes the page to the folder, which is created if it is missing. If the page cannot be written,
/// a new folder is removed again.
fn write(args: &Args, page: String) -> Result<(), Error> {
    let is_new = match fs::create_dir(&args.out) {
        Ok(()) => true,
        Err(_) if args.out.is_dir() => false,
        Err(source) => {
            return Err(Error::Write { file: visible(&args.out), source });
        }
    };
    let to = PathOrStdio::Path(args.out.join("report.html"));
    let inputs: Vec<_> = args.records.iter().collect();
    let output = Output { to: &to, contents: Zeroizing::new(page.into_bytes()), secret: false };
    let written = files::write(&inputs, &[output], args.force);
    if written.is_err() && is_new {
        // The error of the file matters more than that of an empty folder.
        let _ = fs::remove_dir(&args.out);
    }
    written
}
