//! Checks `ctru-research counters`, and what the laboratory makes of its records, on small tables
//! in the form of Nsight Compute's.

// The lint allows `unwrap` in tests, but not in the helpers of tests.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::{Command, Output};

use serde_json::{Value, json};

const TABLE: &str = r#"==PROF== Connected to process 1 (ctru-research)
The program's own output
"ID","Kernel Name","device__attribute_display_name","launch__block_size","launch__grid_size","a.sum"
"","","","","","inst"
"0","multiply_sampled_761","no GPU at all","192","64","1,300"
"1","multiply_sampled_761","no GPU at all","192","64","1,100"
"2","multiply_sampled_761","no GPU at all","192","65,536","1,200,000"
"3","chain_24","no GPU at all","128","64","7.5"
"4","multiply_sampled_761","no GPU at all","192","64","1,000"
"#;

/// Converts `table`, and keeps one metric.
fn counters(table: &str, metric: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("ncu.csv"), table).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ctru-research"));
    command.current_dir(folder.path()).args(["counters", "--from", "ncu.csv"]);
    command.args(["--commit", "none", "--date", "2026-01-01T00:00:00Z", "--metric", metric]);
    command.output().unwrap()
}

#[test]
fn each_configuration_gives_a_record_with_medians() {
    let output = counters(TABLE, "a.sum");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let records: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected = [
        ("multiply_sampled", "761", 64, 192, 3.0, 1100.0),
        ("multiply_sampled", "761", 65536, 192, 1.0, 1_200_000.0),
        ("chain_24", "", 64, 128, 1.0, 7.5),
    ];
    assert_eq!(records.len(), expected.len());
    for (record, (op, set, batch, threads, launches, median)) in records.iter().zip(expected) {
        for (field, value) in [
            ("bench", json!("counters")),
            ("device", json!("no GPU at all")),
            ("op", json!(op)),
            ("set", json!(set)),
            ("batch", json!(batch)),
            ("threads", json!(threads)),
            ("samples", json!(0)),
            ("commit", json!("none")),
            ("date", json!("2026-01-01T00:00:00Z")),
            ("figures", json!({"launches": launches, "a.sum": median})),
        ] {
            assert_eq!(record[field], value, "{op} {field}");
        }
    }
}

/// Two metrics of a chain and of a kernel that is none.
const CHAINS: &str = concat!(
    r#""ID","Kernel Name","device__attribute_display_name","launch__block_size","#,
    r#""launch__grid_size","smsp__inst_executed.sum","smsp__thread_inst_executed.sum""#,
    r#"
"","","","","","inst","inst"
"0","chain_unsigned_shoup_65521","no GPU at all","256","16,384","90,046,464","2,881,486,848"
"1","copy","no GPU at all","256","16,384","7","8"
"#
);

#[test]
fn the_laboratory_shows_the_counters_of_chains() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ctru-research"));
        let output = command.current_dir(folder.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    fs::write(folder.path().join("ncu.csv"), CHAINS).unwrap();
    let metrics = ["smsp__inst_executed.sum", "--metric", "smsp__thread_inst_executed.sum"];
    let counters = ["counters", "--from", "ncu.csv", "--commit", "none", "--date", "none"];
    let records = run(&[&counters[..], &["--metric"], &metrics[..]].concat());
    fs::write(folder.path().join("counters.jsonl"), records).unwrap();
    let tables = run(&["lab", "reductions", "--from", "counters.jsonl"]);
    // 2,881,486,848 instructions of 2^24 chains of 16 products.
    for (title, count) in [
        ("Instructions that a thread executes per product, by modulus", "10.73"),
        ("Instructions that warps execute in one launch, by modulus", "90046464.00"),
    ] {
        let (_, table) = tables.split_once(title).unwrap();
        let cells = |line: &str| -> Vec<String> {
            line.split('|').map(|cell| cell.trim().to_owned()).collect()
        };
        let lines: Vec<_> = table.lines().skip(2).map(cells).collect();
        assert_eq!(lines[0], ["", "", "65521", ""]);
        assert_eq!(lines[2], ["", "unsigned_shoup", count, ""]);
        assert_eq!(lines.get(3).map(Vec::len).unwrap_or(1), 1, "{tables}");
    }
}

#[test]
fn what_is_no_table_of_counters_is_an_error() {
    let metric = "a.sum";
    let unknown = "b.sum";
    let short = format!("{TABLE}\"5\",\"short\"\n");
    for (table, metric, message) in [
        ("", metric, "ncu.csv: no column `device__attribute_display_name`"),
        (TABLE, unknown, "ncu.csv: no column `b.sum`"),
        (
            &TABLE.replace("7.5", "n/a"),
            metric,
            "ncu.csv: launch 3, column `a.sum`: `n/a` is not a number",
        ),
        (&TABLE.replace("7.5", "nan"), metric, "`nan` is not a number"),
        (&short, metric, "ncu.csv: not a table: "),
    ] {
        let output = counters(table, metric);
        assert_eq!(output.status.code(), Some(1));
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains(message), "{errors}");
        assert!(output.stdout.is_empty());
    }
}
