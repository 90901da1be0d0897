//! Measurements as tables for people, the known figures beside them.

mod kernels;
mod operations;
mod roofline;
mod streams;

use std::io::Write;

use comfy_table::Table;

use super::line::{Line, Lines};
use crate::error::Error;
use crate::record::{Operation, Record};

pub(super) use streams::comparisons;

/// The operations in the order of the tables.
pub(super) const OPERATIONS: [Operation; 3] =
    [Operation::Keygen, Operation::Encaps, Operation::Decaps];

/// Writes every table of which something was measured.
pub(super) fn write(lines: &Lines, out: &mut dyn Write) -> Result<(), Error> {
    let first = lines.0.iter().find_map(|line| match line {
        Line::Time(record) => Some(record),
        _ => None,
    });
    if let Some(Record { device, commit, date, .. }) = first {
        writeln!(
            out,
            "{device}, commit {commit}, {date}. M = million operations a second; times are medians."
        )?;
    }
    kernels::products(lines, out)?;
    kernels::fusion(lines, out)?;
    streams::write(lines, out)?;
    kernels::resources(lines, out)?;
    operations::loads(lines, out)?;
    operations::rates(lines, out)?;
    operations::on_device(lines, out)?;
    operations::latencies(lines, out)?;
    roofline::ceilings(lines, out)?;
    roofline::write(lines, out)
}

/// Writes a table under its title, if it has rows.
fn section(title: &str, table: &Table, out: &mut dyn Write) -> Result<(), Error> {
    if table.row_count() > 0 {
        writeln!(out, "\n{title}\n\n{table}")?;
    }
    Ok(())
}

/// A number with three digits that say something, or a dash.
fn digits(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value >= 100.0 => format!("{value:.0}"),
        Some(value) if value >= 10.0 => format!("{value:.1}"),
        Some(value) if value >= 1.0 => format!("{value:.2}"),
        Some(value) => format!("{value:.4}"),
    }
}

/// A rate in millions a second.
fn mega(rate: Option<f64>) -> String {
    digits(rate.map(|rate| rate / 1e6))
}

/// The time of the whole batch in microseconds.
fn batch_us(record: &Record) -> f64 {
    record.median_ns_per_op * record.batch as f64 / 1e3
}

/// What `time` saves of `before`, in percent.
fn saving(before: f64, time: f64) -> f64 {
    100.0 * (1.0 - time / before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        let texts = [123.4, 56.78, 9.876, 0.0544].map(|value| digits(Some(value)));
        assert_eq!(texts, ["123", "56.8", "9.88", "0.0544"]);
        assert_eq!((digits(None), mega(Some(2_745_000.0))), ("-".to_owned(), "2.75".to_owned()));
        assert_eq!(saving(200.0, 50.0), 75.0);
    }
}
