//! Numbers as charts write them.

/// Writes a number with at most four digits, and with a suffix from ten thousand on.
#[must_use]
pub fn number(value: f64) -> String {
    // Rounding comes first, because it can lead to the next suffix.
    let value = match value.abs() {
        size if size < 1.0 => value,
        size if (1e3..1e4).contains(&size) => value.round_ties_even(),
        _ => format!("{value:.2e}").parse().unwrap_or(value),
    };
    let (scaled, suffix) = match value.abs() {
        size if size >= 1e12 => (value / 1e12, "T"),
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = match scaled.abs() {
        size if size >= 1e3 => thousands(scaled),
        size if size >= 1.0 => shortest(format!("{scaled:.2}")),
        _ => shortest(format!("{scaled:.4}")),
    };
    text + suffix
}

/// Writes a number from 1,000 to 9,999 without decimals.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let (thousands, rest) = digits.split_at(digits.len() - 3);
    format!("{thousands},{rest}")
}

/// Removes the zeros at the end of a decimal fraction.
fn shortest(text: String) -> String {
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 0.006, 1.0, 2.5, 952.0, 1088.0, -400.0, -1024.0].map(number);
        assert_eq!(texts, ["0", "0.006", "1", "2.5", "952", "1,088", "-400", "-1,024"]);
        let texts = [10e3, 316_012.0, 4_567_000.0, 50e6, 2e9, 5e12].map(number);
        assert_eq!(texts, ["10k", "316k", "4.57M", "50M", "2G", "5T"]);
        let texts = [99.96, 999.6, 9999.4, 9999.6, 999_600.0, -999_600_000.0].map(number);
        assert_eq!(texts, ["100", "1,000", "9,999", "10k", "1M", "-1G"]);
    }
}
