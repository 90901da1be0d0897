//! Tests `ctru report`.

use std::fs;

use super::{Sandbox, assert_contains};

const PAGE: &str = "figures/report.html";

/// Returns a line of `ctru bench --json`.
fn record(device: &str) -> String {
    format!(r#"{{"bench":"batch","engine":"cpu","device":"{device}","backend":"avx2","set":"761","#)
        + r#""pk_encoding":"mixed-radix","op":"encaps","keys":"each","batch":8,"transfers":"none","#
        + r#""threads":1,"ops_per_s":1.5,"median_ns_per_op":1.0,"spread":0.1,"samples":5,"#
        + r#""commit":"unknown","date":"2026-01-01T00:00:00Z"}"#
}

/// Returns the sources in a page.
fn sources(page: &str) -> serde_json::Value {
    let (_, rest) = page.split_once(r#"<script type="application/json" id="records">"#).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_report_has_the_records_of_all_files() {
    let sandbox = Sandbox::new();
    let bench = "bench --engine cpu --json --set 653 --op encaps --seconds 0.001 --batch 2";
    sandbox.write("mine.jsonl", sandbox.succeed(bench));
    fs::create_dir(sandbox.path("old")).unwrap();
    sandbox.write("old/mine.jsonl", format!("\n{}\n\n", record("old")));
    sandbox.write("other.jsonl", record("other"));
    assert_eq!(sandbox.succeed("report --out figures mine.jsonl old/mine.jsonl other.jsonl"), "");
    let page = String::from_utf8(sandbox.read(PAGE)).unwrap();
    let sources = sources(&page);
    let summary: Vec<_> = sources.as_array().unwrap().iter().collect();
    assert_eq!(summary.len(), 4);
    let names = ["mine.jsonl", "old/mine.jsonl", "other.jsonl", "published"];
    for (number, (source, name)) in summary.iter().zip(names).enumerate() {
        assert_eq!((&source["name"], &source["yours"]), (&name.into(), &(number < 3).into()));
    }
    assert_eq!(summary[0]["records"].as_array().unwrap().len(), 4);
    assert_eq!(summary[1]["records"][0]["device"], "old");
    assert!(summary[3]["records"].as_array().unwrap().len() > 300);
    assert!(!page.contains("{{"), "a part of the page is missing");
}

#[test]
fn records_can_come_from_standard_input() {
    let sandbox = Sandbox::new();
    sandbox.write("r", record("piped"));
    let mut report = sandbox.command("report --out figures -");
    let output = report.stdin(fs::File::open(sandbox.path("r")).unwrap()).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    let page = String::from_utf8(sandbox.read(PAGE)).unwrap();
    let source = &sources(&page)[0];
    assert_eq!(source["name"], "standard input");
    assert_eq!(source["records"][0]["device"], "piped");
}

#[test]
fn a_report_without_files_shows_published_measurements() {
    let sandbox = Sandbox::new();
    sandbox.succeed("report --out figures");
    let page = String::from_utf8(sandbox.read(PAGE)).unwrap();
    assert_eq!(sources(&page).as_array().unwrap().len(), 1);
    // The page may not load anything, and its text names no address.
    assert_contains(&page, &["default-src 'none'"]);
    for address in ["src=", "href=", "@import", "url("] {
        assert!(!page.contains(address), "{address}");
    }
}

/// Checks that text in records cannot become markup.
#[test]
fn records_cannot_change_the_page() {
    let sandbox = Sandbox::new();
    let device = "</script><script>alert(1)</script><!-- {{CHARTS}} {{RECORDS}}";
    sandbox.write("r", record(device));
    sandbox.succeed("report --out figures r");
    let page = String::from_utf8(sandbox.read(PAGE)).unwrap();
    assert!(!page.contains("alert(1)<"));
    assert_eq!(sources(&page)[0]["records"][0]["device"], device);
}

#[test]
fn an_existing_report_is_replaced_only_with_force() {
    let sandbox = Sandbox::new();
    sandbox.succeed("report --out figures");
    fs::write(sandbox.path(PAGE), "mine").unwrap();
    assert_contains(
        &sandbox.fail("report --out figures"),
        &["figures/report.html: exists already; --force replaces it"],
    );
    assert_eq!(sandbox.read(PAGE), b"mine");
    sandbox.succeed("report --out figures --force");
    assert!(sandbox.read(PAGE).starts_with(b"<!doctype html>"));
    // No temporary file is left.
    assert_eq!(fs::read_dir(sandbox.path("figures")).unwrap().count(), 1);
}

/// Checks that wrong input gives an error that names its place, and leaves no folder.
#[test]
fn wrong_records_are_refused() {
    let sandbox = Sandbox::new();
    let good = record("a");
    sandbox.write("text", format!("{good}\n\nnot a record\n"));
    sandbox.write("field", "{\"bench\":\"batch\"}");
    sandbox.write("keys", good.replace("\"each\"", "\"all\""));
    sandbox.write("number", good.replace("1.5", "\"1.5\""));
    sandbox.write("bytes", [b'{', 0xff, 0xfe, b'}']);
    sandbox.write("cut", &good[..100]);
    sandbox.write("empty", "\n \n");
    sandbox.write("good", &good);
    for (files, message) in [
        ("good text", "text:3: not a measurement: expected ident at column 2"),
        ("field", "field:1: not a measurement: missing field `engine`"),
        ("keys", "keys:1: not a measurement: unknown variant `all`"),
        ("number", "number:1: not a measurement: invalid type: string \"1.5\""),
        ("bytes", "bytes:1: not a measurement: "),
        ("cut", "cut:1: not a measurement: EOF while parsing"),
        ("empty", "empty: no records"),
        ("missing good", "missing: cannot be read"),
    ] {
        let error = sandbox.fail(&format!("report --out figures {files}"));
        assert_contains(&error, &[&format!("error: {message}")]);
    }
}

#[test]
fn folders_that_cannot_be_written_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("good", record("a"));
    assert_contains(&sandbox.fail("report --out good"), &["good: cannot be written"]);
    assert_contains(&sandbox.fail("report --out a/b good"), &["a/b: cannot be written"]);
    // A report does not replace one of its inputs, and does not count as one.
    fs::create_dir(sandbox.path("figures")).unwrap();
    fs::rename(sandbox.path("good"), sandbox.path(PAGE)).unwrap();
    assert_contains(
        &sandbox.fail(&format!("report --force --out figures {PAGE}")),
        &["named for an input and an output"],
    );
}
