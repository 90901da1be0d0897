//! Checks the tables of `ctru-research paper` on invented measurements.

// The lint allows `unwrap` in tests, but not in the helpers of tests.
#![allow(clippy::unwrap_used)]

mod report;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use report::Report;
use serde_json::{Value, json};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ctru-research"));
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

/// Replaces fields of a record.
fn with(mut record: Value, fields: Value) -> Value {
    record.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    record
}

/// Makes a few lines of every kind.
fn measurements() -> Vec<Value> {
    let ceiling = |op: &str, ns: f64| time("ceiling", "", op, "each", 1, 1, ns);
    let of_653 = |bench: &str, op: &str, batch, ns| time(bench, "653", op, "each", batch, 1, ns);
    let cpu = |record| with(record, json!({"engine": "cpu", "device": "no CPU"}));
    vec![
        of_653("products", "schoolbook, tensor cores", 2, 4500.0),
        of_653("products", "one key, tensor cores", 512, 100.0),
        of_653("products", "one key, tensor cores", 2048, 20.0),
        of_653("after the product", "fused", 64, 50.0),
        of_653("after the product", "unfused", 64, 200.0),
        of_653("inversion", "each", 100, 1000.0),
        of_653("inversion", "serial chain", 100, 28005.0),
        of_653("inversion", "tree", 100, 500.0),
        of_653("inversion", "Itoh-Tsujii, each", 100, 250.0),
        of_653("inversion", "tree with Itoh-Tsujii root", 100, 125.0),
        cpu(of_653("product on the CPU", "NTT", 1, 2000.0)),
        cpu(each("single", "encaps", 1, 1, 2000.0)),
        each("sequential", "decaps", 96, 1, 100.0),
        each("streams", "decaps", 96, 8, 50.0),
        with(
            each("counters", "multiply_sampled", 64, 192, 1.0),
            json!({"figures": {"sm__warps_active.avg.pct_of_peak_sustained_active": 40.12}}),
        ),
        with(
            each("resources", "multiply_sampled", 0, 192, 1.0),
            json!({
                "figures": {
                    "registers": 40.0, "local_bytes": 0.0, "shared_bytes": 9216.0, "blocks": 8.0,
                    "occupancy": 75.0,
                },
            }),
        ),
        with(
            each("energy", "encaps", 1 << 20, 16, 25.0),
            json!({"figures": {"watts": 400.0, "joules": 10.5e-6, "idle_watts": 80.0}}),
        ),
        each("products", "NTT", 1, 1, 3000.0),
        each("products", "NTT", 1024, 1, 12.5),
        each("products alone", "NTT", 1, 1, 8000.0),
        each("products alone", "NTT", 1024, 1, 62.5),
        each("encryption", "apart", 1024, 1, 80.0),
        each("encryption", "together", 1024, 1, 20.0),
        each("sampling", "two kernels", 1024, 1, 10.0),
        each("sampling", "one kernel", 1024, 1, 6.0),
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
        with(
            each("cost", "encaps", 1 << 17, 1, 1.0),
            json!({
                "figures": {
                    "uploaded": 1158.0, "downloaded": 984.0, "permutations": 7.0,
                    "byte_products": 2.0, "memory_bytes": 8000.0,
                },
            }),
        ),
        with(
            each("resources", "polyphase_small", 0, 32, 1.0),
            json!({
                "figures": {
                    "registers": 160.0, "local_bytes": 0.0, "shared_bytes": 9728.0, "blocks": 12.0,
                },
            }),
        ),
        with(
            each("load", "encaps", 0, 1, 1.0),
            json!({
                "figures": {
                    "device_bytes": 1u64 << 30, "pinned_bytes": 1 << 27,
                    "watts": 500.0, "most_watts": 520.0,
                },
            }),
        ),
        with(
            each("load", "decaps", 0, 1, 1.0),
            json!({"figures": {"device_bytes": 1u64 << 30, "pinned_bytes": 1 << 27}}),
        ),
    ]
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
    let mut report = Report::parse(&report);

    // The schoolbook product of two pairs takes 9 us; the paper's takes 23.45 us.
    let general = report.row("Table 4, n = 653, general", &["2"]);
    assert_eq!(general[5..], ["23.45", "9.00", "2.61", "1.19", "3.11", "2.61"]);
    let same_key = report.row("Table 4, n = 653, same key on", &["512"]);
    assert_eq!(same_key[5..], ["40.38", "51.2", "0.7887", "177.24", "140", "0.7888"]);
    assert_eq!(
        report.row("Table 4, n = 653, same key: ", &["512"])[1..],
        ["40.2", "17.1", "0.4243"]
    );
    // Without a record, the paper's value stands alone.
    assert_eq!(report.row("Table 4, n = 653, CUDA", &["512"])[1..], ["10.96", "-", "-", "-", "-"]);
    // 1024 products take 12.8 us: 1024 * 14.53 / 12.8.
    assert_eq!(
        report.row("Figure 6: x,", &["761"])[4..],
        ["256.13", "1162", "4.54", "1024", "1024"]
    );
    assert_eq!(report.row("Figure 6: M", &["761"])[1..], ["17.6", "80.0", "4.54"]);
    assert_eq!(report.cell("Figure 6: M", &["761"], "our M").unwrap(), "80.0");
    assert_eq!(report.row("Figure 6: the batch", &["761"])[1..], ["256", "1024", "4.00"]);
    let occupancy = "Occupancy";
    assert_eq!(report.row(occupancy, &["theoretical"])[1..], ["62.5", "75.0", "1.20"]);
    assert_eq!(report.row(occupancy, &["64"])[1..], ["20.06", "40.1", "2.00"]);
    assert_eq!(report.row("One product in R_q", &["653"])[1..], ["13.98", "2.00", "6.99"]);

    assert_eq!(report.row("Products, n = 761: M per second", &["1"])[1..], ["0.3333"]);
    assert_eq!(report.row("Products, n = 761: us", &["1024"])[1..], ["64.0"]);
    let authors = |set, first: &[&str]| {
        report.row(&format!("Products of the authors' code on an H200, n = {set}"), first)
    };
    assert_eq!(
        authors("761", &["authors, H200", "NTT"])[2..],
        ["not known", "76.0", "80.0", "1.05"]
    );
    assert_eq!(
        authors("653", &["authors, H200", "one key, tensor cores"])[2..],
        ["2048", "36.6", "50.0", "1.37"]
    );

    assert_eq!(
        report.row("Table 5, n = 653: us", &["64"])[1..],
        ["4.19", "3.20", "1.31", "8.35", "12.8", "0.6523"]
    );
    let saved = "Table 5, n = 653: %";
    assert_eq!(report.row(saved, &["64"])[1..], ["49.81", "75.0", "1.51", "-"]);
    assert_eq!(report.row(saved, &["1024"])[1..], ["73.17", "-", "-", "65"]);
    assert_eq!(report.row(saved, &["65536"])[1..], ["-", "-", "-", "82"]);
    let encryption = "Encryption on the device";
    assert_eq!(report.row(encryption, &["761", "apart"])[2..], ["81.9", ""]);
    assert_eq!(report.row(encryption, &["761", "together"])[2..], ["20.5", "75"]);
    let sampling = "Section 4.2.2: secret polynomials";
    assert_eq!(report.row(sampling, &["761", "two kernels"])[2..], ["10.2", ""]);
    assert_eq!(report.row(sampling, &["761", "one kernel"])[2..], ["6.14", "40"]);

    // 16,384 operations take 6.6 ms one chunk after the other, and 1.6 ms side by side.
    let streams = |first: &[&str]| report.row("Figure 7, n", first)[4..].join(" ");
    assert_eq!(streams(&["encaps", "16384", "8"]), "6554 1638 - 75.0 - 33");
    assert_eq!(streams(&["encaps", "16384", "2"]), "3277 2458 - 25.0 - -");
    assert_eq!(streams(&["decaps", "768", "8"]), "76.8 38.4 72.83 50.0 0.6865 -");
    assert_eq!(streams(&["decaps", "768", "4"]), "- - no number - - -");
    assert_eq!(streams(&["keygen", "768", "2"]), "- - below 0 - - -");

    let table_6 = "Table 6: power";
    assert_eq!(report.row(table_6, &["761"])[1..], ["82", "500", "6.10", "146", "1024", "7.01"]);
    assert_eq!(
        report.row("Table 6: registers", &["761"])[1..],
        ["40", "40", "1.00", "18.00", "9.00", "0.5000"]
    );
    let resources = report.row("Resources of kernels", &["polyphase_small"]);
    assert_eq!(resources[1..], ["761", "32", "160", "0", "9.7", "12"]);
    let power = "Power and memory";
    assert_eq!(report.row(power, &["761", "encaps"])[2..], ["500", "520", "1024", "128"]);
    assert_eq!(report.row(power, &["761", "decaps"])[2..4], ["no nvidia-smi", "no nvidia-smi"]);
    let energy = report.row("Energy of the GPU", &["761", "encaps"]);
    assert_eq!(energy[4..], ["400", "10.5"]);

    assert_eq!(
        report.row("Table 7: 1000", &["761", "encaps"])[2..],
        ["58.954", "500", "8.48", "2745.392", "40000", "14.6"]
    );
    assert_eq!(
        report.row("Table 7, other", &["Kyber-768", "RTX 3080", "encaps"])[3..],
        ["1880", "40000", "21.3"]
    );
    let operations = report.row("M operations per second by use", &["761", "encaps"]);
    assert_eq!(operations[2..], ["1048576", "40.0", "50.0", "-", "-", "27.0", "11.7"]);
    let on_device = report.row("M operations per second on the device", &["761", "encaps"]);
    assert_eq!(on_device[2..], ["80.0", "-", "-", "26.3", "12.3"]);
    assert_eq!(report.row("Latency", &["761", "encaps", "each"])[3..], ["80.0"]);
    assert_eq!(
        report.row("Section 4.2.1", &["100"])[1..],
        ["56.01", "28.0", "0.5000", "0.5000", "0.0089"]
    );
    assert_eq!(report.row("Inversions", &["653", "100"])[2..], ["100", "25.0", "50.0", "12.5"]);

    // The operation copies 1158 bytes at 0.02 ns, takes seven permutations and two products,
    // accesses 8000 bytes of memory, and was measured at 25 ns.
    let roofline = report.row("Roofline", &["761", "encaps", "each"]);
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
    let mut command = Command::new(env!("CARGO_BIN_EXE_ctru-research"));
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
