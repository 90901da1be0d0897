//! `ctru-bench lab counts`: reads counts of Nsight Compute as records.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use ctru_measure::Record;

use super::{ELEMENTS, tables};
use crate::error::Error;
use crate::records::{self, Report, figure, kind};

/// The columns of the file that become numbers of a record.
const METRICS: [(&str, &str); 2] = [
    ("smsp__inst_executed.sum", figure::WARP_INSTRUCTIONS),
    ("smsp__thread_inst_executed.sum", figure::THREAD_INSTRUCTIONS),
];

/// Print the executed instructions of chains that Nsight Compute has counted
///
/// The file is the output of `ncu --csv --page raw --metrics
/// smsp__inst_executed.sum,smsp__thread_inst_executed.sum ctru-bench lab reductions --launches 1`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Output of ncu
    #[arg(long, value_name = "FILE")]
    csv: PathBuf,
    /// Name of the GPU, for the records
    #[arg(long, value_name = "NAME")]
    device: String,
    /// Write one JSON object per launch to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    let records = records::collect(args.json.as_deref(), |report| args.read(report))?;
    tables::write_counts(&records, out)
}

impl Args {
    fn read(&self, report: Report<'_>) -> Result<(), Error> {
        let text = fs::read_to_string(&self.csv).map_err(Error::read(&self.csv))?;
        // Before the table, ncu and the program print lines of their own.
        let mut lines = text.lines().map(cells).skip_while(|cells| column(cells, KERNEL).is_none());
        let missing = |what| Error::NoColumn { file: self.csv.display().to_string(), what };
        let header = lines.next().ok_or_else(|| missing(KERNEL))?;
        let kernel = column(&header, KERNEL).ok_or_else(|| missing(KERNEL))?;
        let mut metrics = Vec::new();
        for (metric, figure) in METRICS {
            metrics.push((column(&header, metric).ok_or_else(|| missing(metric))?, figure));
        }
        for line in lines {
            let number = |index: usize| line.get(index)?.replace(',', "").parse::<f64>().ok();
            let counts: Option<Vec<_>> =
                metrics.iter().map(|&(index, figure)| Some((figure, number(index)?))).collect();
            let name = line.get(kernel).and_then(|name| name.strip_prefix("chain_"));
            // The line below the header holds units.
            let Some((method, modulus)) = name.and_then(|name| name.rsplit_once('_')) else {
                continue;
            };
            let (Some(counts), Ok(modulus)) = (counts, modulus.parse()) else { continue };
            let record = Record {
                bench: kind::INSTRUCTIONS.to_owned(),
                engine: "gpu".to_owned(),
                device: self.device.clone(),
                backend: "cuda".to_owned(),
                op: method.to_owned(),
                batch: 1,
                transfers: "none".to_owned(),
                ..Record::default()
            };
            let figures = [(figure::MODULUS, modulus), (figure::LEN, ELEMENTS as f64)];
            report(record.dated().with_figures(figures).with_figures(counts))?;
        }
        Ok(())
    }
}

const KERNEL: &str = "Kernel Name";

fn column(header: &[String], name: &str) -> Option<usize> {
    header.iter().position(|cell| cell == name)
}

/// Splits a line at the commas outside quotation marks, and removes these marks.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut is_quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            c => cells.iter_mut().last().into_iter().for_each(|cell| cell.push(c)),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_ncu_prints() {
        let text = "==PROF== Connected
\"ID\",\"Kernel Name\",\"smsp__thread_inst_executed.sum\",\"smsp__inst_executed.sum\"
\"\",\"\",\"inst\",\"inst\"
\"0\",\"chain_unsigned_shoup_65521\",\"1,240,032\",\"38,751\"
\"1\",\"copy\",\"7\",\"8\"
";
        let csv = std::env::temp_dir().join(format!("ctru-counts-{}.csv", std::process::id()));
        fs::write(&csv, text).unwrap();
        let args = Args { csv: csv.clone(), device: "a GPU".to_owned(), json: None };
        let records = records::collect(None, |report| args.read(report)).unwrap().0;
        let [record] = &records[..] else { panic!("{records:?}") };
        assert_eq!((record.op.as_str(), record.samples), ("unsigned_shoup", 0));
        assert_eq!(record.figure(figure::MODULUS), Some(65521.0));
        assert_eq!(record.figure(figure::WARP_INSTRUCTIONS), Some(38_751.0));
        assert_eq!(record.figure(figure::THREAD_INSTRUCTIONS), Some(1_240_032.0));
        fs::write(&csv, text.replace("smsp__inst", "other")).unwrap();
        let refused = records::collect(None, |report| args.read(report)).unwrap_err();
        assert!(refused.to_string().contains("smsp__inst_executed.sum"), "{refused}");
        fs::remove_file(csv).unwrap();
    }
}
