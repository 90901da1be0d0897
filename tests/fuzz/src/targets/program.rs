//! The program `ctru` on files from outside. It must end with a status of its own, whatever a file
//! holds. No counters see into it, so mutation is blind here.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Lets the program check keys in a file, or vectors, as the first byte says.
pub(crate) fn read(input: &[u8]) {
    let Some((&kind, contents)) = input.split_first() else { return };
    let program = std::env::var_os("CTRU_PROGRAM").expect(".ci/fuzz sets the program's path");
    let folder = tempfile::tempdir().expect("there is room for files");
    let file = folder.path().join("file");
    fs::write(&file, contents).expect("there is room for files");
    let mut run = Command::new(program);
    match kind % 3 {
        0 => run.arg("check").arg(&file),
        1 => run.args(["kat", "check", "--engine", "cpu"]).arg(&file),
        _ => run
            .args(["encaps", "--key"])
            .arg(&file)
            .arg("--ciphertext")
            .arg(folder.path().join("ciphertext"))
            .arg("--secret")
            .arg(folder.path().join("secret")),
    };
    let output = run.output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}: {said}", output.status);
}

/// A vector of each file, and a key in PEM.
pub(crate) fn examples() -> Vec<Vec<u8>> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../vectors"));
    let names = ["ctru-prime-653-mixed-radix.jsonl", "ctru-prime-761-packed13.jsonl"];
    let lines = names.map(|name| {
        let text = fs::read_to_string(folder.join(name)).expect("the vectors are there");
        [b"\x01", text.lines().next().unwrap_or_default().as_bytes()].concat()
    });
    let keys = super::bytes::examples().into_iter().map(|key| [&[0], &key[..]].concat());
    let files = super::files::file_examples().into_iter().map(|file| [&[2], &file[..]].concat());
    lines.into_iter().chain(keys).chain(files).collect()
}
