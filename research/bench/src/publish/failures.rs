//! Draws the model and the counts of decryption failures.

use ctru_measure::Record;

use super::chart::{self, Axis, Layout, Line, Panel};
use super::palette;
use crate::failures::{NORMAL, UNION, log2_of_counts};
use crate::records::{Records, figure, kind};

/// Draws a panel per parameter set: rates over the factor by which the noise is multiplied.
pub(super) fn draw(records: &Records) -> Option<String> {
    let panels: Vec<Panel> = [("653", 400.0), ("761", 200.0), ("1277", 160.0)]
        .into_iter()
        .map(|(set, depth)| panel(records, set, depth))
        .collect();
    if panels.iter().any(|panel| panel.lines.iter().any(|line| line.points.is_empty())) {
        return None;
    }
    let layout = Layout { width: 330.0, height: 260.0, names: 80.0 };
    let caption = [
        "Dots: counts with the scheme's own keys, ciphertexts and decoder. Dashed: the model over \
         random keys and messages,",
        "and the same events if the noise were normal with the same covariance. Scale 1 is the \
         scheme itself.",
    ];
    let title = "log2 of the rate of decryption failures, with the noise scaled up";
    Some(chart::draw(title, &panels, layout, &caption))
}

fn panel(records: &Records, set: &str, depth: f64) -> Panel {
    let line = |name: &str, colour, known, kind: &str, op: &str, y: fn(&Record) -> Option<f64>| {
        let wanted = records.of_kind(kind).filter(|record| record.set == set && record.op == op);
        let points = wanted.filter_map(|r| Some((r.figure(figure::SCALE)?, y(r)?))).collect();
        Line { name: name.to_owned(), colour, known, points }
    };
    let log2 = |record: &Record| record.figure(figure::LOG2);
    let counted = |record: &Record| Some(log2_of_counts(record));
    Panel {
        title: format!("n = {set}"),
        x: Axis::linear("factor of the noise", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        y: Axis::linear("", &[-depth, -0.75 * depth, -0.5 * depth, -0.25 * depth, 0.0]),
        lines: vec![
            line("normal noise", palette::GREY, true, kind::FAILURE_RATE, NORMAL, log2),
            line("model", palette::BLUE, true, kind::FAILURE_RATE, UNION, log2),
            line("counts", palette::VERMILLION, false, kind::FAILURES, "", counted),
        ],
    }
}
