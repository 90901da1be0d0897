//! Writes tables as CSV.

use ctru_measure::chart::Chart;

/// Writes rows of text, the first of which is the header.
pub(super) fn rows<const N: usize>(rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.write_record(row).expect("rows have one length, and memory takes them");
    }
    let table = writer.into_inner().expect("memory takes the rest");
    String::from_utf8(table).expect("rows are text")
}

/// Writes the numbers of charts: one row for each point, or for each bar, which has no y.
pub(super) fn numbers(charts: &[Chart]) -> String {
    let header = ["chart", "name", "x", "y"].map(str::to_owned);
    let of_chart = |chart: &Chart| {
        let title = chart.title.lines().next().unwrap_or_default().to_owned();
        let points = chart
            .lines
            .iter()
            .flat_map(|line| line.points.iter().map(|(x, y)| (&line.name, digits(*x), digits(*y))));
        let bars = chart.bars.iter().map(|bar| (&bar.name, digits(bar.value), String::new()));
        let row = |(name, x, y): (&String, _, _)| [title.clone(), name.clone(), x, y];
        points.chain(bars).map(row).collect::<Vec<_>>()
    };
    rows([header].into_iter().chain(charts.iter().flat_map(of_chart)))
}

/// Writes a number with six digits, without zeros at its end.
pub(super) fn digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let decimals = (5 - value.abs().log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_digits() {
        let texts = [0.0, 1.0, 0.012_345_678, -400.25, 1_048_576.0, 41_234.567].map(digits);
        assert_eq!(texts, ["0", "1", "0.0123457", "-400.25", "1048576", "41234.6"]);
    }
}
