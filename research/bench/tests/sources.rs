//! Checks that `ctru-research paper` prints each figure of the founding paper in its place, and
//! that the figures of the reports agree with each other.

// The lint allows `unwrap` in tests, but not in the helpers of tests.
#![allow(clippy::unwrap_used)]

mod report;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use report::Report;
use serde_json::Value;

fn in_bench(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn sources() -> Value {
    serde_json::from_slice(&std::fs::read(in_bench("sources.json")).unwrap()).unwrap()
}

/// A figure, and the printed cell where it belongs.
#[derive(Debug)]
struct Place {
    /// The JSON pointer of the figure in the part `paper` of `sources.json`.
    pointer: String,
    title: String,
    first: Vec<String>,
    column: String,
    /// The text of the cell, if it is no number.
    text: Option<String>,
}

impl Place {
    fn cell<'a>(&self, report: &'a mut Report) -> Option<&'a mut String> {
        let first: Vec<&str> = self.first.iter().map(String::as_str).collect();
        report.cell(&self.title, &first, &self.column)
    }

    /// Returns whether the report has the figure in this place.
    fn holds(&self, report: &mut Report, paper: &Value) -> bool {
        let Some(cell) = self.cell(report) else { return false };
        match (&self.text, paper.pointer(&self.pointer).unwrap()) {
            (Some(text), _) => cell == text,
            (None, Value::String(text)) => cell == text,
            (None, number) => cell.parse().ok() == number.as_f64(),
        }
    }
}

/// The places of all figures, and the pointers of the values that name rows.
struct Places<'a> {
    paper: &'a Value,
    places: Vec<Place>,
    keys: BTreeSet<String>,
}

impl Places<'_> {
    /// Returns the text of a value that names a row.
    fn key(&mut self, pointer: &str) -> String {
        self.keys.insert(pointer.to_owned());
        let value = self.paper.pointer(pointer).unwrap_or_else(|| panic!("{pointer}"));
        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
    }

    fn add(&mut self, pointer: String, title: &str, first: &[&str], column: &str) {
        let text = self.paper.pointer(&pointer).unwrap().is_null().then(|| "not known".to_owned());
        self.add_text(pointer, title, first, column, text);
    }

    fn add_text(
        &mut self,
        pointer: String,
        title: &str,
        first: &[&str],
        column: &str,
        text: Option<String>,
    ) {
        self.places.push(Place {
            pointer,
            title: title.to_owned(),
            first: first.iter().map(|&cell| cell.to_owned()).collect(),
            column: column.to_owned(),
            text,
        });
    }

    /// Adds figures of each object in the array at `array`. `keys` names the values that name the
    /// row, and `figures` pairs each figure with the beginning of a title and a column.
    fn rows(&mut self, array: &str, keys: &[&str], figures: &[(&str, &str, &str)]) {
        for i in 0..self.paper.pointer(array).unwrap().as_array().unwrap().len() {
            let first: Vec<String> =
                keys.iter().map(|key| self.key(&format!("{array}/{i}/{key}"))).collect();
            let first: Vec<&str> = first.iter().map(String::as_str).collect();
            for (figure, title, column) in figures {
                self.add(format!("{array}/{i}/{figure}"), title, &first, column);
            }
        }
    }
}

/// Returns the place of each figure of the paper.
fn places(paper: &Value) -> Places<'_> {
    let mut all = Places { paper, places: Vec::new(), keys: BTreeSet::new() };
    for (name, row) in [
        ("gpu", "GPU"),
        ("cuda_cores", "CUDA cores"),
        ("gigabytes_per_second", "GB/s of memory"),
        ("cpu", "CPU"),
        ("compiler", "compiler of C"),
        ("cuda", "CUDA"),
        ("runs", "runs per value"),
        ("transfers", "transfers"),
    ] {
        all.add(format!("/setting/{name}"), "The setting", &[row], "paper");
    }
    all.rows("/c_product", &["set"], &[("us", "One product in R_q", "paper us")]);
    let (factors, latency) = ("Figure 6: x,", "Figure 6: the batch");
    all.rows(
        "/figure_6",
        &["set"],
        &[
            ("least", factors, "paper least x"),
            ("most", factors, "paper most x"),
            ("best_batch", factors, "paper batch"),
            ("grows_from", latency, "paper batch"),
        ],
    );
    let set = all.key("/occupancy/set");
    let title = format!("Occupancy of the product on CUDA cores, n = {set},");
    all.add("/occupancy/theoretical".to_owned(), &title, &["theoretical"], "paper %");
    all.rows("/occupancy/measured", &["batch"], &[("percent", &title, "paper %")]);

    let set = all.key("/table_4/set");
    for (part, name) in [("general", "general product"), ("same_key", "same key on tensor cores")] {
        let title = format!("Table 4, n = {set}, {name}");
        all.rows(
            &format!("/table_4/{part}"),
            &["batch"],
            &[
                ("us/0", &title, "initMA"),
                ("us/1", &title, "initMB"),
                ("us/2", &title, "Twmma"),
                ("us/3", &title, "Merge"),
                ("factor", &title, "paper x"),
            ],
        );
    }
    let batch = all.key("/table_4/same_key_rate/batch");
    let title = format!("Table 4, n = {set}, same key: ");
    all.add("/table_4/same_key_rate/tops".to_owned(), &title, &[&batch], "paper TOPS");
    let title = format!("Table 4, n = {set}, CUDA cores");
    all.rows("/table_4/cuda_cores", &["batch"], &[("factor", &title, "paper x")]);

    let set = all.key("/table_5/set");
    let times = format!("Table 5, n = {set}: us of the kernels");
    let savings = format!("Table 5, n = {set}: % of the time");
    all.rows(
        "/table_5/rows",
        &["batch"],
        &[
            ("fused_us", &times, "paper fused"),
            ("unfused_us", &times, "paper unfused"),
            ("saved_percent", &savings, "paper %"),
        ],
    );

    let title = format!("Figure 7, n = {}", all.key("/figure_7/set"));
    let operations = all.key("/figure_7/operations");
    let loses = all.key("/figure_7/loses_with_streams");
    let (op, streams) = (all.key("/figure_7/saved/op"), all.key("/figure_7/saved/streams"));
    for i in 0..3 {
        let count = all.key(&format!("/figure_7/streams/{i}"));
        for operation in ["keygen", "encaps", "decaps"] {
            let first = [operation, &operations, &count];
            all.add(format!("/figure_7/chunks/{i}"), &title, &first, "chunk");
            if operation == op && count == streams {
                all.add("/figure_7/saved/percent".to_owned(), &title, &first, "paper %");
                continue;
            }
            let text = if count == loses { "below 0" } else { "no number" }.to_owned();
            let pointer = format!("/figure_7/streams/{i}");
            all.add_text(pointer, &title, &first, "paper %", Some(text));
        }
    }

    for group in 0..2 {
        let pointer = format!("/figure_7/labels/{group}");
        let count = |name: &str| {
            paper.pointer(&format!("{pointer}/{name}")).unwrap().as_array().unwrap().len()
        };
        let (streams, labels) = (count("streams"), count("percent"));
        let streams: Vec<String> =
            (0..streams).map(|i| all.key(&format!("{pointer}/streams/{i}"))).collect();
        for i in 0..labels {
            let first = [streams.join(", "), (i + 1).to_string()];
            let first = [first[0].as_str(), first[1].as_str()];
            all.add(format!("{pointer}/percent/{i}"), "Figure 7's labels", &first, "paper %");
        }
    }

    let (engine, product) = ("Table 6: power", "Table 6: registers");
    all.rows(
        "/table_6",
        &["set"],
        &[
            ("watts", engine, "paper W"),
            ("device_mib", engine, "paper MiB"),
            ("registers", product, "paper registers"),
            ("shared_kb", product, "paper KB"),
        ],
    );
    let title = "Table 7: 1000 operations per second";
    all.rows(
        "/table_7/ctru_prime",
        &["set", "op"],
        &[("c", title, "paper C"), ("gpu", title, "paper GPU")],
    );
    let title = "Table 7, other schemes";
    all.rows("/table_7/others", &["scheme", "gpu", "op"], &[("rate", title, "paper")]);

    let set = all.key("/section_4_2_1/set");
    let batch = all.key("/section_4_2_1/batch");
    let title = format!("Section 4.2.1, n = {set}");
    all.add("/section_4_2_1/factor".to_owned(), &title, &[&batch], "paper x");
    all
}

/// Adds the pointers of all numbers, texts and missing values in `value`.
fn leaves(value: &Value, pointer: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            object
                .iter()
                .for_each(|(name, value)| leaves(value, &format!("{pointer}/{name}"), found));
        }
        Value::Array(array) => {
            let values = array.iter().enumerate();
            values.for_each(|(i, value)| leaves(value, &format!("{pointer}/{i}"), found));
        }
        _ => {
            found.insert(pointer.to_owned());
        }
    }
}

fn printed(from: &str) -> Report {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ctru-research"));
    let output = command.args(["paper", "--from"]).arg(in_bench(from)).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Report::parse(&String::from_utf8(output.stdout).unwrap())
}

#[test]
fn every_figure_of_the_paper_is_in_its_place() {
    let sources = sources();
    let paper = &sources["paper"];
    let Places { places, keys, .. } = places(paper);
    let mut report = printed("../records/h200/paper.jsonl");
    for place in &places {
        assert!(place.holds(&mut report, paper), "{place:?}");
    }

    // No figure is left out.
    let mut all = BTreeSet::new();
    leaves(paper, "", &mut all);
    for cited in ["/title", "/title_in_chinese", "/citation", "/public_code", "/table_7/unit"] {
        assert!(all.remove(cited));
    }
    let mut checked: BTreeSet<String> = places.iter().map(|place| place.pointer.clone()).collect();
    checked.extend(keys);
    assert_eq!(checked, all);

    // The check notices each figure that changes or is missing.
    for place in &places {
        for change in [|cell: &mut String| cell.push('1'), String::clear] {
            let mut changed = report.clone();
            change(place.cell(&mut changed).unwrap());
            assert!(!place.holds(&mut changed, paper), "{place:?}");
        }
    }

    // Our own cells are filled where the file has records.
    let cell = |title: &str, first: &[&str], column: &str| {
        report.clone().cell(title, first, column).unwrap().clone()
    };
    assert_eq!(cell("Table 7: 1000", &["761", "encaps"], "our GPU"), "42982");
    assert_eq!(cell("Figure 6: M", &["761"], "paper M"), "17.6");
    assert_eq!(cell("Table 5, n = 653: us", &["64"], "our fused"), "5.40");
    assert_eq!(cell("Occupancy", &["1024"], "our %"), "55.1");
    // Ours is compared with the authors' code in the same batch.
    let row = report.row(
        "Products of the authors' code on an H200, n = 653",
        &["authors, H200", "one key, tensor cores"],
    );
    assert_eq!(row[2..], ["2048", "36.6", "169", "4.63"]);
}

/// Checks that the factors that the reports state follow from their times.
#[test]
fn factors_of_the_reports_follow_from_their_times() {
    let sources = sources();
    let number = |pointer: &str| {
        sources.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer}"))
    };
    for i in 0..3 {
        let (cpu, gpu) =
            (number(&format!("/a/table_2/ms/{i}")), number(&format!("/a/table_1/ms/{i}/1")));
        let factor = number(&format!("/a/table_2/factors/{i}"));
        assert!((cpu / gpu - factor).abs() < 0.1, "{i}");
        assert_eq!(gpu, number(&format!("/a/table_3/plain/{i}")));
        let barrett = number(&format!("/a/table_3/barrett/{i}"));
        assert_eq!(barrett, number(&format!("/a/table_6/ms/{i}/0")));
    }
    let factor = number("/b/cpu") / number("/b/montgomery");
    assert_eq!(factor.round(), number("/b/montgomery_factor"));
}
