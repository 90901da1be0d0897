//! Formats the results as tables.

use std::io::Write;

use comfy_table::Table;
use ctru_measure::{Record, table};

use super::measure::{BALL_ALL, BALL_WORST, LARGEST, MEAN_OF_KEYS, MESSAGES, NORMAL, UNION};
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

    let mut ranks = header(&[
        "one in 2^",
        "set",
        "of",
        "worse than",
        "their mean",
        "samples",
        "formula",
        "plain sample",
    ]);
    for record in records.of_kind(kind::FAILURE_RANK) {
        let figure = |name| record.figure(name);
        ranks.add_row([
            figure(figure::RARITY).unwrap_or_default().to_string(),
            record.set.clone(),
            record.op.clone(),
            cell(figure(figure::LOG2)),
            cell(figure(figure::MEAN)),
            figure(figure::SAMPLES).map_or_else(|| "-".to_owned(), |count| format!("{count:.0}")),
            cell(figure(figure::EXTRAPOLATED)),
            cell(figure(figure::SAMPLED)),
        ]);
    }
    section("log2 of the failure rate that one key, or message, in 2^k exceeds", &ranks, out)?;

    let mut searches =
        header(&["set", "queries alone", "one message in", "steps", "queries", "product"]);
    for set in &sets {
        if let Some(search) = Search::least(records, set) {
            let alone = rate(records, set, UNION, 1.0).map(|rate| -rate);
            let whole = |number: f64| format!("{number:.1}");
            searches.add_row([
                set.clone(),
                cell(alone),
                whole(search.rarity),
                whole(search.steps()),
                whole(search.queries),
                whole(search.product()),
            ]);
        }
    }
    section(
        "log2 of the least number of steps of a quantum search times decapsulations until a first \
         failure",
        &searches,
        out,
    )?;

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

/// A quantum search for messages that fail more often than others, as D'Anvers, Guo, Johansson,
/// Nilsson, Vercauteren and Verbauwhede count it ("Decryption failure attacks on IND-CCA secure
/// lattice-based schemes", 2019). Numbers are logarithms to the base 2.
#[derive(Copy, Clone, Debug, PartialEq)]
struct Search {
    /// One message in so many is searched for.
    rarity: f64,
    /// The decapsulations of such messages until one is expected to fail.
    queries: f64,
}

impl Search {
    /// Returns the steps of the search for each message: the root of its rarity.
    fn steps(&self) -> f64 {
        self.rarity / 2.0
    }

    /// Returns the steps of all searches.
    fn product(&self) -> f64 {
        self.steps() + self.queries
    }

    /// Returns the search with the least product among the recorded rarities of messages.
    fn least(records: &Records, set: &str) -> Option<Self> {
        let of_messages = |record: &&Record| record.set == set && record.op == MESSAGES;
        let search = |record: &Record| {
            Some(Self {
                rarity: record.figure(figure::RARITY)?,
                queries: -record.figure(figure::MEAN)?,
            })
        };
        records
            .of_kind(kind::FAILURE_RANK)
            .filter(of_messages)
            .filter_map(search)
            .min_by(|a, b| a.product().total_cmp(&b.product()))
    }
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

#[cfg(test)]
mod tests {
    use super::super::measure::KEYS;
    use super::*;

    fn rank(op: &str, rarity: f64, mean: f64) -> Record {
        let record = Record {
            bench: kind::FAILURE_RANK.to_owned(),
            set: "761".to_owned(),
            op: op.to_owned(),
            ..Record::default()
        };
        record.with_figures([(figure::RARITY, rarity), (figure::MEAN, mean)])
    }

    #[test]
    fn the_least_product_of_steps_and_queries() {
        let records = Records(vec![
            rank(KEYS, 40.0, -1.0),
            rank(MESSAGES, 20.0, -138.0),
            rank(MESSAGES, 96.0, -90.0),
            rank(MESSAGES, 128.0, -80.0),
        ]);
        let least = Search::least(&records, "761").unwrap();
        assert_eq!((least.steps(), least.queries, least.product()), (48.0, 90.0, 138.0));
        assert_eq!(Search::least(&records, "653"), None);
    }
}
