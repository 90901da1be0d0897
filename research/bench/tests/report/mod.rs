//! Reads the tables that `ctru-research paper` prints.

/// A printed report.
#[derive(Clone)]
pub(crate) struct Report(Vec<Table>);

#[derive(Clone)]
struct Table {
    title: String,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

fn cells(line: &str) -> Vec<String> {
    line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

impl Report {
    /// Reads all tables of a report. The paragraph before a table is its title.
    pub(crate) fn parse(text: &str) -> Self {
        let mut title = String::new();
        let mut tables = Vec::new();
        for paragraph in text.split("\n\n") {
            let mut lines = paragraph.trim_matches('\n').lines();
            if !paragraph.trim_start().starts_with('|') {
                title = lines.collect::<Vec<_>>().join(" ");
                continue;
            }
            let header = cells(lines.next().unwrap());
            // The second line separates the header from the rows.
            let rows = lines.skip(1).map(cells).collect();
            tables.push(Table { title: std::mem::take(&mut title), header, rows });
        }
        Self(tables)
    }

    /// Returns the cell of the column `column` in the row that begins with `first`, in the table
    /// whose title begins with `title`. Returns `None` unless there is exactly one such cell.
    pub(crate) fn cell(
        &mut self,
        title: &str,
        first: &[&str],
        column: &str,
    ) -> Option<&mut String> {
        let table = only(self.0.iter_mut().filter(|table| table.title.starts_with(title)))?;
        let columns = table.header.iter().enumerate().filter(|(_, name)| *name == column);
        let column = only(columns)?.0;
        only(table.rows.iter_mut().filter(|row| begins_with(row, first)))?.get_mut(column)
    }

    /// Returns the row that begins with `first` in the table whose title begins with `title`.
    pub(crate) fn row(&self, title: &str, first: &[&str]) -> Vec<&str> {
        let tables = self.0.iter().filter(|table| table.title.starts_with(title));
        let table = only(tables).unwrap_or_else(|| panic!("not one table {title}"));
        let row = only(table.rows.iter().filter(|row| begins_with(row, first)));
        let row = row.unwrap_or_else(|| panic!("not one row {first:?} in {title}"));
        row.iter().map(String::as_str).collect()
    }
}

fn begins_with(row: &[String], first: &[&str]) -> bool {
    row.len() >= first.len() && row.iter().zip(first).all(|(cell, first)| cell == first)
}

/// Returns the only item, or `None` if there are none or several.
fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    items.next().filter(|_| items.next().is_none())
}
