//! Formats the tables of the measurements beside known results.
//!
//! Each table of the paper shows every figure of its source, also where the records hold nothing to
//! compare with it. Such a place of ours has a dash.

mod figure_6;
mod fusion;
mod operations;
mod products;
mod resources;
mod roofline;
mod setting;
mod streams;

use std::io::Write;

use comfy_table::Table;
use ctru_measure::Record;

pub(crate) use streams::comparisons;

use crate::error::Error;
use crate::records::Records;

/// The units of the ceilings, as the field `op` of their records names them.
pub(in crate::paper) mod unit {
    pub(crate) const BYTES_TO_DEVICE: &str = "bytes to the device";
    pub(crate) const BYTES_FROM_DEVICE: &str = "bytes from the device";
    pub(crate) const BYTES_BOTH_WAYS: &str = "bytes both ways";
    pub(crate) const BYTES_OF_DEVICE: &str = "bytes of device memory";
    pub(crate) const PERMUTATIONS: &str = "permutations";
    pub(crate) const BYTE_PRODUCTS: &str = "byte products";
}

/// Writes the paper's tables, and each other table for which there are measurements. Writes nothing
/// if there are no measurements at all.
pub(super) fn write(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    if records.0.is_empty() {
        return Ok(());
    }
    if let Some(Record { device, commit, date, .. }) =
        records.0.iter().find(|record| record.samples > 0)
    {
        writeln!(
            out,
            "{device}, commit {commit}, {date}. M = million operations per second; times are \
             medians."
        )?;
    }
    setting::machines(records, out)?;
    setting::c_product(records, out)?;
    products::table_4(records, out)?;
    figure_6::factors(records, out)?;
    figure_6::latencies(records, out)?;
    figure_6::occupancy(records, out)?;
    products::measured(records, out)?;
    fusion::after_product(records, out)?;
    fusion::encryption(records, out)?;
    fusion::sampling(records, out)?;
    streams::write(records, out)?;
    resources::table_6(records, out)?;
    resources::kernels(records, out)?;
    resources::loads(records, out)?;
    resources::energy(records, out)?;
    operations::table_7(records, out)?;
    operations::others(records, out)?;
    operations::rates(records, out)?;
    operations::on_device(records, out)?;
    operations::latencies(records, out)?;
    setting::inversions(records, out)?;
    setting::methods_of_inversion(records, out)?;
    roofline::ceilings(records, out)?;
    roofline::write(records, out)
}

/// The columns of a title's lines.
const COLUMNS: usize = 100;

/// Writes a table under its title, if the table has rows.
fn section(title: &str, table: &Table, out: &mut dyn Write) -> Result<(), Error> {
    if table.row_count() > 0 {
        writeln!(out, "\n{}\n\n{table}", wrapped(title))?;
    }
    Ok(())
}

/// Breaks a text into lines of at most [`COLUMNS`] columns.
fn wrapped(text: &str) -> String {
    let mut column = 0;
    text.split(' ').fold(String::new(), |mut lines, word| {
        if column > 0 {
            let fits = column + 1 + word.len() <= COLUMNS;
            lines.push(if fits { ' ' } else { '\n' });
            column = if fits { column + 1 } else { 0 };
        }
        lines.push_str(word);
        column += word.len();
        lines
    })
}

/// Formats a number with three significant digits, or with four decimals if it is below 1. Returns
/// a dash if there is no number.
fn digits(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value >= 100.0 => format!("{value:.0}"),
        Some(value) if value >= 10.0 => format!("{value:.1}"),
        Some(value) if value >= 1.0 => format!("{value:.2}"),
        Some(value) => format!("{value:.4}"),
    }
}

/// Formats a figure of a source with the number of decimals that the source gives.
fn fixed(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}")
}

/// Formats the ratio of two numbers, or a dash if one of them is missing.
fn ratio(value: Option<f64>, to: Option<f64>) -> String {
    digits(value.zip(to).map(|(value, to)| value / to))
}

/// Formats a rate in millions per second.
fn mega(rate: Option<f64>) -> String {
    digits(rate.map(|rate| rate / 1e6))
}

/// Returns the time of the whole batch in microseconds.
fn batch_us(record: &Record) -> f64 {
    record.median_ns_per_op * record.batch as f64 / 1e3
}

/// Returns the percentage of `before` that `time` saves.
pub(crate) fn saving(before: f64, time: f64) -> f64 {
    100.0 * (1.0 - time / before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_wrapped() {
        let word = "a".repeat(49);
        assert_eq!(wrapped(&format!("{word} {word}")), format!("{word} {word}"));
        assert_eq!(wrapped(&format!("{word} {word}b b c")), format!("{word} {word}b\nb c"));
    }

    #[test]
    fn numbers_keep_three_digits() {
        let texts = [123.4, 56.78, 9.876, 0.0544].map(|value| digits(Some(value)));
        assert_eq!(texts, ["123", "56.8", "9.88", "0.0544"]);
        assert_eq!((digits(None), mega(Some(2_745_000.0))), ("-".to_owned(), "2.75".to_owned()));
        assert_eq!(saving(200.0, 50.0), 75.0);
        assert_eq!((fixed(10.2, 2), fixed(60.0, 2)), ("10.20".to_owned(), "60.00".to_owned()));
        assert_eq!(ratio(Some(3.0), Some(2.0)), "1.50");
        assert_eq!(ratio(None, Some(2.0)), "-");
    }
}
