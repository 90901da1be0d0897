//! Checks `ctru-bench counters` on a small table in the form of Nsight Compute's.

// The lint allows `unwrap` in tests, but not in the helpers of tests.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::{Command, Output};

use serde_json::{Value, json};

const TABLE: &str = r#"==PROF== Connected to process 1 (ctru-bench)
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
    let mut command = Command::new(env!("CARGO_BIN_EXE_ctru-bench"));
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
