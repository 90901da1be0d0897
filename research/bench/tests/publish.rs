//! Checks that the committed tables and pictures show the committed records.

// The lint allows `unwrap` in tests, but not in the helpers of tests.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const FOLDERS: [&str; 3] = ["docs/pictures", "research/pictures", "research/tables"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn publish(records: &Path, out: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ctru-research"));
    command.arg("publish").arg("--records").arg(records).arg("--out").arg(out).output().unwrap()
}

fn names(folder: &Path) -> BTreeSet<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    fs::read_dir(folder).unwrap().map(|entry| name(entry).into_string().unwrap()).collect()
}

/// If this fails after a change of records, charts or known results, run
/// `cargo run --manifest-path research/Cargo.toml -- publish` at the root of the repository.
#[test]
fn tables_and_pictures_are_up_to_date() {
    let out = tempfile::tempdir().unwrap();
    let output = publish(&root().join("research/records"), out.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for folder in FOLDERS {
        let (new, committed) = (out.path().join(folder), root().join(folder));
        assert_eq!(names(&new), names(&committed), "{folder}");
        for name in names(&new) {
            let is_same =
                fs::read(new.join(&name)).unwrap() == fs::read(committed.join(&name)).unwrap();
            assert!(is_same, "{folder}/{name}");
        }
    }
}

#[test]
fn records_without_measurements_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for machine in ["zen5/peers.jsonl", "h200/paper.jsonl"] {
        let path = folder.path().join(machine);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let output = publish(folder.path(), folder.path());
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("peers.jsonl: no records for overview"), "{errors}");
    assert!(!folder.path().join("docs").exists());
}

#[test]
fn a_file_that_an_archive_lacks_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let archive = root().join("research/records/xeon.tar.gz");
    fs::copy(archive, folder.path().join("xeon.tar.gz")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ctru-research"));
    let file = folder.path().join("xeon/no-such.jsonl");
    let output = command.arg("paper").arg("--from").arg(file).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("xeon/no-such.jsonl: cannot be read: the archive has no"), "{errors}");
}
