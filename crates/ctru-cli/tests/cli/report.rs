//! Tests `ctru report`.

use std::fs;

use super::{Sandbox, assert_contains, stderr};

const PAGE: &str = "figures/report.html";

/// Returns a line of `ctru bench --json`.
fn record(device: &str) -> String {
    batch(device, 8, 1500.0)
}

/// Returns a line with another size of the batch and another rate.
fn batch(device: &str, batch: usize, rate: f64) -> String {
    format!(r#"{{"bench":"batch","engine":"cpu","device":"{device}","backend":"avx2","set":"761","#)
        + r#""pk_encoding":"mixed-radix","op":"encaps","keys":"each","transfers":"none","#
        + &format!(r#""threads":1,"batch":{batch},"ops_per_s":{rate:?},"median_ns_per_op":1.0,"#)
        + r#""spread":0.1,"samples":5,"commit":"unknown","date":"2026-01-01T00:00:00Z"}"#
}

impl Sandbox {
    /// Runs `ctru report` on files, and returns the page.
    fn report(&self, files: &str) -> String {
        assert_eq!(self.succeed(&format!("report --force --out figures {files}")), "");
        String::from_utf8(self.read(PAGE)).unwrap()
    }
}

#[test]
fn a_report_has_the_records_of_all_files() {
    let sandbox = Sandbox::new();
    let bench = "bench --engine cpu --json --set 653 --op encaps --seconds 0.001 --batch 2";
    sandbox.write("mine.jsonl", sandbox.succeed(bench));
    fs::create_dir(sandbox.path("old")).unwrap();
    sandbox.write("old/mine.jsonl", format!("\n{}\n\n", record("old")));
    sandbox.write("other.jsonl", record("other"));
    let page = sandbox.report("mine.jsonl old/mine.jsonl other.jsonl");
    // One operation at a time, and three kinds of keys in batches of 2.
    assert_contains(&page, &["All rates: mine.jsonl, "]);
    assert_eq!(page.matches("<tr><td>653</td><td>mine.jsonl, ").count(), 3);
    for row in [
        "<tr><td>761</td><td>old/mine.jsonl, old, avx2, a key each</td><td class=\"number\">8</td>",
        "<tr><td>761</td><td>other.jsonl, other, avx2, a key each</td><td class=\"number\">8</td>",
        "--part: 100.0%",
    ] {
        assert_contains(&page, &[row]);
    }
    assert!(!page.contains("<svg"), "a line of one point");
}

/// Checks the pictures: one for each operation of several sizes, with a line for each file.
#[test]
fn batches_are_lines() {
    let sandbox = Sandbox::new();
    let lines = |factor: f64| {
        let keygen = batch("a", 1, 5.0 * factor).replace("encaps", "keygen");
        let known = batch("a", 0, 7.0);
        let slower = batch("a", 64, 1.0);
        [batch("a", 1, 1e3 * factor), batch("a", 64, 2e6 * factor), slower, keygen, known]
            .join("\n")
    };
    sandbox.write("one", lines(1.0));
    sandbox.write("two", lines(2.0));
    let page = sandbox.report("one two");
    let (_, rest) = page.split_once("<svg").unwrap();
    let (picture, rest) = rest.split_once("</svg>").unwrap();
    assert_contains(picture, &["761, encapsulation", "\none\n", "\ntwo\n"]);
    assert_eq!(picture.matches("stroke-width=\"2\"").count(), 2, "{picture}");
    assert!(!rest.contains("<svg"), "only encapsulation has several sizes");
    assert_contains(&page, &["All rates: a, avx2, a key each</p>"]);
    // The settings are told by the files alone, and the best rate of a size counts.
    let row = "<td>two</td><td class=\"number\">64</td><td></td><td class=\"number bar\" \
               style=\"--part: 100.0%\">4M</td><td></td></tr>";
    assert_contains(rest, &[row, "--part: 50.0%\">2M<"]);
}

/// Checks that sets of a scheme are sorted by their numbers, and CTRU-Prime comes first.
#[test]
fn sets_are_in_order() {
    let sandbox = Sandbox::new();
    let sets = ["653", "1277", "sntrup653", "sntrup1277"];
    let lines = sets.map(|set| record("a").replace("761", set));
    sandbox.write("r", [&lines[3], &lines[2], &lines[1], &lines[0]].map(String::as_str).join("\n"));
    let page = sandbox.report("r");
    let places = sets.map(|set| page.find(&format!("<tr><td>{set}</td>")).unwrap());
    assert!(places.is_sorted(), "{page}");
}

#[test]
fn records_can_come_from_standard_input() {
    let sandbox = Sandbox::new();
    sandbox.write("r", record("piped"));
    let output = sandbox.run_on("r", "report --out figures -");
    assert!(output.status.success() && output.stderr.is_empty());
    let page = String::from_utf8(sandbox.read(PAGE)).unwrap();
    assert_contains(&page, &["All rates: standard input, piped, avx2, a key each</p>"]);
}

#[test]
fn a_page_loads_nothing_and_runs_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("r", [batch("a", 1, 1.0), batch("a", 2, 2.0)].join("\n"));
    let page = sandbox.report("r");
    assert_contains(&page, &["default-src 'none'", "<svg"]);
    for part in ["<script", "src=", "href=", "@import", "url("] {
        assert!(!page.contains(part), "{part}");
    }
}

/// Checks that names and texts in records cannot become markup, in the table and in pictures.
#[cfg(unix)]
#[test]
fn texts_from_outside_cannot_change_the_page() {
    let sandbox = Sandbox::new();
    let name = "<script>alert(1)<&>";
    let text = "</td></svg><script>alert(2)</script><!-- {style}";
    let lines = [batch(text, 1, 1.0), batch(text, 2, 2.0)].join("\n");
    sandbox.write(name, lines.replace("761", "<b>&amp;"));
    sandbox.write("other", record("b"));
    let page = sandbox.report(&format!("{name} other"));
    for part in ["<script", "</td></svg>", "<!-", "<b>", "<&>", "&amp;<"] {
        assert!(!page.contains(part), "{part}");
    }
    let escaped = "&lt;script&gt;alert(1)&lt;&amp;&gt;, \
                   &lt;/td&gt;&lt;/svg&gt;&lt;script&gt;alert(2)&lt;/script&gt;&lt;!-- {style}";
    assert_eq!(page.matches(escaped).count(), 3, "two rows and a line: {page}");
    assert_contains(&page, &["<td>&lt;b&gt;&amp;amp;</td>"]);
}

#[test]
fn an_existing_report_is_replaced_only_with_force() {
    let sandbox = Sandbox::new();
    sandbox.write("r", record("a"));
    sandbox.succeed("report --out figures r");
    fs::write(sandbox.path(PAGE), "mine").unwrap();
    assert_contains(
        &sandbox.fail("report --out figures r"),
        &["figures/report.html: exists already; --force replaces it"],
    );
    assert_eq!(sandbox.read(PAGE), b"mine");
    sandbox.succeed("report --out figures --force r");
    assert!(sandbox.read(PAGE).starts_with(b"<!doctype html>"));
    // No temporary file is left.
    assert_eq!(fs::read_dir(sandbox.path("figures")).unwrap().count(), 1);
}

/// Checks that wrong input gives an error that names its place, and leaves no folder.
#[test]
fn wrong_records_are_refused() {
    let sandbox = Sandbox::new();
    let none = sandbox.run("report --out figures");
    assert_eq!(none.status.code(), Some(2));
    assert_contains(&stderr(&none), &["required arguments", "<RECORDS>"]);
    let good = record("a");
    sandbox.write("text", format!("{good}\n\nnot a record\n"));
    sandbox.write("field", "{\"bench\":\"batch\"}");
    sandbox.write("keys", good.replace("\"each\"", "\"all\""));
    sandbox.write("number", good.replace("1500.0", "\"1.5\""));
    sandbox.write("bytes", [b'{', 0xff, 0xfe, b'}']);
    sandbox.write("cut", &good[..100]);
    sandbox.write("empty", "\n \n");
    sandbox.write("other", good.replace("encaps", "product"));
    sandbox.write("good", &good);
    for (files, message) in [
        ("good text", "text:3: not a measurement: expected ident at column 2"),
        ("field", "field:1: not a measurement: missing field `engine`"),
        ("keys", "keys:1: not a measurement: unknown variant `all`"),
        ("number", "number:1: not a measurement: invalid type: string \"1.5\""),
        ("bytes", "bytes:1: not a measurement: "),
        ("cut", "cut:1: not a measurement: EOF while parsing"),
        ("empty", "empty: no records"),
        ("good other", "other: no rates of key generation, encapsulation or decapsulation"),
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
    sandbox.write("r", record("a"));
    assert_contains(&sandbox.fail("report --out good r"), &["good: cannot be written"]);
    assert_contains(&sandbox.fail("report --out a/b good"), &["a/b: cannot be written"]);
    // A report does not replace one of its inputs, and does not count as one.
    fs::create_dir(sandbox.path("figures")).unwrap();
    fs::rename(sandbox.path("good"), sandbox.path(PAGE)).unwrap();
    assert_contains(
        &sandbox.fail(&format!("report --force --out figures {PAGE}")),
        &["named for an input and an output"],
    );
}
