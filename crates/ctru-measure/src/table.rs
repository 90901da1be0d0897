//! Tables for readers.

use std::ops::Range;

use comfy_table::{CellAlignment, Row, Table, presets};

/// Returns a Markdown table without rows. The columns `numbers` are aligned to the right.
#[must_use]
pub fn markdown(header: impl Into<Row>, numbers: Range<usize>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(header);
    for column in numbers {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
