//! Draws how rates grow with the number of GPUs of one host.

use ctru_measure::Record;

use super::batches::{LINES, SET};
use super::chart::{self, Axis, Layout, Line, Panel};
use crate::records::{Records, figure, kind};

/// The panels: what is measured, and its name.
const PANELS: [(&str, &str); 3] = [
    (kind::BATCH, "pinned host memory"),
    (kind::LINK, "plain copies of the same bytes"),
    (kind::ON_DEVICE, "data on the GPUs"),
];

/// Draws millions of operations per second against the number of GPUs. Returns `None` if the
/// records lack one of the panels.
pub(super) fn draw(records: &Records) -> Option<String> {
    let panel = |(kind, title): (&str, &str)| {
        let point = |record: &Record| Some((record.figure(figure::GPUS)?, record.ops_per_s / 1e6));
        let lines = LINES.map(|(operation, keys, name, colour)| Line {
            name: name.to_owned(),
            colour,
            known: false,
            points: records.of(kind, SET, operation, keys).filter_map(point).collect(),
        });
        Panel {
            title: format!("{title}, M/s"),
            x: Axis::logarithmic("GPUs", &[1.0, 2.0, 4.0]),
            y: Axis::logarithmic("", &[16.0, 64.0, 256.0, 1024.0]),
            lines: lines.into_iter().filter(|line| !line.points.is_empty()).collect(),
        }
    };
    let panels = PANELS.map(panel);
    let caption = [
        "n = 761, GPUs of one host, 2^20 operations for each. With pinned memory, one engine over \
         all GPUs; on the GPUs, one engine for each.",
    ];
    let layout = Layout { width: 380.0, height: 280.0, names: 124.0 };
    let has_lines = panels.iter().all(|panel| !panel.lines.is_empty());
    has_lines.then(|| chart::draw("Several GPUs of one host", &panels, layout, &caption))
}
