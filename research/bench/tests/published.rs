//! Checks that the published measurements of `ctru report` are the committed records.

// The lint allows `unwrap` in tests, but not in the helpers of tests.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn published(records: &Path, out: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ctru-research"));
    command.arg("published").arg("--records").arg(records).arg("--out").arg(out).output().unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// If this fails after a change of records or of known results, run `cargo run --manifest-path research/Cargo.toml --
/// published`.
#[test]
fn published_measurements_are_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new");
    let output = published(&root().join("research/records"), &out);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let committed = root().join("research/tables/published.jsonl");
    assert!(fs::read(out).unwrap() == fs::read(committed).unwrap());
}

#[test]
fn records_without_measurements_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cpu-zen5-1-thread.jsonl"), "").unwrap();
    let out = folder.path().join("new");
    let output = published(folder.path(), &out);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("cpu-zen5-1-thread.jsonl: no records for the published"), "{errors}");
    assert!(!out.exists());
}
