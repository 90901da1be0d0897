//! Known-answer vectors, by the methods of the key types and by the CPU engine.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use ctru_cli::kat::{Report, check_file};
use ctru_kem::engine::CpuEngine;

/// The files of known-answer records in a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let is_kat = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("ctru-prime-"))
    };
    let mut files: Vec<_> = paths.filter(is_kat).collect();
    files.sort();
    files
}

fn check(directory: &Path, records: usize) {
    let engine = CpuEngine::new().unwrap();
    let files = files(directory);
    assert_eq!(files.len(), 6, "{}", directory.display());
    for file in files {
        let expected = Report { passed: records, ..Report::default() };
        assert_eq!(check_file(&file, &engine).unwrap(), expected, "{}", file.display());
    }
}

/// The first records of every file.
#[test]
fn vendored() {
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors"), 26);
}

/// All records, where they lie beside the workspace.
#[test]
fn complete() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/kat");
    if directory.exists() {
        check(&directory, 100);
    }
}
