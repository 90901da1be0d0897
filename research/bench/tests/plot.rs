//! Checks that the committed pictures show the committed records.

// The lint allows `unwrap` in tests, but not in the helpers of tests.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn plot(records: &Path, out: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ctru-research"));
    command.arg("plot").arg("--records").arg(records).arg("--out").arg(out).output().unwrap()
}

/// If this fails after a change of records or of drawing, run `cargo run --manifest-path research/Cargo.toml -- plot`.
#[test]
fn pictures_are_up_to_date() {
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("../research/records");
    let out = tempfile::tempdir().unwrap();
    let output = plot(&records, &out.path().join("new"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut count = 0;
    for entry in fs::read_dir(out.path().join("new")).unwrap() {
        let path = entry.unwrap().path();
        let committed = fs::read_to_string(records.join(path.file_name().unwrap())).unwrap();
        assert!(fs::read_to_string(&path).unwrap() == committed, "{}", path.display());
        count += 1;
    }
    assert_eq!(count, 10);
}

#[test]
fn records_without_measurements_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("h200-paper.jsonl"), "").unwrap();
    let output = plot(folder.path(), folder.path());
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("h200-paper.jsonl: no records for overview.svg"), "{errors}");
}
