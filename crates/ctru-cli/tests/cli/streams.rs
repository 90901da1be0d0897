//! Standard output and standard error that take nothing, and input that looks like something else.

use std::fs;
use std::io::Write;

use super::{Place, assert_contains, stderr};

/// A device that is full.
#[cfg(target_os = "linux")]
fn full() -> fs::File {
    fs::OpenOptions::new().write(true).open("/dev/full").unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn standard_error_may_be_full() {
    let place = Place::new();
    let status = |arguments| place.command(arguments).stderr(full()).status().unwrap().code();
    assert_eq!(status("keygen --set 1277 --out k"), Some(0));
    assert_eq!(place.names(), ["k", "k.pub"]);
    assert_eq!(status("keygen --set 1277 --out k"), Some(1));
    assert_eq!(status("keygen"), Some(2));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_is_an_error() {
    let place = Place::new();
    place.succeed("keygen --set 653 --out k");
    place.succeed("encaps --key k.pub --ciphertext c --secret s");
    for arguments in [
        "info",
        "selftest",
        "--help",
        "--version",
        "decaps --key k --ciphertext c --secret -",
        "bench --json --set 653 --op encaps --batch 2 --seconds 0.001",
        "kat check k",
    ] {
        let output = place.command(arguments).stdout(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments}: {}", stderr(&output));
        assert_contains(&stderr(&output), &["error: standard output: "]);
    }
    // What has its name by then is named.
    let mut encaps = place.command("encaps --key k.pub --ciphertext - --secret t");
    let output = encaps.stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_contains(&stderr(&output), &["error: standard output: ", "written all the same: t"]);
    assert_eq!(place.read("t").len(), place.read("s").len());
}

/// Who closes a pipe knows that it did.
#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_news() {
    let place = Place::new();
    for arguments in ["info", "--help", "selftest --engine cpu"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = place.command(arguments).stdout(writer).output().unwrap();
        assert_eq!(
            (output.status.code(), stderr(&output)),
            (Some(1), String::new()),
            "{arguments}"
        );
    }
    // That a file was written, and what goes with it was not, is news.
    place.succeed("keygen --set 653 --out k");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut encaps = place.command("encaps --key k.pub --ciphertext - --secret t");
    let output = encaps.stdout(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_contains(&stderr(&output), &["written all the same: t"]);
}

/// Whoever sends a ciphertext chooses its bytes, so they decide nothing.
#[test]
fn raw_ciphertexts_may_look_like_pem() {
    for set in super::SETS {
        let place = Place::new();
        place.succeed(&format!("keygen --set {set} --out k"));
        place.succeed("encaps --key k.pub --ciphertext c --secret s --raw");
        for start in [0, 100] {
            let mut ciphertext = fs::File::options().write(true).open(place.path("c")).unwrap();
            std::io::Seek::seek(&mut ciphertext, std::io::SeekFrom::Start(start)).unwrap();
            ciphertext.write_all(b"-----BEGIN CTRU PRIME 653 MIXED RADIX CIPHERTEXT-----").unwrap();
            place.succeed("decaps --key k --ciphertext c --secret t --raw --force");
            assert_ne!(place.read("t"), place.read("s"));
        }
    }
}

#[test]
fn threads_have_a_limit() {
    let place = Place::new();
    for threads in ["4097", "4000000000"] {
        let output = place.run(&format!("selftest --threads {threads}"));
        assert_eq!(output.status.code(), Some(2), "{threads}");
        assert_contains(&stderr(&output), &["--threads", "4096"]);
    }
}
