//! `ctru-research plot`: draws the pictures of `research/records` from the records there.
//!
//! [`svg`] writes elements, [`chart`] draws panels with axes and labelled lines, [`palette`] gives
//! each method one colour, and the other modules define the pictures.

mod batches;
mod chart;
mod failures;
mod gpus;
mod laboratory;
mod overview;
mod palette;
mod paper;
mod svg;

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::records::Records;

/// Draw all pictures as SVG, from the files of records in a folder
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder of the files h200-paper.jsonl, h200-batches.jsonl, h100-gpus.jsonl,
    /// lab-reductions.jsonl, lab-ntt.jsonl and failures.jsonl
    #[arg(long, value_name = "FOLDER", default_value = "research/records")]
    records: PathBuf,
    /// Folder of the pictures [default: the folder of the records]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// A picture: the name of its file, the file of its records, and the function that draws it. The
/// function returns `None` if the records have nothing to draw.
type Picture = (&'static str, &'static str, fn(&Records) -> Option<String>);

const PICTURES: [Picture; 10] = [
    ("overview.svg", "h200-paper.jsonl", overview::draw),
    ("batches-rates.svg", "h200-batches.jsonl", batches::rates),
    ("batches-times.svg", "h200-batches.jsonl", batches::times),
    ("paper-figure-6-throughput.svg", "h200-paper.jsonl", paper::throughput),
    ("paper-figure-6-latency.svg", "h200-paper.jsonl", paper::latency),
    ("paper-figure-7.svg", "h200-paper.jsonl", paper::streams),
    ("reductions.svg", "lab-reductions.jsonl", laboratory::chains),
    ("ntt-batches.svg", "lab-ntt.jsonl", laboratory::products),
    ("gpus.svg", "h100-gpus.jsonl", gpus::draw),
    ("failures.svg", "failures.jsonl", failures::draw),
];

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let out: &Path = args.out.as_deref().unwrap_or(&args.records);
    fs::create_dir_all(out).map_err(Error::write(out))?;
    for (picture, records, draw) in PICTURES {
        let source = args.records.join(records);
        let records = Records::read(std::slice::from_ref(&source))?;
        let text = draw(&records).ok_or_else(|| Error::Missing {
            file: source.display().to_string(),
            picture: picture.to_owned(),
        })?;
        let target = out.join(picture);
        fs::write(&target, text).map_err(Error::write(&target))?;
    }
    Ok(())
}
