//! `ctru report`: draws measurements as one HTML file.
//!
//! The figures are made by scripts in the reader's browser. The page in `web/` at the root of the
//! repository uses the same scripts, styles and published measurements: `charts.js`, `figures.js`,
//! `style.css` and `published.jsonl`.

use std::fs;
use std::io::BufRead;
use std::path::PathBuf;

use ctru_measure::Record;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::{self, Output};
use crate::lines::{self, Lines};
use crate::names::{self, PathOrStdio};

/// Draw measurements as figures in one HTML file
///
/// The file FOLDER/report.html opens in a browser without a network. It shows the records of the
/// given files, which `ctru bench --json` writes, beside the published measurements of this
/// project and of other implementations. Without files, it shows the published measurements alone.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder of report.html; it is created if it is missing
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Replace an existing report.html
    #[arg(long)]
    force: bool,
    /// Files of measurements, one JSON object per line, - for standard input
    #[arg(value_name = "RECORDS")]
    records: Vec<PathOrStdio>,
}

/// Records of one origin.
#[derive(Serialize)]
struct Source {
    /// The name that the figures show.
    name: String,
    /// Whether the records are those of the reader, which the figures emphasise.
    yours: bool,
    records: Vec<Record>,
}

/// The measurements of this project and known results.
const PUBLISHED: &str = include_str!("published.jsonl");

/// Runs the command.
///
/// # Errors
/// [`Error`] if several files are standard input, or if a file cannot be read, is not a file of
/// measurements, or cannot be written.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    names::check_inputs(&args.records)?;
    let mut sources = Vec::new();
    for file in &args.records {
        let name = file.to_string();
        let records = read(&name, lines::open(file)?)?;
        // The figures show the name of the file alone, unless another file has the same name.
        let short = short_name(file);
        let is_only = args.records.iter().filter(|other| short_name(other) == short).count() == 1;
        let name = short.filter(|_| is_only).unwrap_or(name);
        sources.push(Source { name, yours: true, records });
    }
    let lines = Lines::new("published".to_owned(), PUBLISHED.as_bytes());
    let records = read("published", lines)?;
    sources.push(Source { name: "published".to_owned(), yours: false, records });
    write(args, page(&sources))
}

/// Returns the name of a file without its folder.
fn short_name(file: &PathOrStdio) -> Option<String> {
    match file {
        PathOrStdio::Stdio => Some("standard input".to_owned()),
        PathOrStdio::Path(path) => Some(path.file_name()?.to_string_lossy().into_owned()),
    }
}

/// Reads measurements, one per line.
fn read(file: &str, mut lines: Lines<impl BufRead>) -> Result<Vec<Record>, Error> {
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

/// Returns the page with the records, the scripts and the styles in it.
fn page(sources: &[Source]) -> String {
    // In JSON, `<` occurs in strings only. As an escape, it cannot end the element of the records.
    let data = serde_json::to_string(sources)
        .expect("records have keys that are strings")
        .replace('<', "\\u003c");
    // The records come last, because no other part may be searched for in them.
    [
        ("STYLE", include_str!("style.css")),
        ("CHARTS", include_str!("charts.js")),
        ("FIGURES", include_str!("figures.js")),
        ("RECORDS", &data),
    ]
    .into_iter()
    .fold(include_str!("template.html").to_owned(), |page, (name, text)| {
        page.replacen(&format!("{{{{{name}}}}}"), text, 1)
    })
}

/// Writes the page to the folder, which is created if it is missing. If the page cannot be written,
/// a new folder is removed again.
fn write(args: &Args, page: String) -> Result<(), Error> {
    let is_new = match fs::create_dir(&args.out) {
        Ok(()) => true,
        Err(_) if args.out.is_dir() => false,
        Err(source) => {
            return Err(Error::Write { file: names::display(&args.out), source });
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
