//! The page of `ctru report`: pictures and a table.

use std::collections::{BTreeMap, BTreeSet};

use ctru_measure::chart::{self, Axis, Chart, Colour, Line, Scale};
use ctru_measure::{KeyUse, Operation, Record, SeedUse};

/// The operations in the order of [`Operation::ALL`].
const OPERATIONS: [&str; 3] = ["key generation", "encapsulation", "decapsulation"];

/// A parameter set: the name of its scheme, which is empty for CTRU-Prime, the number of the set,
/// and its whole name.
type Set<'a> = (&'a str, u32, &'a str);

/// The best rates of one setting by operation and size of the batch.
type Rates = [BTreeMap<usize, f64>; OPERATIONS.len()];

/// Returns the page as HTML. Each record comes with the name of its file.
pub(super) fn page(records: &[(String, Record)]) -> String {
    let (singles, batches): (Vec<_>, Vec<_>) =
        records.iter().partition(|(_, record)| record.bench == "single");
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'">
<title>ctru: measurements</title>
<style>
{style}</style>
</head>
<body>
<main>
<h1>ctru, measured</h1>
<p><strong>Not standardised.</strong> CTRU-Prime has had far less cryptanalysis than ML-KEM or NTRU
Prime. Use it for research and measurements only.</p>
<p>Rates are operations per second. The bars of a column have one scale.</p>
{singles}{batches}</main>
</body>
</html>
"#,
        style = include_str!("style.css"),
        singles = section("One operation at a time", &singles),
        batches = section("Batches", &batches),
    )
}

/// Returns a part of the page, or nothing if there are no records.
fn section(title: &str, records: &[&(String, Record)]) -> String {
    if records.is_empty() {
        return String::new();
    }
    let (rates, shared) = rates(records);
    let all = if shared.is_empty() { "" } else { "All rates: " };
    let pictures: String = charts(&rates).into_iter().map(|one| chart::svg(&[one], 1)).collect();
    let pictures = if pictures.is_empty() { pictures } else { scroll("Pictures", &pictures) };
    let table = scroll(title, &table(&rates));
    format!("<h2>{title}</h2>\n<p>{all}{}</p>\n{pictures}{table}", escaped(&shared))
}

/// Returns whether a record has the rate of an operation of the KEM.
pub(super) fn has_rate(record: &Record) -> bool {
    operation(record).is_some() && record.ops_per_s > 0.0
}

/// Returns the index of the operation in [`OPERATIONS`].
fn operation(record: &Record) -> Option<usize> {
    Operation::ALL.iter().position(|operation| operation.name() == record.op)
}

/// Returns the rates by parameter set and setting, and the part of the settings that all share.
/// There must be a record.
fn rates<'a>(records: &[&'a (String, Record)]) -> (BTreeMap<(Set<'a>, String), Rates>, String) {
    let settings: Vec<_> = records.iter().map(|(file, record)| setting(file, record)).collect();
    let is_shared = |at: usize| settings.iter().all(|one| one[at] == settings[0][at]);
    let shared: Vec<bool> = (0..settings[0].len()).map(is_shared).collect();
    let name = |setting: &[String], is_shared: bool| {
        let parts = setting.iter().zip(&shared).filter(|(_, shared)| **shared == is_shared);
        let parts = parts.map(|(part, _)| part.as_str()).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(", ")
    };
    let mut rates = BTreeMap::<_, Rates>::new();
    for ((_, record), setting) in records.iter().zip(&settings) {
        let Some(operation) = operation(record) else { continue };
        let scheme = record.set.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let number = record.set[scheme.len()..].parse().unwrap_or(u32::MAX);
        let set = (scheme, number, record.set.as_str());
        let of_setting = rates.entry((set, name(setting, false))).or_default();
        let best = of_setting[operation].entry(record.batch).or_default();
        *best = best.max(record.ops_per_s);
    }
    (rates, name(&settings[0], true))
}

/// Returns what may tell a record from others: its file, and then what is unusual.
fn setting(file: &str, record: &Record) -> Vec<String> {
    let unless = |usual: &[&str], value: &str| {
        if usual.contains(&value) { String::new() } else { value.to_owned() }
    };
    let count = |number: usize, things: &str| {
        if number > 1 { format!("{number} {things}") } else { String::new() }
    };
    let keys = match record.keys {
        // Key generation makes a key, and the other operations have one.
        _ if record.bench == "single" => "",
        KeyUse::One => "one key",
        KeyUse::Each => "a key each",
        KeyUse::Resident => "loaded keys",
        KeyUse::Private => "private keys",
    };
    let seeds = if record.seeds == SeedUse::Each { "a seed each" } else { "" };
    vec![
        file.to_owned(),
        unless(&["single", "batch"], &record.bench),
        record.device.clone(),
        unless(&["cpu", "gpu", "browser"], &record.engine),
        unless(&["cuda"], &record.backend),
        unless(&["mixed-radix"], &record.pk_encoding),
        unless(&["none"], &record.transfers),
        count(record.threads, "threads"),
        count(record.callers, "callers"),
        seeds.to_owned(),
        keys.to_owned(),
    ]
}

/// Returns a chart for each parameter set and operation of which a setting has several sizes.
fn charts(rates: &BTreeMap<(Set<'_>, String), Rates>) -> Vec<Chart> {
    // A size of 0 is not known.
    let is_line = |rates: &BTreeMap<usize, f64>| rates.range(1..).count() > 1;
    let drawn = || rates.iter().filter(|(_, rates)| rates.iter().any(is_line));
    let sets: BTreeSet<Set<'_>> = drawn().map(|((set, _), _)| *set).collect();
    let names: BTreeSet<&str> = drawn().map(|((_, name), _)| name.as_str()).collect();
    let axis = |label: &str| Axis { label: label.to_owned(), scale: Scale::Log };
    let chart = |set: Set<'_>, operation: usize| {
        let line = |name: &str, rates: &BTreeMap<usize, f64>| {
            // A setting has the same look in all charts.
            let number = names.range(..name).count();
            Line {
                name: name.to_owned(),
                colour: Colour::ALL[number % Colour::ALL.len()],
                dashed: number / Colour::ALL.len() % 2 == 1,
                points: rates.range(1..).map(|(&batch, &rate)| (batch as f64, rate)).collect(),
            }
        };
        let of_set = drawn().filter(|((other, _), _)| *other == set);
        let lines = of_set.map(|((_, name), rates)| (name, &rates[operation]));
        Chart {
            title: format!("{}, {}", set.2, OPERATIONS[operation]),
            x: axis("operations per batch"),
            y: axis("operations per second"),
            lines: lines.filter(|(_, of)| is_line(of)).map(|(name, of)| line(name, of)).collect(),
            ..Chart::default()
        }
    };
    let cases = sets.into_iter().flat_map(|set| (0..OPERATIONS.len()).map(move |at| (set, at)));
    cases.map(|(set, at)| chart(set, at)).filter(|chart| !chart.lines.is_empty()).collect()
}

/// Returns a table with all rates.
fn table(rates: &BTreeMap<(Set<'_>, String), Rates>) -> String {
    let mut rows = String::new();
    let all = |at: usize| rates.values().flat_map(move |of| of[at].values());
    let most = [0, 1, 2].map(|operation| all(operation).copied().fold(0.0, f64::max));
    for ((set, name), rates) in rates {
        let sizes: BTreeSet<usize> = rates.iter().flat_map(BTreeMap::keys).copied().collect();
        for batch in sizes {
            // 0 says that the size is not known.
            let size = if batch > 0 { batch.to_string() } else { String::new() };
            let bars = rates.iter().zip(most).map(|(of, most)| match of.get(&batch) {
                None => "<td></td>".to_owned(),
                Some(&rate) => format!(
                    "<td class=\"number bar\" style=\"--part: {:.1}%\">{}</td>",
                    100.0 * rate / most,
                    chart::number(rate),
                ),
            });
            rows += &format!(
                "<tr><td>{}</td><td>{}</td><td class=\"number\">{size}</td>{}</tr>\n",
                escaped(set.2),
                escaped(name),
                bars.collect::<String>(),
            );
        }
    }
    let operations = OPERATIONS.map(|name| format!("<th class=\"number\">{name}</th>")).concat();
    format!(
        "<table>\n<thead><tr><th>set</th><th>setting</th><th class=\"number\">batch</th>\
         {operations}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n"
    )
}

/// Returns an element that scrolls what is too wide.
fn scroll(name: &str, content: &str) -> String {
    let attributes = format!(r#"class="scroll" tabindex="0" role="region" aria-label="{name}""#);
    format!("<div {attributes}>\n{content}</div>\n")
}

/// Returns a text from outside for a place between tags.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
