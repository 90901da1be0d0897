//! `ctru bench paper`: every table and figure of the founding paper, for the machine at hand.

mod line;
#[cfg(any(feature = "cuda", test))]
mod measure;
mod plots;
mod references;
mod tables;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;
use line::{Line, Lines};

/// Measure every table and figure of the paper on a GPU, and print them with the known figures beside
///
/// Products, fused and unfused encryption, streams, resources and power, key generation, encapsulation and decapsulation
/// with and without transfers, latencies, and each operation's time against the ceilings of transfer, hashing, tensor cores and
/// memory, measured in the same run. Needs an NVIDIA GPU, or --from.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Take measurements from a file instead of measuring; repeat for several
    #[arg(long = "from", value_name = "FILE")]
    from: Vec<PathBuf>,
    /// Write one JSON object a measurement
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    json: Option<PathBuf>,
    /// Draw the figures into a folder, as SVG
    #[arg(long, value_name = "FOLDER")]
    plots: Option<PathBuf>,
    #[cfg(feature = "cuda")]
    #[command(flatten)]
    options: measure::Options,
}

/// Runs the command.
///
/// # Errors
/// [`Error::NeedsGpu`] if there is none and no file either; [`Error`] if the GPU fails, or a file or standard output does.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    let lines = if args.from.is_empty() { measured(args)? } else { read(&args.from)? };
    tables::write(&lines, out)?;
    match &args.plots {
        Some(folder) => plots::draw(&lines, folder),
        None => Ok(()),
    }
}

/// Measures, and writes every measurement down as it comes.
fn measured(args: &Args) -> Result<Lines, Error> {
    let mut lines = Lines::default();
    let mut file = match &args.json {
        Some(path) => {
            let file = File::create(path).map_err(|source| write_error(path, source))?;
            Some((path, BufWriter::new(file)))
        }
        None => None,
    };
    let mut report = |line: Line| -> Result<(), Error> {
        if let Some((path, file)) = &mut file {
            let written = serde_json::to_writer(&mut *file, &line).map_err(std::io::Error::from);
            written.and_then(|()| writeln!(file)).map_err(|source| write_error(path, source))?;
        }
        lines.0.push(line);
        Ok(())
    };
    measure(args, &mut report)?;
    if let Some((path, file)) = &mut file {
        file.flush().map_err(|source| write_error(path, source))?;
    }
    Ok(lines)
}

fn write_error(path: &Path, source: std::io::Error) -> Error {
    Error::Write { file: path.display().to_string(), source }
}

/// Takes measurements as they come.
type Report<'a> = &'a mut dyn FnMut(Line) -> Result<(), Error>;

#[cfg(feature = "cuda")]
fn measure(args: &Args, report: Report<'_>) -> Result<(), Error> {
    match ctru_kem::engine::cuda::devices() {
        Ok(_) => measure::run(&args.options, report),
        Err(error) => Err(Error::NeedsGpu(Box::new(error.into()))),
    }
}

#[cfg(not(feature = "cuda"))]
fn measure(_: &Args, _: Report<'_>) -> Result<(), Error> {
    Err(Error::NeedsGpu(Box::new(Error::WithoutGpu)))
}

/// Reads the measurements of files.
fn read(paths: &[PathBuf]) -> Result<Lines, Error> {
    let mut lines = Lines::default();
    for path in paths {
        let file = || path.display().to_string();
        let text =
            fs::read_to_string(path).map_err(|source| Error::Read { file: file(), source })?;
        for (number, line) in text.lines().enumerate() {
            let line = serde_json::from_str(line).map_err(|error| Error::Measurement {
                file: file(),
                line: number + 1,
                reason: error.to_string(),
            })?;
            lines.0.push(line);
        }
    }
    Ok(lines)
}
