//! Tests failing standard streams, and ambiguous input.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use super::{Sandbox, assert_contains, stderr, stdout};

/// Opens a device that is always full.
#[cfg(target_os = "linux")]
fn full() -> fs::File {
    fs::OpenOptions::new().write(true).open("/dev/full").unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn standard_error_may_be_full() {
    let sandbox = Sandbox::new();
    let status = |arguments| sandbox.command(arguments).stderr(full()).status().unwrap().code();
    assert_eq!(status("keygen --set 1277 --out k"), Some(0));
    assert_eq!(sandbox.names(), ["k", "k.pub"]);
    assert_eq!(status("keygen --set 1277 --out k"), Some(1));
    assert_eq!(status("keygen"), Some(2));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_is_an_error() {
    let sandbox = Sandbox::with_keys("");
    for arguments in [
        "info",
        "selftest",
        "--help",
        "--version",
        "decaps --key k --ciphertext c --secret -",
        "bench --json --set 653 --op encaps --batch 2 --seconds 0.001",
        "kat check k",
    ] {
        let output = sandbox.command(arguments).stdout(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments}: {}", stderr(&output));
        assert_contains(&stderr(&output), &["error: standard output: "]);
    }
    // The message names the files that were written before.
    let mut encaps = sandbox.command("encaps --key k.pub --ciphertext - --secret t");
    let output = encaps.stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_contains(&stderr(&output), &["error: standard output: ", "written all the same: t"]);
    assert_eq!(sandbox.read("t").len(), sandbox.read("s").len());
}

/// Checks that the program writes no message if the reader closes the pipe.
#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_news() {
    let sandbox = Sandbox::new();
    for arguments in ["info", "--help", "selftest --engine cpu"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = sandbox.command(arguments).stdout(writer).output().unwrap();
        assert_eq!(
            (output.status.code(), stderr(&output)),
            (Some(1), String::new()),
            "{arguments}"
        );
    }
    // If a file has been written before the other output fails, a message names the file.
    sandbox.succeed("keygen --set 653 --out k");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut encaps = sandbox.command("encaps --key k.pub --ciphertext - --secret t");
    let output = encaps.stdout(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_contains(&stderr(&output), &["written all the same: t"]);
}

/// Checks that the bytes of a ciphertext, which its sender chooses, do not decide whether it is
/// accepted.
#[test]
fn raw_ciphertexts_may_look_like_pem() {
    for set in super::SETS {
        let sandbox = Sandbox::new();
        sandbox.succeed(&format!("keygen --set {set} --out k"));
        sandbox.succeed("encaps --key k.pub --ciphertext c --secret s --raw");
        for start in [0, 100] {
            let mut ciphertext = fs::File::options().write(true).open(sandbox.path("c")).unwrap();
            std::io::Seek::seek(&mut ciphertext, std::io::SeekFrom::Start(start)).unwrap();
            ciphertext.write_all(b"-----BEGIN CTRU PRIME 653 MIXED RADIX CIPHERTEXT-----").unwrap();
            sandbox.succeed("decaps --key k --ciphertext c --secret t --raw --force");
            assert_ne!(sandbox.read("t"), sandbox.read("s"));
        }
    }
}

#[test]
fn threads_have_a_limit() {
    let sandbox = Sandbox::new();
    for threads in ["4097", "4000000000"] {
        let output = sandbox.run(&format!("selftest --threads {threads}"));
        assert_eq!(output.status.code(), Some(2), "{threads}");
        assert_contains(&stderr(&output), &["--threads", "4096"]);
    }
}

/// Checks that a line that never ends does not fill the memory, and that the longest line is read.
#[test]
fn lines_have_a_limit() {
    let sandbox = Sandbox::new();
    let (longest, long) = (vec![b'x'; 65536], vec![b'x'; 65537]);
    for end in ["\n", ""] {
        let file = |line: &[u8]| [b"\n", line, end.as_bytes()].concat();
        sandbox.write("longest", file(&longest));
        sandbox.write("long", file(&long));
        for (name, message) in [
            ("longest", "longest:2: not a measurement"),
            ("long", "long:2: more than 65536 bytes in one line"),
        ] {
            let error = sandbox.fail(&format!("report --out figures {name}"));
            assert_contains(&error, &[&format!("error: {message}")]);
        }
        for (name, message) in [
            ("longest", "longest:2: not a known-answer record"),
            ("long", "long:2: more than 65536 bytes in one line"),
        ] {
            assert_contains(&sandbox.find_wrong(name), &[message, "0 passed, 1 failed"]);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn endless_files_are_refused() {
    let sandbox = Sandbox::new();
    let report = sandbox.find_wrong("/dev/zero");
    assert_contains(&report, &["/dev/zero:1: more than 65536 bytes", "0 passed, 1 failed"]);
    let error = sandbox.fail("report --out figures /dev/zero");
    assert_contains(&error, &["error: /dev/zero:1: more than 65536 bytes"]);
}

/// Checks the process while it waits for a key.
#[cfg(target_os = "linux")]
#[test]
fn the_process_has_no_core_dumps() {
    let sandbox = Sandbox::new();
    let mut check = sandbox.command("check -");
    let mut check = check.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    ctru_tests::processes::has_no_core_dumps(check.id());
    drop(check.stdin.take());
    check.wait().unwrap();
}

/// Checks that each command that reads several files reads standard input once, and refuses to read
/// it twice.
#[test]
fn standard_input_is_read_once() {
    let sandbox = Sandbox::new();
    for arguments in [
        "decaps --key - --ciphertext - --secret s",
        "check - -",
        "kat check --engine cpu - missing -",
        "report --out figures - -",
    ] {
        let error = sandbox.fail(arguments);
        assert_contains(&error, &["error: standard input is named for two inputs"]);
    }
    fs::copy(super::first_vectors(), sandbox.path("vectors")).unwrap();
    let report = stdout(&sandbox.run_on("vectors", "kat check --engine cpu - missing"));
    assert_contains(&report, &["-: 26 records, 0 wrong\n", "missing: cannot be read"]);
    assert_eq!(report.lines().last(), Some("26 passed, 1 failed"));
}
