//! Runs the built program as a user does.

// The lint allows `unwrap` in tests, but not in the helpers of tests.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ctru_math::backend::Backend;
use tempfile::TempDir;

mod check;
mod engine;
#[cfg(unix)]
mod files;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod memory;
mod pem;
mod pkcs8;
mod report;
#[cfg(unix)]
mod sinks;
mod streams;

const SETS: [&str; 3] = ["653", "761", "1277"];
const ENCODINGS: [&str; 2] = ["mixed-radix", "packed13"];

/// A temporary directory in which a test runs the program.
struct Sandbox(TempDir);

impl Sandbox {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.path(name), contents).unwrap();
    }

    /// Returns the names of all files, including hidden ones.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ctru"));
        command.current_dir(self.0.path()).args(arguments.split_whitespace());
        command
    }

    /// Makes a directory with a key pair `k`, a ciphertext `c` and its secret `s`, which may be
    /// `--raw`.
    fn with_keys(raw: &str) -> Self {
        let sandbox = Self::new();
        sandbox.succeed("keygen --set 653 --out k");
        sandbox.succeed(&format!("encaps --key k.pub --ciphertext c --secret s {raw}"));
        sandbox
    }

    fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command whose standard input is a file.
    fn run_on(&self, file: &str, arguments: &str) -> Output {
        let input = fs::File::open(self.path(file)).unwrap();
        self.command(arguments).stdin(input).output().unwrap()
    }

    /// Runs a command that must succeed. Returns its standard output.
    fn succeed(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that must fail with status 1 and create no file. Returns its message.
    fn fail(&self, arguments: &str) -> String {
        let before = self.names();
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments}: {}", stderr(&output));
        assert_eq!(self.names(), before, "{arguments}");
        assert!(output.stdout.is_empty(), "{arguments}");
        stderr(&output)
    }

    /// Runs `ctru kat check` on the CPU, which must find a fault. Returns its report.
    fn find_wrong(&self, files: &str) -> String {
        let output = self.run(&format!("kat check --engine cpu {files}"));
        assert_eq!(output.status.code(), Some(1), "{files}: {}", stderr(&output));
        stdout(&output)
    }

    /// Measures 653 on one thread of the CPU. Returns the records.
    fn bench(&self, options: &str) -> Vec<serde_json::Value> {
        let bench = "bench --engine cpu --json --set 653 --seconds 0.001 --threads 1";
        let report = self.succeed(&format!("{bench} {options}"));
        report.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

/// Returns the folder with known-answer records.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors")
}

/// Returns the six files of known-answer records in a folder.
fn vectors(folder: &Path) -> Vec<PathBuf> {
    let files = SETS.map(|n| ENCODINGS.map(|encoding| format!("ctru-prime-{n}-{encoding}.jsonl")));
    files.as_flattened().iter().map(|file| folder.join(file)).collect()
}

/// Returns one file of known-answer records.
fn first_vectors() -> PathBuf {
    vectors(&folder()).swap_remove(0)
}

#[test]
fn secrets_agree_for_all_sets_encodings_and_forms() {
    for set in SETS {
        for encoding in ENCODINGS {
            for raw in ["", "--raw"] {
                let sandbox = Sandbox::new();
                sandbox.succeed(&format!("keygen --set {set} --encoding {encoding} --out k {raw}"));
                sandbox.succeed(&format!("encaps --key k.pub --ciphertext c --secret s1 {raw}"));
                sandbox.succeed(&format!("decaps --key k --ciphertext c --secret s2 {raw}"));
                let suite = format!("CTRU-Prime-{set} {encoding}");
                let valid =
                    format!("k: valid {suite} private key\nk.pub: valid {suite} public key\n");
                assert_eq!(sandbox.succeed("check k k.pub"), valid);
                assert_eq!(sandbox.read("s1"), sandbox.read("s2"));
                assert_eq!(sandbox.names(), ["c", "k", "k.pub", "s1", "s2"]);
                if raw.is_empty() {
                    for (name, kind) in [
                        ("k", "PRIVATE KEY"),
                        ("k.pub", "PUBLIC KEY"),
                        ("c", "CIPHERTEXT"),
                        ("s1", "SHARED SECRET"),
                    ] {
                        let text = String::from_utf8(sandbox.read(name)).unwrap();
                        let encoding = encoding.to_uppercase().replace('-', " ");
                        assert_contains(
                            &text,
                            &[&format!("-----BEGIN CTRU PRIME {set} {encoding} {kind}-----\n")],
                        );
                    }
                } else {
                    assert_eq!(sandbox.read("s1").len(), 32);
                }
            }
        }
    }
}

/// Checks that a key in PEM form works with a raw ciphertext and a raw secret.
#[test]
fn pem_and_raw_mix() {
    let sandbox = Sandbox::new();
    sandbox.succeed("keygen --set 761 --out k");
    sandbox.succeed("encaps --key k.pub --ciphertext c --secret s1 --raw");
    assert_eq!((sandbox.read("c").len(), sandbox.read("s1").len()), (952, 32));
    sandbox.succeed("decaps --key k --ciphertext c --secret s2 --raw");
    assert_eq!(sandbox.read("s1"), sandbox.read("s2"));
}

#[test]
fn two_encapsulations_differ() {
    let sandbox = Sandbox::with_keys("");
    sandbox.succeed("encaps --key k.pub --ciphertext c2 --secret s2");
    assert_ne!(sandbox.read("c"), sandbox.read("c2"));
    assert_ne!(sandbox.read("s"), sandbox.read("s2"));
}

#[test]
fn flipped_bit_gives_another_secret_and_no_error() {
    for set in SETS {
        let sandbox = Sandbox::new();
        sandbox.succeed(&format!("keygen --set {set} --out k"));
        sandbox.succeed("encaps --key k.pub --ciphertext c --secret s --raw");
        let ciphertext = sandbox.read("c");
        // The last of these bits is padding in every set.
        for (byte, mask) in [(0, 1), (ciphertext.len() / 2, 16), (ciphertext.len() - 1, 128)] {
            let mut changed = ciphertext.clone();
            changed[byte] ^= mask;
            sandbox.write("changed", changed);
            sandbox.succeed("decaps --key k --ciphertext changed --secret other --raw --force");
            assert_eq!(sandbox.read("other").len(), 32);
            assert_ne!(sandbox.read("other"), sandbox.read("s"));
        }
    }
}

#[test]
fn standard_input_and_output() {
    let sandbox = Sandbox::new();
    sandbox.succeed("keygen --set 761 --out k");
    sandbox.write("c", sandbox.run("encaps --key k.pub --ciphertext - --secret s").stdout);
    let output = sandbox.run_on("c", "decaps --key k --ciphertext - --secret -");
    assert!(output.status.success());
    assert_eq!(output.stdout, sandbox.read("s"));

    assert_contains(&sandbox.fail("keygen --set 761 --out -"), &["--out"]);
    assert_contains(
        &sandbox.fail("encaps --key k.pub --ciphertext - --secret -"),
        &["two outputs"],
    );
}

#[test]
fn damaged_files_are_named_with_their_sizes() {
    let sandbox = Sandbox::new();
    for raw in ["", "--raw"] {
        sandbox.succeed(&format!("keygen --set 761 --out k {raw} --force"));
        sandbox.succeed(&format!("encaps --key k.pub --ciphertext c --secret s {raw} --force"));
        for (name, size) in [("k", 1571), ("k.pub", 1158), ("c", 952)] {
            let intact = sandbox.read(name);
            let expected = if raw.is_empty() { intact.len() } else { size }.to_string();
            // The PEM form is cut off in the middle, then before its last line is complete.
            for length in [intact.len() / 2, intact.len() - 2] {
                sandbox.write("cut", &intact[..length]);
                let message = sandbox.fail(&match name {
                    "k" => "decaps --key cut --ciphertext c --secret t".to_owned(),
                    "c" => "decaps --key k --ciphertext cut --secret t".to_owned(),
                    _ => "encaps --key cut --ciphertext d --secret t".to_owned(),
                });
                assert_contains(&message, &["cut: ", &expected, &length.to_string()]);
            }
        }
    }
}

#[test]
fn files_that_are_no_keys() {
    let sandbox = Sandbox::new();
    sandbox.succeed("keygen --set 761 --out k --raw");
    sandbox.succeed("encaps --key k.pub --ciphertext c --secret s --raw");
    sandbox.write("empty", "");
    sandbox.write("garbage", "this is not a key");
    sandbox.write("ones", [255; 1158]);
    sandbox.write("private-ones", [255; 1571]);
    sandbox.write("huge", vec![0; 100_000]);
    sandbox.write("foreign", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    for (name, message) in [
        ("missing", "cannot be read"),
        (".", "cannot be read"),
        ("empty", "0 bytes"),
        ("garbage", "17 bytes"),
        ("huge", "more than 65536 bytes"),
        ("foreign", "label"),
        ("ones", "not the canonical encoding"),
        ("k", "a CTRU-Prime-761 mixed-radix private key, not a public key"),
        ("c", "a CTRU-Prime-761 ciphertext, not a public key"),
    ] {
        let error = sandbox.fail(&format!("encaps --key {name} --ciphertext d --secret t"));
        assert_contains(&error, &[&format!("error: {name}: "), message]);
    }
    for (name, message) in [
        ("empty", "0 bytes"),
        ("private-ones", "coefficients that no key has"),
        ("k.pub", "a CTRU-Prime-761 mixed-radix public key, not a private key"),
    ] {
        let error = sandbox.fail(&format!("decaps --key {name} --ciphertext c --secret t"));
        assert_contains(&error, &[&format!("error: {name}: "), message]);
    }
    let error = sandbox.fail("decaps --key k --ciphertext empty --secret t");
    assert_contains(
        &error,
        &["empty: 0 bytes are no ciphertext; expected 952 for a CTRU-Prime-761"],
    );
}

#[test]
fn ciphertext_of_another_set() {
    let sandbox = Sandbox::new();
    sandbox.succeed("keygen --set 653 --out small");
    sandbox.succeed("keygen --set 761 --out k");
    sandbox.succeed("keygen --set 761 --encoding packed13 --out packed");
    sandbox.succeed("encaps --key small.pub --ciphertext raw --secret s1 --raw");
    sandbox.succeed("encaps --key small.pub --ciphertext pem --secret s2");
    sandbox.succeed("encaps --key packed.pub --ciphertext packed-pem --secret s3");
    for (ciphertext, found) in [
        ("raw", "a CTRU-Prime-653 ciphertext"),
        ("pem", "a CTRU-Prime-653 mixed-radix ciphertext"),
        ("packed-pem", "a CTRU-Prime-761 packed13 ciphertext"),
    ] {
        let error = sandbox.fail(&format!("decaps --key k --ciphertext {ciphertext} --secret t"));
        assert_contains(
            &error,
            &[&format!("{ciphertext}: {found}"), "the key is of CTRU-Prime-761 mixed-radix"],
        );
    }
}

#[test]
fn nothing_is_overwritten_without_force() {
    let sandbox = Sandbox::new();
    // If either file of the pair exists, neither is written.
    for existing in ["k", "k.pub"] {
        sandbox.write(existing, "precious");
        let error = sandbox.fail("keygen --set 653 --out k");
        assert_contains(&error, &[&format!("error: {existing}: exists already"), "--force"]);
        assert_eq!(sandbox.read(existing), b"precious");
        fs::remove_file(sandbox.path(existing)).unwrap();
    }
    sandbox.succeed("keygen --set 653 --out k");
    sandbox.write("s", "precious");
    sandbox.fail("encaps --key k.pub --ciphertext c --secret s");
    sandbox.fail("encaps --key k.pub --ciphertext s --secret c");
    assert_eq!(sandbox.read("s"), b"precious");
    sandbox.succeed("encaps --key k.pub --ciphertext c --secret s --force");
    let secret = sandbox.read("s");
    sandbox.fail("decaps --key k --ciphertext c --secret s");
    sandbox.write("s", "precious");
    sandbox.succeed("decaps --key k --ciphertext c --secret s --force");
    assert_eq!(sandbox.read("s"), secret);
    assert_eq!(sandbox.names(), ["c", "k", "k.pub", "s"]);
}

#[test]
fn outputs_that_cannot_be_written() {
    let sandbox = Sandbox::new();
    let error = sandbox.fail("keygen --set 653 --out nowhere/k");
    assert_contains(&error, &["nowhere/k: cannot be written"]);
    fs::create_dir(sandbox.path("d")).unwrap();
    fs::create_dir(sandbox.path("k.pub")).unwrap();
    sandbox.fail("keygen --set 653 --out d");
    // Even with --force, a directory is not replaced, and the other file of the pair stays.
    sandbox.write("k", "old");
    assert_contains(
        &sandbox.fail("keygen --set 653 --out k --force"),
        &["k.pub: is not a regular file"],
    );
    assert_eq!(sandbox.read("k"), b"old");
    fs::remove_dir(sandbox.path("k.pub")).unwrap();
    sandbox.succeed("keygen --set 653 --out k --force");
    assert_contains(
        &sandbox.fail("encaps --key k.pub --ciphertext x --secret ./x --force"),
        &["./x: named for two outputs"],
    );
}

#[cfg(unix)]
#[test]
fn secrets_are_for_the_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    let mode = |name: &str| fs::metadata(sandbox.path(name)).unwrap().permissions().mode() & 0o777;
    for format in ["native", "native", "pkcs8"] {
        sandbox.succeed(&format!("keygen --set 653 --format {format} --out k --force"));
        sandbox.succeed("encaps --key k.pub --ciphertext c --secret s --force");
        sandbox.succeed("decaps --key k --ciphertext c --secret t --force");
        for secret in ["k", "s", "t"] {
            assert_eq!(mode(secret), 0o600, "{secret}");
            // In the next rounds, the files that are replaced are readable by all.
            fs::set_permissions(sandbox.path(secret), fs::Permissions::from_mode(0o644)).unwrap();
        }
        sandbox.write("ordinary", "");
        assert_eq!(mode("k.pub"), mode("ordinary"));
        assert_eq!(mode("c"), mode("ordinary"));
    }
}

#[test]
fn usage_errors_have_status_2() {
    let sandbox = Sandbox::new();
    for arguments in [
        "",
        "keygen --out k",
        "keygen --set 700 --out k",
        "encaps --key k",
        "kat check",
        "bench --batch 0",
    ] {
        assert_eq!(sandbox.run(arguments).status.code(), Some(2), "{arguments}");
    }
}

#[test]
fn users_of_1277_are_warned() {
    let sandbox = Sandbox::new();
    let warning = |set| stderr(&sandbox.run(&format!("keygen --set {set} --out k{set}")));
    assert_contains(
        &warning("1277"),
        &["warning: nothing shows that CTRU-Prime-1277", "2^-279", "at most 2^40 ciphertexts"],
    );
    assert_eq!(warning("761"), "");
}

#[test]
fn info_has_sizes_and_status() {
    let info = Sandbox::new().succeed("info");
    assert_contains(&info, &["not standardised", "Nothing shows", "-279", "2067", "2747", "1597"]);
    assert_contains(&info, &["decapsulate at most 2^40 ciphertexts"]);
    for size in
        [994, 1158, 2067, 1062, 1237, 2076, 1353, 1571, 2738, 1421, 1650, 2747, 898, 952, 1597]
    {
        assert_contains(&info, &[&format!(" {size} ")]);
    }
}

/// Checks files on every backend of this CPU. Each must have `records` records. Plain Rust is slow
/// in tests, so it checks the first `few` records of each file.
fn kat_check_on_every_backend(files: &[PathBuf], records: usize, few: usize) {
    let sandbox = Sandbox::new();
    let first = |file: &PathBuf| {
        let lines = fs::read_to_string(file).unwrap();
        let lines: Vec<_> = lines.lines().take(few).collect();
        let path = sandbox.0.path().join(file.file_name().unwrap());
        fs::write(&path, lines.join("\n")).unwrap();
        path
    };
    let short_files: Vec<_> = files.iter().map(first).collect();
    for backend in ctru_math::backend::available() {
        let (files, records) = match backend {
            Backend::Portable => (&*short_files, few),
            _ => (files, records),
        };
        let check = format!("--backend {backend} kat check");
        let output = sandbox.command(&check).args(files).output().unwrap();
        let report = stdout(&output);
        let expected = format!("{} passed, 0 failed", records * files.len());
        assert_eq!(report.lines().last(), Some(expected.as_str()), "{report}");
        assert_eq!(output.status.code(), Some(0));
        for file in files {
            assert_contains(&report, &[&format!("{}: {records} records, 0 wrong", file.display())]);
        }
    }
}

/// Returns the files of records for sets of NTRU Prime: 25 records each, and 10 for the sets of
/// which an engine on a GPU has no kernels.
fn ntru_prime_vectors() -> [(Vec<PathBuf>, usize); 2] {
    let files = |sets: [&str; 3]| sets.map(|set| folder().join(format!("{set}.jsonl"))).to_vec();
    [
        (files(["sntrup653", "sntrup761", "sntrup1277"]), 25),
        (files(["sntrup857", "sntrup953", "sntrup1013"]), 10),
    ]
}

#[test]
fn kat_check_passes() {
    kat_check_on_every_backend(&vectors(&folder()), 26, 4);
}

#[test]
fn kat_check_passes_for_ntru_prime() {
    for (files, records) in ntru_prime_vectors() {
        kat_check_on_every_backend(&files, records, 2);
    }
}

/// Checks the official records of NTRU Prime, if the folder with them exists beside the workspace.
#[test]
fn kat_check_passes_on_response_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/sntrup");
    let sandbox = Sandbox::new();
    for set in ["sntrup653", "sntrup761", "sntrup857", "sntrup953", "sntrup1013", "sntrup1277"] {
        let packed = folder.join(format!("{set}.rsp.gz"));
        if !packed.exists() {
            continue;
        }
        let unpacked = Command::new("gzip").arg("-dc").arg(packed).output().unwrap().stdout;
        fs::write(sandbox.path("official.rsp"), unpacked).unwrap();
        let report = sandbox.succeed("kat check official.rsp");
        assert_contains(&report, &["official.rsp: 100 records, 0 wrong"]);
    }
}

#[test]
fn kat_check_refuses_wrong_response_files() {
    let sandbox = Sandbox::new();
    let record =
        |seed: &str| format!("count = 0\nseed = {seed}\npk = 00\nsk = 00\nct = 00\nss = 00\n");
    let seed = "00".repeat(48);
    for (title, seed, problem) in [
        ("# kem/sntrup653\n\n", &*seed, "official.rsp:3: pk: 1 in the record, 994 computed"),
        ("# kem/sntrup653\n\n", "00", "official.rsp:3: seed: expected 48 bytes, got 1"),
        ("", &*seed, "official.rsp:1: no line before the record names a set of NTRU Prime"),
    ] {
        fs::write(sandbox.path("official.rsp"), format!("{title}{}", record(seed))).unwrap();
        let report = sandbox.find_wrong("official.rsp");
        assert_contains(&report, &[problem, "0 passed, 1 failed"]);
    }
    // Records that lack fields, in the middle and at the end of a file.
    let cut = format!("# kem/sntrup653\n\ncount = 0\nseed = {seed}\n");
    fs::write(sandbox.path("official.rsp"), format!("{cut}\ncount = 1\nseed = {seed}")).unwrap();
    assert_contains(&sandbox.find_wrong("official.rsp"), &["0 passed, 2 failed"]);
}

/// Checks that the raw keys of NTRU Prime, some of which have the length of others, are read where
/// the set is named.
#[test]
fn secrets_agree_for_ntru_prime() {
    let sandbox = Sandbox::new();
    for set in ["sntrup653", "sntrup761", "sntrup857", "sntrup953", "sntrup1013", "sntrup1277"] {
        for (raw, named) in [("", ""), ("--raw", &*format!("--set {set}"))] {
            sandbox.succeed(&format!("keygen --set {set} --out k {raw} --force"));
            let operate = |line: &str| sandbox.succeed(&format!("{line} {raw} {named} --force"));
            operate("encaps -k k.pub -c c -s s1");
            operate("decaps -k k -c c -s s2");
            assert_eq!(sandbox.read("s1"), sandbox.read("s2"), "{set} {raw}");
            let report = sandbox.succeed(&format!("check k k.pub {named}"));
            assert_contains(&report, &[&format!("valid {set} mixed-radix private key")]);
        }
        sandbox.succeed(&format!("keygen --set {set} --out k --format pkcs8 --force"));
        let report = sandbox.succeed("check k k.pub");
        assert_contains(&report, &[&format!("valid {set} mixed-radix private key")]);
    }
    // No message expects a length that only `--set` makes right.
    sandbox.succeed("keygen --set sntrup761 --out k --raw --force");
    let error = sandbox.fail("check k");
    assert_contains(&error, &["1763 bytes are no", "or a key of NTRU Prime and its --set"]);
    assert!(!error.contains("1763 for"), "{error}");
    assert_contains(&sandbox.fail("check k --set sntrup653"), &["expected 994 for a sntrup653"]);
    // Raw public keys of sntrup653 have the length of those of CTRU-Prime-653.
    for raw in ["--raw", ""] {
        sandbox.succeed(&format!("keygen --set 653 --out k {raw} --force"));
        for line in ["encaps -k k.pub -c c2 -s s3", "decaps -k k -c c -s s3", "check k.pub"] {
            let error = sandbox.fail(&format!("{line} --set sntrup761"));
            assert_contains(&error, &["CTRU-Prime-653", "key, but --set is sntrup761"]);
        }
    }
    // Of several keys in a file, that of the set is taken, even if another one is damaged.
    sandbox.succeed("keygen --set sntrup761 --out own --force");
    let mut other = sandbox.read("k.pub");
    for damages in [false, true] {
        other[100] = if damages { b'?' } else { other[100] };
        sandbox.write("both", [&other[..], &sandbox.read("own.pub")].concat());
        sandbox.succeed("encaps -k both --set sntrup761 -c c -s s1 --force");
    }
    sandbox.succeed("decaps -k own -c c -s s2 --force");
    assert_eq!(sandbox.read("s1"), sandbox.read("s2"));
    let error = sandbox.fail("keygen --set sntrup761 --encoding packed13 --out p");
    assert_contains(&error, &["the keys of sntrup761 have no packed13 encoding"]);
}

/// Checks all records on every backend, and those of the folder beside the workspace if it exists.
#[test]
#[ignore = "takes long; CI runs it"]
fn kat_check_passes_on_complete_files() {
    kat_check_on_every_backend(&vectors(&folder()), 26, 26);
    for (files, records) in ntru_prime_vectors() {
        kat_check_on_every_backend(&files, records, records);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/kat");
    if folder.exists() {
        kat_check_on_every_backend(&vectors(&folder), 100, 100);
    }
}

/// Checks that a change of any field makes its record fail, and no other record.
#[test]
fn kat_check_finds_every_corruption() {
    let sandbox = Sandbox::new();
    let vectors = fs::read_to_string(first_vectors()).unwrap();
    let mut lines: Vec<String> = vectors.lines().take(15).map(str::to_owned).collect();
    let fields = ["keygen_seed", "z", "pk", "sk", "encaps_seed", "ct", "ss", "bad_ct", "bad_ss"];
    for (line, field) in lines.iter_mut().zip(fields) {
        let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
        let hex = record[field].as_str().unwrap();
        // The eleventh digit. In keys and ciphertexts, it belongs to a coefficient of low degree.
        let digit = if hex.as_bytes()[10] == b'0' { "1" } else { "0" };
        record[field] = format!("{}{digit}{}", &hex[..10], &hex[11..]).into();
        *line = record.to_string();
    }
    lines[9] = lines[9].replace("\"n\":653", "\"n\":654").replace("\"n\": 653", "\"n\": 654");
    lines[10].truncate(500);
    lines[11] = "{}".to_owned();
    lines[12] = String::new();
    lines[14] = lines[14].replacen('{', "{\"set\": \"761\", ", 1);
    sandbox.write("bad.jsonl", lines.join("\n"));

    let report = sandbox.find_wrong("bad.jsonl");
    assert_eq!(report.lines().last(), Some("1 passed, 13 failed"), "{report}");
    for (line, field) in fields.iter().enumerate() {
        // A wrong seed shows in the outputs that depend on it.
        let field = match *field {
            "keygen_seed" => "pk",
            "z" => "sk",
            "encaps_seed" => "ct",
            "bad_ct" => "bad_ss",
            field => field,
        };
        assert_contains(&report, &[&format!("bad.jsonl:{}: {field}: ", line + 1)]);
    }
    assert_contains(
        &report,
        &[
            "bad.jsonl:10: n: ",
            "bad.jsonl:15: n: ",
            "bad.jsonl:11: not a known-answer record",
            "bad.jsonl:12: not a",
        ],
    );
    assert!(!report.contains("bad.jsonl:13:") && !report.contains("bad.jsonl:14:"), "{report}");
}

/// Checks that what is wrong in a batch is written before the file ends, and so is not kept.
#[test]
fn kat_check_does_not_wait_for_the_end_of_a_file() {
    let sandbox = Sandbox::new();
    let mut check = sandbox.command("kat check --engine cpu -");
    let mut check = check.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = check.stdin.take().unwrap();
    input.write_all("{}\n".repeat(300).as_bytes()).unwrap();
    let mut output = BufReader::new(check.stdout.take().unwrap());
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        sender.send(line).unwrap();
    });
    let line = receiver.recv_timeout(Duration::from_secs(20));
    drop(input);
    assert_contains(&line.unwrap(), &["-:1: not a known-answer record"]);
    assert_eq!(check.wait().unwrap().code(), Some(1));
}

/// Checks that byte strings may have the prefix `0x`, which other programs write.
#[test]
fn kat_check_takes_prefixes() {
    let sandbox = Sandbox::new();
    let vectors = fs::read_to_string(first_vectors()).unwrap();
    let line = vectors.lines().next().unwrap();
    let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
    for (name, value) in record.as_object_mut().unwrap() {
        if let serde_json::Value::String(text) = value
            && name != "pk_encoding"
        {
            text.insert_str(0, "0x");
        }
    }
    sandbox.write("prefixed.jsonl", record.to_string());
    let report = sandbox.succeed("kat check prefixed.jsonl");
    assert_eq!(report.lines().last(), Some("1 passed, 0 failed"), "{report}");
}

#[test]
fn kat_check_of_files_without_records() {
    let sandbox = Sandbox::new();
    sandbox.write("empty.jsonl", "\n\n");
    for (file, message) in
        [("empty.jsonl", "empty.jsonl: no records"), ("missing", "missing: cannot be read")]
    {
        let report = sandbox.find_wrong(file);
        assert_contains(&report, &[message]);
        assert_eq!(report.lines().last(), Some("0 passed, 1 failed"));
    }
    // A good file does not hide a bad one.
    fs::copy(first_vectors(), sandbox.path("good")).unwrap();
    let report = sandbox.find_wrong("missing good");
    assert_eq!(report.lines().last(), Some("26 passed, 1 failed"));
}

#[test]
fn bench_records_have_all_keys() {
    let records = Sandbox::new().bench("--encoding packed13 --batch 3");
    assert_eq!(records.len(), 3 + 4 + 4);
    for record in &records {
        let texts = "bench engine device backend set pk_encoding op keys transfers commit";
        for key in texts.split(' ') {
            assert!(!record[key].as_str().unwrap().is_empty(), "{key}: {record}");
        }
        for key in ["batch", "ops_per_s", "median_ns_per_op", "spread", "threads", "callers"] {
            assert!(record[key].is_number(), "{key}: {record}");
        }
        assert_eq!((&record["set"], &record["pk_encoding"]), (&"653".into(), &"packed13".into()));
        let date = record["date"].as_str().unwrap();
        assert!(date.len() == 20 && date.contains('T') && date.ends_with('Z'), "{date}");
    }
    let of = |bench: &str, op: &str| {
        let records =
            records.iter().filter(|record| record["bench"] == bench && record["op"] == op);
        records.map(|record| record["keys"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(of("single", "encaps"), ["one"]);
    assert_eq!(of("batch", "keygen"), ["each", "private"]);
    assert_eq!(of("batch", "decaps"), ["one", "each", "resident"]);
}

#[test]
fn bench_from_several_threads() {
    let records = Sandbox::new().bench("--op keygen --op decaps --batch 2 --callers 3");
    assert_eq!(records.len(), 3 + 4);
    for record in records {
        let callers = if record["bench"] == "batch" { 3 } else { 1 };
        assert_eq!(record["callers"], callers, "{record}");
        let (rate, time) =
            (record["ops_per_s"].as_f64().unwrap(), record["median_ns_per_op"].as_f64().unwrap());
        assert!((rate * time / 1e9 / f64::from(callers) - 1.0).abs() < 1e-6, "{record}");
        assert!(callers == 1 || record["samples"].as_u64().unwrap() >= 15, "{record}");
    }
}

#[test]
fn bench_with_a_seed_each() {
    let records = Sandbox::new().bench("--batch 3 --seeds each");
    assert_eq!(records.len(), 3 + 4 + 4);
    for record in records {
        let has_seeds = record["bench"] == "batch" && record["op"] != "decaps";
        assert_eq!(record.get("seeds"), has_seeds.then_some(&"each".into()), "{record}");
    }
}

#[test]
fn bench_on_the_device_needs_a_device() {
    let arguments = "bench --json --engine cpu --set 653 --op decaps --seconds 0.001 --on-device";
    assert_contains(&Sandbox::new().fail(arguments), &["--on-device", "--engine gpu"]);
}

/// Checks that a batch that does not fit into memory is an error. The shell limits the memory, so
/// that the test does not depend on the machine.
#[cfg(target_os = "linux")]
#[test]
fn bench_refuses_batches_without_memory() {
    let bench = "bench --engine cpu --threads 1 --set 653 --op encaps --seconds 0.001";
    for (batch, callers) in [(u32::MAX, 1), (u32::MAX, 1024), (2_000_000, 1), (10_000, 1024)] {
        let arguments = format!("{bench} --batch {batch} --callers {callers}");
        let script = format!("ulimit -v 4000000; exec {} {arguments}", env!("CARGO_BIN_EXE_ctru"));
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments}: {}", stderr(&output));
        let message = format!("error: --batch {batch} --callers {callers}: too little memory");
        assert_contains(&stderr(&output), &[&message]);
    }
}

#[test]
fn bench_table() {
    let bench = "bench --engine cpu --set 761 --op encaps --seconds 0.001 --batch 3";
    let table = Sandbox::new().succeed(bench);
    assert_contains(&table, &["cpu engine on ", "| 761 | mixed-radix | encaps | single | one "]);
}

#[test]
fn selftest_passes() {
    let report = Sandbox::new().succeed("selftest");
    assert_eq!(report.lines().last(), Some("self-test passed"));
    assert_eq!(report.lines().filter(|line| line.starts_with("ok ")).count(), (6 + 6) * 5);
}

#[test]
fn a_backend_can_be_chosen() {
    let sandbox = Sandbox::new();
    let info = sandbox.succeed("--backend portable info");
    assert_contains(&info, &["backend portable in use, of portable"]);
    assert_contains(&sandbox.succeed("info --backend portable"), &["backend portable in use"]);
    // The option has precedence, before the command and after it.
    for (arguments, variable) in [
        ("info", "portable"),
        ("info --backend portable", "other"),
        ("--backend portable info", "other"),
    ] {
        let output = sandbox.command(arguments).env("CTRU_BACKEND", variable).output().unwrap();
        assert_contains(&stdout(&output), &["backend portable in use"]);
    }
    let bench = "bench --engine cpu --backend portable --set 653 --op encaps --batch 2";
    let table = sandbox.succeed(&format!("{bench} --seconds 0.01"));
    assert_contains(&table, &["(portable)"]);
}

/// Checks that an unknown backend is an error, and that an empty variable is as none.
#[test]
fn unknown_backends_are_refused() {
    let sandbox = Sandbox::new();
    let info = |variable| sandbox.command("info").env("CTRU_BACKEND", variable).output().unwrap();
    for output in [sandbox.run("--backend avx1024 info"), info("avx1024")] {
        assert_eq!(output.status.code(), Some(2));
        let names = "portable, neon, simd128, sse2, avx2 and avx512";
        assert_contains(&stderr(&output), &["avx1024", names]);
    }
    #[cfg(unix)]
    {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let mut info = sandbox.command("info");
        let output = info.env("CTRU_BACKEND", OsStr::from_bytes(b"avx\xff")).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert_contains(&stderr(&output), &["--backend avx\u{fffd}: ", "avx2"]);
    }
    let plain = sandbox.command("info").env_remove("CTRU_BACKEND").output().unwrap();
    assert_eq!(stdout(&info("")), stdout(&plain));
}
