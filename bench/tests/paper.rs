//! Checks the tables of `ctru-bench paper` on invented measurements.

// The lint allows `unwrap` in tests, but not in the helpers of tests.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ctru-bench"));
    command.current_dir(folder).arg("paper").args(arguments).output().unwrap()
}

/// Makes a record with the time of `batch` operations.
fn time(
    bench: &str,
    set: &str,
    op: &str,
    keys: &str,
    batch: u64,
    threads: u64,
    ns_per_op: f64,
) -> Value {
    json!({
        "bench": bench, "engine": "gpu", "device": "no GPU at all", "backend": "cuda", "set": set,
        "pk_encoding": "mixed-radix", "op": op, "keys": keys, "batch": batch,
        "transfers": "none", "threads": threads,
        "ops_per_s": 1e9 / ns_per_op, "median_ns_per_op": ns_per_op, "spread": 0.01, "samples": 5,
        "commit": "none", "date": "2026-01-01T00:00:00Z",
    })
}

fn each(bench: &str, op: &str, batch: u64, threads: u64, ns_per_op: f64) -> Value {
    time(bench, "761", op, "each", batch, threads, ns_per_op)
}

/// Makes a few lines of every kind; those without times have the form of older files.
fn measurements() -> Vec<Value> {
    let ceiling = |op: &str, ns: f64| time("ceiling", "", op, "each", 1, 1, ns);
    vec![
        each("products", "NTT", 1, 1, 3000.0),
        each("products", "NTT", 1024, 1, 12.5),
        each("products alone", "NTT", 1, 1, 8000.0),
        each("products alone", "NTT", 1024, 1, 62.5),
        each("encryption", "apart", 1024, 1, 80.0),
        each("encryption", "together", 1024, 1, 20.0),
        each("sequential", "encaps", 2048, 1, 400.0),
        each("streams", "encaps", 2048, 8, 100.0),
        each("sequential", "encaps", 8192, 1, 200.0),
        each("streams", "encaps", 8192, 2, 150.0),
        each("batch", "encaps", 1 << 20, 16, 25.0),
        time("batch", "761", "encaps", "one", 1 << 20, 16, 20.0),
        each("batch", "encaps", 32, 1, 2500.0),
        each("on device", "encaps", 1 << 17, 1, 12.5),
        ceiling("bytes to the device", 0.02),
        ceiling("bytes from the device", 0.02),
        ceiling("bytes both ways", 0.0101),
        ceiling("bytes of device memory", 0.00025),
        time("ceiling", "761", "permutations", "each", 1, 1, 0.3),
        time("ceiling", "761", "byte products", "each", 1, 1, 2.5),
        json!({
            "set": "761", "op": "encaps", "keys": "each", "batch": 131072,
            "uploaded": 1158.0, "downloaded": 984.0,
            "permutations": 7.0, "byte_products": 2.0, "memory_bytes": 8000.0,
        }),
        json!({
            "set": "761", "kernel": "polyphase_small", "registers": 160, "local_bytes": 0,
            "shared_bytes": 9728,
            "threads": 32, "blocks": 12,
        }),
        json!({
            "set": "761", "op": "encaps", "device_bytes": 1 << 30, "pinned_bytes": 1 << 27,
            "watts": [500.0, 520.0, 400.0],
        }),
        json!({
            "set": "761", "op": "decaps", "device_bytes": 1 << 30, "pinned_bytes": 1 << 27,
            "watts": [],
        }),
    ]
}

/// Returns the cells of the row that begins with `first` in the table under `title`.
fn row(report: &str, title: &str, first: &[&str]) -> Vec<String> {
    let table =
        &report[report.find(title).unwrap_or_else(|| panic!("{title} is not in {report}"))..];
    let table = table.lines().skip(2).take_while(|line| !line.is_empty());
    let cells =
        table.map(|line| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
    let found = cells.into_iter().find(|cells| cells.starts_with(first));
    found
        .unwrap_or_else(|| panic!("{first:?} is not in {title}: {report}"))
        .into_iter()
        .map(str::to_owned)
        .collect()
}

#[test]
fn tables_of_a_file() {
    let place = tempfile::tempdir().unwrap();
    let lines: String = measurements().iter().map(|line| format!("{line}\n")).collect();
    fs::write(place.path().join("lines.jsonl"), lines).unwrap();
    let output = run(place.path(), &["--from", "lines.jsonl"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(report.starts_with("no GPU at all, commit none, 2026-01-01"), "{report}");

    let rates = "M products per second by batch";
    assert_eq!(row(&report, rates, &["NTT"]), ["NTT", "0.3333", "80.0", ""]);
    assert_eq!(row(&report, rates, &["paper, RTX 3060 Ti: NTT"])[1..], ["", "17.6", ""]);
    assert_eq!(row(&report, rates, &["authors, H200: NTT"])[1..], ["", "", "76.0"]);
    assert_eq!(row(&report, "us of a launch alone", &["NTT"]), ["NTT", "8.00", "64.0"]);

    assert_eq!(row(&report, "Table 5", &["761", "apart"])[2..], ["81.9", ""]);
    assert_eq!(row(&report, "Table 5", &["761", "together"])[2..], ["20.5", "75"]);
    assert_eq!(
        row(&report, "Table 5", &["", "authors, H200: fused against unfused"]).last().unwrap(),
        "65"
    );

    // 16,384 operations take 6.6 ms one chunk after the other, and 1.6 ms side by side.
    assert_eq!(
        row(&report, "Figure 7", &["encaps", "8"])[2..],
        ["16384", "6554", "1638", "75", "33"]
    );
    assert_eq!(
        row(&report, "Figure 7", &["encaps", "2"])[2..],
        ["16384", "3277", "2458", "25", ""]
    );

    let resources = row(&report, "Table 6: resources", &["polyphase_small"]);
    assert_eq!(resources[1..], ["761", "32", "160", "0", "9.7", "12"]);
    let power = "Table 6: power";
    assert_eq!(row(&report, power, &["761", "encaps"])[2..], ["500", "520", "1024", "128"]);
    assert_eq!(row(&report, power, &["761", "decaps"])[2..4], ["no nvidia-smi", "no nvidia-smi"]);

    let operations = row(&report, "Table 7", &["761", "encaps"]);
    assert_eq!(operations[2..], ["1048576", "40.0", "50.0", "-", "-", "2.75", "27.0", "11.7"]);
    let on_device = row(&report, "per second on the device without transfers", &["761", "encaps"]);
    assert_eq!(on_device[2..], ["80.0", "-", "-", "26.3", "12.3"]);
    assert_eq!(row(&report, "Latency", &["761", "encaps", "each"])[3..], ["80.0"]);

    // The operation copies 1158 bytes at 0.02 ns, takes seven permutations and two products,
    // accesses 8000 bytes of memory, and was measured at 25 ns.
    let roofline = row(&report, "Roofline", &["761", "encaps", "each"]);
    assert_eq!(roofline[8..], ["23.2", "2.10", "5.00", "2.00", "12.5", "25.0", "40.0", "93"]);
}

#[test]
fn a_file_without_measurements_gives_no_tables() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("empty"), "").unwrap();
    let output = run(place.path(), &["--from", "empty"]);
    assert!(output.status.success() && output.stdout.is_empty());
}

#[test]
fn what_is_no_measurement_is_an_error() {
    let place = tempfile::tempdir().unwrap();
    let good = each("products", "NTT", 1, 1, 1.0);
    fs::write(place.path().join("bad"), format!("{good}\n{{\"bench\":\"products\"}}\n")).unwrap();
    for (file, message) in
        [("bad", "bad:2: not a record: "), ("absent", "absent: cannot be read: ")]
    {
        let output = run(place.path(), &["--from", file]);
        assert_eq!(output.status.code(), Some(1));
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains(message), "{errors}");
    }
}

/// Checks that without a GPU, the message says that the measurements need one.
#[test]
fn measuring_needs_a_gpu() {
    let place = tempfile::tempdir().unwrap();
    // The variable hides a GPU from the program, if there is one.
    let mut command = Command::new(env!("CARGO_BIN_EXE_ctru-bench"));
    command
        .current_dir(place.path())
        .args(["paper", "--json", "lines"])
        .env("CUDA_VISIBLE_DEVICES", "");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("need an NVIDIA GPU, or measurements from a file"), "{errors}");
    assert!(output.stdout.is_empty());
}
