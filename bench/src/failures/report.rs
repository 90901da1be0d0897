//! Formats the results as tables.

use std::io::Write;

use comfy_table::Table;
use ctru_measure::{Record, table};

use super::measure::{BALL_ALL, BALL_WORST, KEYS, LARGEST, MEAN_OF_KEYS, MESSAGES, NORMAL, UNION};
use crate::error::Error;
use crate::records::{Records, distinct, figure, kind};

/// Writes all tables.
pub(super) fn write(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let sets = distinct(records.0.iter().map(|record| record.set.clone()));
    let header = |names: &[&str]| {
        let header: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        table::markdown(header, 1..names.len())
    };

    let mut rates = header(&["set", BALL_WORST, BALL_ALL, NORMAL, LARGEST, UNION]);
    for set in &sets {
        let log2 = |op: &str| cell(rate(records, set, op, 1.0));
        let row = [BALL_WORST, BALL_ALL, NORMAL, LARGEST, UNION].map(log2);
        rates.add_row([set.clone()].into_iter().chain(row));
    }
    section("log2 of the chance that a decapsulation with a random key fails", &rates, out)?;

    let mut spread =
        header(&["set", "of", "samples", "mean", "deviation", "least", "median", "most"]);
    for record in records.of_kind(kind::FAILURE_SPREAD) {
        let count = record.figure(figure::SAMPLES).unwrap_or_default().to_string();
        let names = [figure::MEAN, figure::DEVIATION, figure::LEAST, figure::MEDIAN, figure::MOST];
        let row = names.map(|name| cell(record.figure(name)));
        spread.add_row([record.set.clone(), record.op.clone(), count].into_iter().chain(row));
    }
    section("log2 of the failure rates of sampled keys and messages", &spread, out)?;

    let mut ranks = header(&["one in 2^", "set", "keys", "sampled", "messages", "sampled"]);
    let of = |op: &'static str| records.of_kind(kind::FAILURE_RANK).filter(move |r| r.op == op);
    for (key, message) in of(KEYS).zip(of(MESSAGES)) {
        let rarity = key.figure(figure::RARITY).unwrap_or_default().to_string();
        let row =
            [key, message].map(|r| [figure::LOG2, figure::SAMPLED].map(|f| cell(r.figure(f))));
        ranks.add_row([rarity, key.set.clone()].into_iter().chain(row.into_iter().flatten()));
    }
    section("log2 of the failure rate that one key, or message, in 2^k exceeds", &ranks, out)?;

    let mut counts =
        header(&["set", "scale", "failures", "decapsulations", "log2", "model", "difference"]);
    for record in records.of_kind(kind::FAILURES) {
        let figure = |name| record.figure(name).unwrap_or_default();
        let scale = figure(figure::SCALE);
        let counted = log2_of_counts(record);
        let model = rate(records, &record.set, UNION, scale);
        let difference = model.map(|model| model - counted);
        counts.add_row([
            record.set.clone(),
            scale.to_string(),
            figure(figure::FAILURES).to_string(),
            figure(figure::DECAPSULATIONS).to_string(),
            cell(Some(counted)),
            cell(model),
            cell(difference),
        ]);
    }
    section("Failures with the noise multiplied by `scale`", &counts, out)?;

    let mut checks = header(&["set", "check", "result", "expected"]);
    for set in &sets {
        let of_set = |kind| records.of_kind(kind).find(|record| record.set == *set);
        if let Some(record) = of_set(kind::NOISE_COVARIANCE) {
            let figure = |name| record.figure(name).unwrap_or_default();
            let check = format!(
                "largest of {} deviations of the covariance, {} samples, in standard errors",
                figure(figure::COMPARED),
                figure(figure::SAMPLES)
            );
            let result = cell(record.figure(figure::STANDARD_ERRORS));
            checks.add_row([set.clone(), check, result, "below 4".to_owned()]);
        }
        let mut of_keys = records.of_kind(kind::FAILURE_RATE);
        let of_keys = of_keys.find(|record| record.set == *set && record.op == MEAN_OF_KEYS);
        if let Some(scale) = of_keys.and_then(|record| record.figure(figure::SCALE)) {
            let check = format!("log2 of the mean of sampled keys, scale {scale}");
            let result = cell(rate(records, set, MEAN_OF_KEYS, scale));
            let expected = cell(rate(records, set, UNION, scale));
            checks.add_row([set.clone(), check, result, expected]);
        }
    }
    section("Checks of the model", &checks, out)
}

/// Returns the logarithm of a rate.
fn rate(records: &Records, set: &str, op: &str, scale: f64) -> Option<f64> {
    let is_wanted = |record: &&Record| {
        record.set == set && record.op == op && record.figure(figure::SCALE) == Some(scale)
    };
    records.of_kind(kind::FAILURE_RATE).find(is_wanted)?.figure(figure::LOG2)
}

/// Returns the logarithm of the rate of counted failures.
pub(crate) fn log2_of_counts(record: &Record) -> f64 {
    let figure = |name| record.figure(name).unwrap_or_default();
    (figure(figure::FAILURES) / figure(figure::DECAPSULATIONS)).log2()
}

fn cell(log2: Option<f64>) -> String {
    log2.map_or_else(|| "-".to_owned(), |log2| format!("{log2:.2}"))
}

fn section(title: &str, table: &Table, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "{title}:\n\n{table}\n")?;
    Ok(())
}
