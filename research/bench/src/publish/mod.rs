//! `ctru-research publish`: writes what pages show of the records.
//!
//! Each picture has a module, which makes its charts from the records. A table holds the numbers of
//! these charts, so that a change of a picture can be read.

mod batches;
mod failures;
mod gpus;
mod laboratory;
mod mechanisms;
mod overview;
mod palette;
mod paper;
mod rates;
mod report;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};

use ctru_measure::chart::{self, Chart, Colour, Line};

use crate::error::Error;
use crate::records::Records;

/// Write the tables and pictures of the pages from the records
///
/// Writes research/tables, research/pictures and docs/pictures.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder of the records, as archives or unpacked
    #[arg(long, value_name = "FOLDER", default_value = "research/records")]
    records: PathBuf,
    /// Root of the repository whose files are written
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    out: PathBuf,
}

/// A picture.
struct Picture {
    folder: &'static str,
    name: &'static str,
    /// The files of its records.
    records: &'static [&'static str],
    /// The charts in a row.
    columns: usize,
    draw: fn(&Records) -> Vec<Chart>,
}

const DOCS: &str = "docs/pictures";
const RESEARCH: &str = "research/pictures";
const TABLES: &str = "research/tables";

#[rustfmt::skip]
const PICTURES: [Picture; 10] = [
    picture(DOCS, "overview", &["zen5/peers.jsonl", "h200/paper.jsonl"], 2, overview::draw),
    picture(DOCS, "batches-rates", &["h200/batches.jsonl"], 2, batches::rates),
    picture(DOCS, "batches-times", &["h200/batches.jsonl"], 2, batches::times),
    picture(DOCS, "gpus", &["h100/gpus.jsonl"], 2, gpus::draw),
    picture(DOCS, "failures", &["zen5/failures.jsonl"], 2, failures::draw),
    picture(RESEARCH, "paper-figure-6-throughput", &["h200/paper.jsonl"], 2, paper::throughput),
    picture(RESEARCH, "paper-figure-6-latency", &["h200/paper.jsonl"], 2, paper::latency),
    picture(RESEARCH, "paper-figure-7", &["h200/paper.jsonl"], 2, paper::streams),
    picture(RESEARCH, "reductions", &["h200/lab-reductions.jsonl"], 1, laboratory::chains),
    picture(RESEARCH, "ntt-batches", &["h200/lab-ntt.jsonl"], 1, laboratory::products),
];

const fn picture(
    folder: &'static str,
    name: &'static str,
    records: &'static [&'static str],
    columns: usize,
    draw: fn(&Records) -> Vec<Chart>,
) -> Picture {
    Picture { folder, name, records, columns, draw }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    for picture in &PICTURES {
        let charts = charts(picture, &args.records)?;
        let svg = chart::svg(&charts, picture.columns);
        write(&args.out, picture.folder, &format!("{}.svg", picture.name), &svg)?;
        let numbers = tables::numbers(&charts);
        write(&args.out, TABLES, &format!("{}.csv", picture.name), &numbers)?;
    }
    write(&args.out, TABLES, "rates.csv", &rates::table(&args.records)?)?;
    write(&args.out, TABLES, "mechanisms.csv", &mechanisms::table(&args.records)?)?;
    write(&args.out, TABLES, "published.jsonl", &report::lines(&args.records)?)
}

/// Makes the charts of a picture, all of whose lines have points.
fn charts(picture: &Picture, folder: &Path) -> Result<Vec<Chart>, Error> {
    let files: Vec<PathBuf> = picture.records.iter().map(|file| folder.join(file)).collect();
    let charts = (picture.draw)(&Records::read(&files)?);
    let is_empty = |chart: &Chart| {
        chart.lines.is_empty() && chart.bars.is_empty()
            || chart.lines.iter().any(|line| line.points.is_empty())
    };
    if charts.is_empty() || charts.iter().any(is_empty) {
        return Err(Error::missing(&files[0], picture.name));
    }
    Ok(charts)
}

fn write(root: &Path, folder: &str, name: &str, text: &str) -> Result<(), Error> {
    let folder = root.join(folder);
    fs::create_dir_all(&folder).map_err(Error::write(&folder))?;
    let path = folder.join(name);
    fs::write(&path, text).map_err(Error::write(&path))
}

/// Makes a line from a known result that does not depend on the horizontal axis. It is as long as
/// the axis that the other lines need.
fn level(name: String, colour: Colour, beside: &[Line], value: f64) -> Line {
    let ends = || beside.iter().flat_map(|line| &line.points).map(|point| point.0);
    let (from, to) = (ends().reduce(f64::min), ends().reduce(f64::max));
    let points = from.into_iter().chain(to).map(|x| (x, value)).collect();
    Line { name, colour, dashed: true, points }
}
