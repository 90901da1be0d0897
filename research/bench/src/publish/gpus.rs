//! Draws how rates grow with the number of GPUs of one host.

use ctru_measure::Record;
use ctru_measure::chart::{Axis, Chart, Line, Scale};

use super::batches::{LINES, SET};
use crate::records::{Records, figure, kind};

/// The charts: what is measured, and its title.
const CHARTS: [(&str, &str); 3] = [
    (kind::BATCH, "Pinned host memory\nOne engine over all GPUs"),
    (kind::LINK, "Copies alone\nThe bytes that an operation moves, without kernels"),
    (kind::ON_DEVICE, "Data on the GPUs\nOne engine for each GPU"),
];

/// Draws operations per second against the number of GPUs.
pub(super) fn draw(records: &Records) -> Vec<Chart> {
    let chart = |(kind, title): (&str, &str)| {
        let point = |record: &Record| Some((record.figure(figure::GPUS)?, record.ops_per_s));
        let lines = LINES.map(|(operation, keys, name, colour)| Line {
            name: name.to_owned(),
            colour,
            dashed: false,
            points: records.of(kind, SET, operation, keys).filter_map(point).collect(),
        });
        Chart {
            title: format!("{title}\nn = 761, H100s of one host, 2^20 operations for each"),
            x: Axis { label: "GPUs".to_owned(), scale: Scale::Linear },
            y: Axis { label: "operations per second".to_owned(), scale: Scale::Log },
            lines: lines.into_iter().filter(|line| !line.points.is_empty()).collect(),
            ..Chart::default()
        }
    };
    CHARTS.map(chart).into()
}
