//! Known-answer vectors: by the methods of the key types and by the CPU engine on every backend, and by the device engine on
//! the emulator.

use std::fs;
use std::path::{Path, PathBuf};

use ctru_cli::Error;
use ctru_cli::engine::AnySetEngine;
use ctru_cli::kat::{Report, check_file};
use ctru_gpu_runtime::emulated::EmulatedDevice;
use ctru_kem::ParameterSet;
use ctru_kem::engine::{CpuEngine, DeviceEngine, DeviceOptions};
use ctru_tests::backends::on_every_backend;

/// The files of known-answer records in a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let is_kat = |path: &PathBuf| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with("ctru-prime-"))
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
    on_every_backend(|| check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors"), 26));
}

/// All records, where they lie beside the workspace.
#[test]
fn complete() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/kat");
    if directory.exists() {
        on_every_backend(|| check(&directory, 100));
    }
}

/// The device engine on the emulator.
struct Emulated;

impl AnySetEngine for Emulated {
    type For<P: ParameterSet> = DeviceEngine<P, EmulatedDevice>;

    fn engine<P: ParameterSet>(&self) -> Result<Self::For<P>, Error> {
        let options = DeviceOptions { chunk: 2, slots: 1, ..DeviceOptions::default() };
        Ok(DeviceEngine::new(EmulatedDevice::new(), options)?)
    }
    fn name(&self) -> &'static str {
        "emulator"
    }
    fn device(&self) -> String {
        "emulator".to_owned()
    }
    fn backend(&self) -> &'static str {
        "emulator"
    }
    fn transfers(&self) -> &'static str {
        "none"
    }
    fn threads(&self) -> usize {
        1
    }
}

/// The first record of every file: a second would only make the emulator take longer.
#[test]
fn on_the_emulator() {
    let folder = tempfile::tempdir().unwrap();
    for file in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors")) {
        let records = fs::read_to_string(&file).unwrap();
        let first = folder.path().join(file.file_name().unwrap());
        fs::write(&first, records.lines().next().unwrap()).unwrap();
        let expected = Report { passed: 1, ..Report::default() };
        assert_eq!(check_file(&first, &Emulated).unwrap(), expected, "{}", file.display());
    }
}
