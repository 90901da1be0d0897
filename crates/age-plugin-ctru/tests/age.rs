//! Encrypts and decrypts files with clients of age, which start the plugin: the library of `rage`
//! (`examples/age_client.rs`), and the programs `age` and `rage` if they are there.

// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use bech32::{FromBase32, ToBase32, Variant};
use tempfile::TempDir;

const PLUGIN: &str = env!("CARGO_BIN_EXE_age-plugin-ctru");
const SETS: [(&str, u8, usize); 3] = [("653", 1, 1026), ("761", 2, 1190), ("1277", 3, 2099)];

/// An identity as the program prints it.
struct Identity {
    text: String,
}

impl Identity {
    fn new(set: &str) -> Self {
        let output = Command::new(PLUGIN).args(["--set", set]).output().unwrap();
        assert!(output.status.success());
        Self { text: String::from_utf8(output.stdout).unwrap() }
    }

    fn recipient(&self) -> &str {
        self.text.lines().find_map(|line| line.strip_prefix("# recipient: ")).unwrap()
    }

    fn identity(&self) -> &str {
        self.text.lines().last().unwrap()
    }
}

/// A folder with files.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    /// Returns a command that runs in this folder and finds the plugin.
    fn command(&self, program: &Path) -> Command {
        let mut path = OsString::from(Path::new(PLUGIN).parent().unwrap());
        path.push(":");
        path.push(env::var_os("PATH").unwrap_or_default());
        let mut command = Command::new(program);
        command.current_dir(self.0.path()).env("PATH", path);
        command
    }

    fn client(&self, arguments: &[&str]) -> Output {
        let client = Path::new(PLUGIN).with_file_name("examples").join("age_client");
        self.command(&client).args(arguments).output().unwrap()
    }

    /// Runs the client, which must succeed.
    fn succeed(&self, arguments: &[&str]) {
        let output = self.client(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs the client, which must fail without a panic. Returns its message.
    fn fail(&self, arguments: &[&str]) -> String {
        let output = self.client(arguments);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(!message.contains("panicked"), "{message}");
        message
    }
}

#[test]
fn identities_and_recipients_have_their_form() {
    let decode = |text: &str| {
        let (prefix, data, _) = bech32::decode(text).unwrap();
        (prefix, Vec::from_base32(&data).unwrap())
    };
    for (set, number, length) in SETS {
        let identity = Identity::new(set);
        let (prefix, bytes) = decode(identity.recipient());
        assert_eq!((&prefix[..], bytes[0], bytes.len()), ("age1ctru", number, 1 + length));
        assert!(identity.identity().starts_with("AGE-PLUGIN-CTRU-1"));
        let (prefix, bytes) = decode(&identity.identity().to_lowercase());
        assert_eq!((&prefix[..], bytes[0], bytes.len()), ("age-plugin-ctru-", number, 33));
        assert_ne!(Identity::new(set).text, identity.text);
    }
}

/// Checks that an error has the status 1 and is one line that begins with `error: `.
fn assert_error(output: &Output, text: &str) {
    let message = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.starts_with("error: ") && message.lines().count() == 1, "{message}");
    assert!(message.contains(text), "{message}");
}

#[test]
#[cfg(target_os = "linux")]
fn an_identity_that_cannot_be_written_is_an_error() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(PLUGIN).stdout(full).output().unwrap();
    assert_error(&output, "standard output: ");
}

#[test]
fn identities_go_to_new_files() {
    let folder = Folder::new();
    for (option, name) in [("-o", "a"), ("--output", "b")] {
        let arguments = [option, name, "--set", "653"];
        let output = folder.command(Path::new(PLUGIN)).args(arguments).output().unwrap();
        assert!(output.status.success() && output.stdout.is_empty());
        assert!(output.stderr.is_empty());
        #[cfg(unix)]
        assert_eq!(fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o7777, 0o600);
        let identity = Identity { text: String::from_utf8(folder.read(name)).unwrap() };
        folder.write("plain", "for a file");
        folder.succeed(&["encrypt", "plain", "file", identity.recipient()]);
        folder.succeed(&["decrypt", "file", "again", identity.identity()]);
        assert_eq!(folder.read("again"), b"for a file");

        let output = folder.command(Path::new(PLUGIN)).args(arguments).output().unwrap();
        assert_error(&output, &format!("error: {name}: "));
        assert_eq!(folder.read(name), identity.text.as_bytes());
    }
}

#[test]
#[cfg(unix)]
fn identities_in_files_that_others_may_read_give_a_warning() {
    let folder = Folder::new();
    for (mode, warned) in [(0o600, false), (0o640, true), (0o604, true)] {
        let name = format!("{mode:o}");
        folder.write(&name, "");
        fs::set_permissions(folder.path(&name), fs::Permissions::from_mode(mode)).unwrap();
        let file = fs::OpenOptions::new().write(true).open(folder.path(&name)).unwrap();
        let output = Command::new(PLUGIN).stdout(file).output().unwrap();
        assert!(output.status.success());
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(message.starts_with("warning: "), warned, "{name}: {message}");
        assert!(folder.read(&name).starts_with(b"# created: "));
    }
    // A pipe is no file.
    assert!(Command::new(PLUGIN).output().unwrap().stderr.is_empty());
}

/// Checks the process of the plugin, which waits for its client.
#[test]
#[cfg(target_os = "linux")]
fn the_process_has_no_core_dumps() {
    let mut plugin = Command::new(PLUGIN);
    plugin.arg("--age-plugin=identity-v1").stdin(Stdio::piped()).stderr(Stdio::null());
    let mut plugin = plugin.spawn().unwrap();
    ctru_tests::processes::has_no_core_dumps(plugin.id());
    drop(plugin.stdin.take());
    plugin.wait().unwrap();
}

#[test]
fn unknown_state_machines_are_errors() {
    let output = Command::new(PLUGIN).arg("--age-plugin=future-v9").output().unwrap();
    assert_error(&output, "unknown plugin state machine");
    assert!(output.stdout.is_empty());
    let output = Command::new(PLUGIN).arg("--set=762").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn files_round_trip() {
    let folder = Folder::new();
    for (set, ..) in SETS {
        let identity = Identity::new(set);
        // One large file is enough, because its size does not depend on the set.
        let largest = if set == "761" { 100_000_000 } else { 65_537 };
        for size in [0, 1, 65_536, largest] {
            let content: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
            folder.write("plain", &content);
            folder.succeed(&["encrypt", "plain", "file", identity.recipient()]);
            let file = folder.read("file");
            let stanza = format!("-> ctru-prime-x25519 {set}\n");
            assert!(file.windows(stanza.len()).take(4000).any(|at| at == stanza.as_bytes()));
            folder.succeed(&["decrypt", "file", "again", identity.identity()]);
            assert!(folder.read("again") == content, "{size} bytes");
        }
    }
}

#[test]
fn several_recipients() {
    let folder = Folder::new();
    let identities = SETS.map(|(set, ..)| Identity::new(set));
    let [a, b, c] = identities.each_ref().map(Identity::recipient);
    folder.write("plain", "for three");
    folder.succeed(&["encrypt", "plain", "file", a, b, c]);
    for identity in &identities {
        folder.succeed(&["decrypt", "file", "again", identity.identity()]);
        assert_eq!(folder.read("again"), b"for three");
    }
}

#[test]
fn wrong_identities_and_damaged_files_fail() {
    let folder = Folder::new();
    let identity = Identity::new("761");
    folder.write("plain", vec![7; 1000]);
    folder.succeed(&["encrypt", "plain", "file", identity.recipient()]);
    for (set, ..) in SETS {
        folder.fail(&["decrypt", "file", "again", Identity::new(set).identity()]);
    }
    let file = folder.read("file");
    for length in (0..file.len()).step_by(file.len() / 16).chain([file.len() - 1]) {
        folder.write("cut", &file[..length]);
        folder.fail(&["decrypt", "cut", "again", identity.identity()]);
    }
    for byte in (0..file.len()).step_by(file.len() / 48).chain([file.len() - 1]) {
        let mut flipped = file.clone();
        flipped[byte] ^= 4;
        folder.write("flipped", flipped);
        folder.fail(&["decrypt", "flipped", "again", identity.identity()]);
    }
    // The bytes of a recipient whose key is refused.
    let zeros = [&[2][..], &[0; 1190]].concat().to_base32();
    let zeros = bech32::encode("age1ctru", zeros, Variant::Bech32).unwrap();
    let message = folder.fail(&["encrypt", "plain", "again", &zeros]);
    assert!(message.contains("the polynomial is zero"), "{message}");
}

#[test]
fn identities_that_are_not_bound_to_a_set_are_refused() {
    let folder = Folder::new();
    let identity = Identity::new("761");
    folder.write("plain", "for nobody");
    folder.succeed(&["encrypt", "plain", "file", identity.recipient()]);
    let old = [&[2][..], &[7; 96]].concat().to_base32();
    let old = bech32::encode("age-plugin-ctru-", old, Variant::Bech32).unwrap().to_uppercase();
    let message = folder.fail(&["decrypt", "file", "again", &old]);
    assert!(message.contains("before 2026-11") && message.contains("make a new key"), "{message}");
}

/// The programs that other people encrypt files with.
const PROGRAMS: [&str; 2] = ["age", "rage"];

impl Folder {
    /// Runs a program of [`PROGRAMS`].
    fn program(&self, name: &str, arguments: &[&str]) -> io::Result<Output> {
        self.command(Path::new(name)).args(arguments).output()
    }
}

/// Returns the programs that the machine has, and for each whether it knows labels, so that it
/// encrypts files. Those that the variable `AGE_PROGRAMS` names must be there and must know labels.
fn programs(folder: &Folder) -> Vec<(&'static str, bool)> {
    let wanted = env::var("AGE_PROGRAMS").unwrap_or_default();
    assert!(wanted.split_whitespace().all(|name| PROGRAMS.contains(&name)), "{wanted}");
    let identity = Identity::new("653");
    folder.write("plain", "");
    let encrypt = ["-r", identity.recipient(), "-o", "empty", "plain"];
    let mut found = Vec::new();
    for name in PROGRAMS {
        let is_wanted = wanted.split_whitespace().any(|wanted| wanted == name);
        match folder.program(name, &encrypt) {
            Ok(output) => {
                let message = String::from_utf8_lossy(&output.stderr);
                let labels = !message.contains("client does not support them");
                assert!(labels || !is_wanted, "{name} does not know labels");
                found.push((name, labels));
            }
            Err(error) => {
                assert!(!is_wanted, "{name}: {error}");
                eprintln!("there is no {name}, so it reads and writes no file");
            }
        }
    }
    found
}

/// Checks that the library of `rage` and the programs that are there decrypt what each of them has
/// encrypted.
#[test]
fn age_and_rage_understand_each_other() {
    let folder = Folder::new();
    let programs = programs(&folder);
    for (set, ..) in SETS {
        let (identity, other) = (Identity::new(set), Identity::new(set));
        folder.write("identity", &identity.text);
        folder.write("other", &other.text);
        for content in [&b""[..], b"between programs", &[7; 100_000]] {
            folder.write("plain", content);
            folder.succeed(&["encrypt", "plain", "of library", identity.recipient()]);
            let mut files = vec!["of library".to_owned()];
            for (name, _) in programs.iter().filter(|(_, labels)| *labels) {
                let file = format!("of {name}");
                let encrypt = ["-r", identity.recipient(), "-o", &file, "plain"];
                let output = folder.program(name, &encrypt).unwrap();
                let message = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{name}: {message}");
                files.push(file);
            }
            for file in &files {
                folder.succeed(&["decrypt", file, "again", identity.identity()]);
                assert_eq!(folder.read("again"), content, "{file}");
                for (name, _) in &programs {
                    let output = folder.program(name, &["-d", "-i", "identity", file]).unwrap();
                    let message = String::from_utf8_lossy(&output.stderr);
                    assert!(output.status.success(), "{name}, {file}: {message}");
                    assert_eq!(output.stdout, content, "{name}, {file}");
                    let output = folder.program(name, &["-d", "-i", "other", file]).unwrap();
                    assert!(!output.status.success() && output.stdout.is_empty(), "{name}, {file}");
                }
            }
        }
    }
}

/// Checks that no program adds a recipient that quantum computers would break.
#[test]
fn programs_do_not_mix_recipients() {
    let folder = Folder::new();
    let identity = Identity::new("761");
    let x25519 = bech32::encode("age", [9; 32].to_base32(), Variant::Bech32).unwrap();
    folder.write("plain", "for one recipient");
    for (name, _) in programs(&folder) {
        let alone = folder.program(name, &["-r", &x25519, "plain"]).unwrap();
        assert!(alone.status.success(), "{name}");
        for recipients in [[identity.recipient(), &x25519], [&x25519, identity.recipient()]] {
            let encrypt = ["-r", recipients[0], "-r", recipients[1], "plain"];
            let output = folder.program(name, &encrypt).unwrap();
            assert!(!output.status.success() && output.stdout.is_empty(), "{name}");
        }
    }
}
