//! Draws the model and the counts of decryption failures.

use ctru_measure::Record;
use ctru_measure::chart::{Axis, Chart, Colour, Line, Scale};

use crate::failures::{NORMAL, UNION, log2_of_counts};
use crate::records::{Records, figure, kind};

/// Draws a chart per parameter set: rates over the factor by which the noise is multiplied.
pub(super) fn draw(records: &Records) -> Vec<Chart> {
    ["653", "761", "1277"].map(|set| chart(records, set)).into()
}

fn chart(records: &Records, set: &str) -> Chart {
    let line = |name: &str, colour, dashed, kind: &str, op: &str, y: fn(&Record) -> Option<f64>| {
        let wanted = records.of_kind(kind).filter(|record| record.set == set && record.op == op);
        let points = wanted.filter_map(|r| Some((r.figure(figure::SCALE)?, y(r)?))).collect();
        Line { name: name.to_owned(), colour, dashed, points }
    };
    let log2 = |record: &Record| record.figure(figure::LOG2);
    let counted = |record: &Record| Some(log2_of_counts(record));
    Chart {
        title: format!("Decryption failures, n = {set}\nFactor 1 is the scheme itself"),
        x: Axis { label: "factor of the noise".to_owned(), scale: Scale::Linear },
        y: Axis { label: "log2 of the failure rate".to_owned(), scale: Scale::Linear },
        lines: vec![
            line("normal noise", Colour::Grey, true, kind::FAILURE_RATE, NORMAL, log2),
            line("model", Colour::Blue, true, kind::FAILURE_RATE, UNION, log2),
            line("counts", Colour::Vermillion, false, kind::FAILURES, "", counted),
        ],
        ..Chart::default()
    }
}
