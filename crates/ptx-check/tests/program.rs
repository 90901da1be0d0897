//! Tests the program: what it prints, the files that it reads and writes, and its exit status.
// A failure in a helper is a failed test.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

const TAG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tag.ptx");
const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cuda/kernels.ptx");

/// Runs the program in a folder. Returns its exit status, its output and its error messages.
fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_ptx-check"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn json_of(folder: &Path, arguments: &[&str]) -> (i32, Value) {
    let (status, output, _) = run(folder, &[arguments, &["--json"]].concat());
    (status, serde_json::from_str(&output).unwrap())
}

#[test]
fn lists_kernels() {
    let here = Path::new(".");
    let (status, text, _) = run(here, &["list", TAG]);
    assert_eq!(status, 0);
    assert!(text.starts_with("check_tag\n  shared memory: 0 bytes\n"), "{text}");
    assert!(text.contains("\n  check_tag_key: u64\n"), "{text}");
    let (status, list) = json_of(here, &["list", KERNELS]);
    assert_eq!(status, 0);
    let of = |name: &str| {
        list.as_array().unwrap().iter().find(|kernel| kernel["kernel"] == name).unwrap()
    };
    assert_eq!(of("product")["shared_bytes"], 2 * 16 * 16 * 4);
    assert_eq!(of("product")["takes_more_shared"], false);
    assert_eq!(
        (&of("scan")["shared_bytes"], &of("scan")["takes_more_shared"]),
        (&json!(0), &json!(true))
    );
    assert_eq!(of("scan")["parameters"][1]["type"], "u64");
}

/// What cannot be printed is an error like others, not a panic.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written() {
    let full = || fs::File::create("/dev/full").unwrap();
    for job in ["list", "flow"] {
        for json in [&[][..], &["--json"]] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_ptx-check"));
            command.args([job, TAG]).args(json).stdout(full());
            let output = command.output().unwrap();
            let text = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{text}");
            assert!(
                text.starts_with("error: cannot write to standard output\nbecause: "),
                "{text}"
            );
            assert_eq!(command.stderr(full()).status().unwrap().code(), Some(2));
        }
    }
}

#[test]
fn follows_secrets_as_json() {
    let (status, found) = json_of(Path::new("."), &["flow", TAG, "--secret", "check_tag_key"]);
    assert_eq!(status, 1);
    let finding = &found[0]["findings"][0];
    assert_eq!((&finding["class"], &finding["place"]), (&json!("branch"), &json!(48)));
    assert_eq!(finding["source"], "tag.cu:10");
}

/// Returns an array in the format of numpy. The description is as numpy writes it.
fn npy(kind: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    let text = format!("{text:117}\n");
    [b"\x93NUMPY\x01\x00\x76\x00", text.as_bytes(), elements].concat()
}

#[test]
fn runs_a_kernel_on_files() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let numbers = |factor: f32| -> Vec<u8> {
        (0..1024).flat_map(|i| (factor * i as f32).to_le_bytes()).collect()
    };
    fs::write(folder.join("in.npy"), npy("<f4", "(32, 32)", &numbers(1.0))).unwrap();
    fs::write(folder.join("in.raw"), numbers(1.0)).unwrap();
    let launch = ["run", KERNELS, "--kernel", "transposition", "--grid", "2,2", "--block", "16,16"];
    let with = |arguments: &[&str]| run(folder, &[&launch, arguments].concat());
    let (status, text, errors) = with(&["read:in.npy", "new:f32[32x32]:out.npy", "32", "32"]);
    assert_eq!((status, &*errors), (0, ""), "{text}");
    assert!(text.starts_with("transposition: ") && text.ends_with(" instructions, no fault\n"));
    let (status, _, errors) = with(&["read:in.raw", "zero:f32[1024]:out.raw", "32", "0x20"]);
    assert_eq!((status, &*errors), (0, ""));
    let raw = fs::read(folder.join("out.raw")).unwrap();
    assert_eq!(fs::read(folder.join("out.npy")).unwrap(), npy("<f4", "(32, 32, )", &raw));
    let transposed = (0..1024).flat_map(|i| ((i % 32 * 32 + i / 32) as f32).to_le_bytes());
    assert_eq!(raw, transposed.collect::<Vec<u8>>());
    // An array that is read and written keeps its header.
    let (status, ..) = with(&["read:in.raw", "update:in.npy:out.npy", "32", "32"]);
    assert_eq!(status, 0);
    assert_eq!(fs::read(folder.join("out.npy")).unwrap(), npy("<f4", "(32, 32)", &raw));

    for (arguments, why) in [
        (&["read:in.npy"][..], "transposition takes 4 arguments, not 1"),
        (&["read:no.npy", "zero:f32[1]", "1", "1"], "cannot read no.npy"),
        (&["read:out.raw", "zero:f32", "1", "1"], "argument 2, zero:f32: f32 has not the form"),
        (&["read:in.raw", "zero:f32[4]", "1.5", "1"], "argument 3, 1.5: 1.5 is no whole number"),
        (&["read:in.raw", "zero:f32[1]", "{u8:5,u64:7}", "1"], "argument 2 does not fit"),
        (&["read:in.raw", "read:in.raw:x", "1", "1"], "the forms are read:FILE and update"),
    ] {
        let (status, _, errors) = with(arguments);
        assert_eq!(status, 2, "{why}");
        assert!(errors.contains(why), "{errors}");
    }
    fs::write(folder.join("bad.npy"), "text").unwrap();
    let (_, _, errors) = with(&["read:bad.npy", "zero:f32[1]", "1", "1"]);
    assert!(errors.contains("bad.npy is no array of numpy"), "{errors}");
}

#[test]
fn tells_where_a_kernel_is_wrong() {
    let here = Path::new(".");
    let launch = ["run", KERNELS, "--kernel", "planted_bounds", "--grid", "2", "--block", "64"];
    let arguments = ["zero:u32[100]", "zero:u32[100]", "zero:u32[100]", "100"];
    let (status, text, _) = run(here, &[&launch[..], &arguments].concat());
    assert_eq!(status, 1);
    assert!(text.contains("planted_bounds: block [1, 0, 0] thread [36, 0, 0]: "), "{text}");
    assert!(text.ends_with("4 bytes at 400 of 400 bytes\n"), "{text}");
    let (status, found) = json_of(here, &[&launch[..], &arguments].concat());
    assert_eq!((status, &found["fault"]["rule"]), (1, &json!("out-of-bounds")));
    assert_eq!(found["fault"]["thread"], json!([36, 0, 0]));
    assert!(found["fault"]["source"].as_str().unwrap().starts_with("kernels.cu:"));

    let launch = ["run", KERNELS, "--kernel", "planted_race", "--block", "64", "--shared", "256"];
    let (status, found) = json_of(here, &[&launch[..], &["zero:s32[64]", "new:s32[1]"]].concat());
    assert_eq!((status, &found["fault"]["rule"]), (1, &json!("race")));
    assert_eq!(found["fault"]["other"]["source"], found["fault"]["source"]);

    let (status, _, errors) = run(here, &["run", KERNELS, "zero:s32[64]"]);
    assert_eq!(status, 2);
    assert!(errors.contains("several kernels"), "{errors}");
    let limits = ["--most-instructions", "100"];
    let (status, text, _) =
        run(here, &[&launch[..], &limits, &["zero:s32[64]", "new:s32[1]"]].concat());
    assert_eq!(status, 1);
    assert!(text.contains("more instructions than it may"), "{text}");
    let limits = ["--most-memory", "1"];
    let (status, _, errors) =
        run(here, &[&launch[..], &limits, &["zero:s32[99999]", "new:s32[1]"]].concat());
    assert_eq!(status, 2);
    assert!(errors.contains("all memory: "), "{errors}");
}
