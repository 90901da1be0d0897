//! Tests of outputs that are no regular files, and of streams that are closed.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};
use std::thread;

use nix::sys::stat::Mode;
use nix::unistd::{Uid, mkfifo};

use super::files::wait_for;
use super::{Sandbox, assert_contains, stderr};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ctru");
/// The number of a user without rights.
const NOBODY: u32 = 65534;

impl Sandbox {
    /// Runs a script of the shell. `ctru` and the functions `decaps`, which needs the output, are
    /// there.
    fn script(&self, script: &str) -> Output {
        let start = format!(
            "ctru() {{ {PROGRAM} \"$@\"; }}; decaps() {{ ctru decaps -k k -c c --raw -s \"$@\"; }};"
        );
        let mut shell = Command::new("sh");
        shell.current_dir(self.0.path()).args(["-c", &format!("{start} {script}")]);
        shell.output().unwrap()
    }
}

fn assert_success(output: &Output, what: &str) {
    assert!(output.status.success(), "{what}: {}", stderr(output));
}

/// Checks that a link to an open stream stays, and that the output comes where the stream is, after
/// what others have written and before what they write next.
#[cfg(target_os = "linux")]
#[test]
fn links_to_open_streams_are_written_to() {
    let sandbox = Sandbox::with_keys("--raw");
    let secret = sandbox.read("s");
    fs::create_dir(sandbox.path("d")).unwrap();
    let links = [
        ("self", "/proc/self/fd/1"),
        ("thread", "/proc/thread-self/fd/1"),
        ("dev", "/dev/stdout"),
        ("fd", "/dev/fd/1"),
        ("chain", "self"),
        ("relative", "../d/chain"),
    ];
    for (link, target) in links {
        symlink(target, sandbox.path("d").join(link)).unwrap();
    }
    symlink("/proc/self/fd", sandbox.path("folder")).unwrap();
    let names = links.map(|(link, _)| format!("d/{link}"));
    let others = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "folder/1", "-"];
    for name in names.iter().map(String::as_str).chain(others) {
        for force in ["", "--force"] {
            // A file, a file to append to and a pipe.
            for to in ["> out", ">> out", "| cat > out"] {
                sandbox.write("out", "");
                let what = format!("{{ printf 1; decaps {name} {force} && printf 2; }} {to}");
                assert_success(&sandbox.script(&what), &what);
                assert_eq!(sandbox.read("out"), [b"1", &secret[..], b"2"].concat(), "{what}");
            }
        }
    }
    for (link, target) in links {
        let link = sandbox.path("d").join(link);
        assert_eq!(fs::read_link(link).unwrap().to_str(), Some(target));
    }
    assert_eq!(sandbox.names(), ["c", "d", "folder", "k", "k.pub", "out", "s"]);
}

/// Checks streams with other numbers, and those of another process, whose file keeps its contents.
#[cfg(target_os = "linux")]
#[test]
fn other_streams_are_written_to() {
    let sandbox = Sandbox::with_keys("--raw");
    let secret = sandbox.read("s");
    for script in [
        "decaps /dev/stderr 2> out",
        "decaps /proc/self/fd/3 3> out",
        "decaps /dev/fd/9 --force 9>> out",
        "exec 3>> out; decaps /proc/$$/fd/3 --force",
        "ln -s /proc/$$/fd/3 link; exec 3>> out; decaps link --force",
    ] {
        sandbox.write("out", "");
        assert_success(&sandbox.script(script), script);
        assert_eq!(sandbox.read("out"), secret, "{script}");
    }
    for name in ["/dev/fd/77", "/proc/self/fd/77", "dangling"] {
        let _ = symlink("/proc/self/fd/77", sandbox.path("dangling"));
        let output = sandbox.script(&format!("decaps {name} --force"));
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert_contains(&stderr(&output), &[&format!("error: {name}: cannot be written")]);
    }
    assert!(fs::symlink_metadata(sandbox.path("dangling")).unwrap().is_symlink());
    assert_contains(&sandbox.fail("keygen --set 653 --out /dev/stdout"), &["--out"]);
}

/// Checks that pipes, sockets and devices are written to, and are there afterwards.
#[test]
fn special_files_are_written_to() {
    let sandbox = Sandbox::with_keys("--raw");
    let secret = sandbox.read("s");
    mkfifo(&sandbox.path("pipe"), Mode::S_IRWXU).unwrap();
    symlink("pipe", sandbox.path("to-pipe")).unwrap();
    symlink("/dev/null", sandbox.path("to-null")).unwrap();
    for name in ["pipe", "to-pipe"] {
        for force in ["", " --force"] {
            let path = sandbox.path("pipe");
            let reader = thread::spawn(move || fs::read(path).unwrap());
            let decaps = "decaps --key k --ciphertext c --raw --secret";
            sandbox.succeed(&format!("{decaps} {name}{force}"));
            assert_eq!(reader.join().unwrap(), secret);
        }
    }
    let listener = UnixListener::bind(sandbox.path("socket")).unwrap();
    let reader = thread::spawn(move || {
        let mut read = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut read).unwrap();
        read
    });
    sandbox.succeed("decaps --key k --ciphertext c --raw --secret socket");
    assert_eq!(reader.join().unwrap(), secret);
    for name in ["/dev/null", "to-null"] {
        sandbox.succeed(&format!("decaps --key k --ciphertext c --secret {name} --force"));
    }
    let kind = |name: &str| fs::symlink_metadata(sandbox.path(name)).unwrap().file_type();
    assert!(kind("pipe").is_fifo() && kind("socket").is_socket());
    assert!(kind("to-pipe").is_symlink() && kind("to-null").is_symlink());
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());

    // The other file is written before, and the error says so.
    #[cfg(target_os = "linux")]
    {
        let output = sandbox.run("encaps --key k.pub --ciphertext /dev/full --secret t");
        assert_eq!(output.status.code(), Some(1));
        assert_contains(&stderr(&output), &["/dev/full: cannot be written", "all the same: t"]);
    }
}

/// Checks that every command that prints fails if its output was closed when it started. The
/// standard library opens `/dev/null` there.
#[test]
fn a_closed_standard_output_is_an_error() {
    let sandbox = Sandbox::with_keys("--raw");
    sandbox.write("vectors", "");
    for command in [
        "info",
        "--help",
        "--version",
        "encaps --help",
        "check k",
        "kat check --engine cpu vectors",
        "selftest --engine cpu",
        "bench --json --set 653 --op encaps --batch 2 --seconds 0.001",
        "decaps -k k -c c -s -",
        "decaps -k k -c c -s /dev/stdout --force",
        "encaps -k k.pub -c - -s t",
    ] {
        let output = sandbox.script(&format!("ctru {command} >&-"));
        assert_eq!(output.status.code(), Some(1), "{command}: {}", stderr(&output));
        assert_contains(&stderr(&output), &["error: standard output: it is closed"]);
    }
    let output = sandbox.script("decaps /dev/stderr --force 2>&-");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(sandbox.names(), ["c", "k", "k.pub", "s", "vectors"]);

    // What prints nothing needs no output, and a caller may have opened `/dev/null` in any way.
    assert_success(&sandbox.script("ctru keygen --set 653 --out k2 >&- 2>&- <&-"), "keygen");
    for null in ["> /dev/null", "1<> /dev/null", "1<> /dev/null <&-"] {
        assert_success(&sandbox.script(&format!("ctru info {null}")), null);
    }
}

/// Returns the program where a user without rights can start it, and a folder of that user.
fn of_nobody() -> Option<(Sandbox, OsString)> {
    if !Uid::effective().is_root() {
        eprintln!("only root can start the program as another user");
        return None;
    }
    let sandbox = Sandbox::with_keys("--raw");
    let program = sandbox.path("ctru");
    // Not this process: a child of another test could have the copy open for writing, and the
    // system then starts it for nobody.
    assert!(Command::new("cp").arg(PROGRAM).arg(&program).status().unwrap().success());
    for name in sandbox.names() {
        chown(sandbox.path(&name), Some(NOBODY), None).unwrap();
    }
    chown(sandbox.0.path(), Some(NOBODY), None).unwrap();
    fs::set_permissions(sandbox.0.path(), fs::Permissions::from_mode(0o755)).unwrap();
    Some((sandbox, program.into()))
}

/// Checks that a user without rights can write to open streams, although no other process of this
/// user may look at the process.
#[cfg(target_os = "linux")]
#[test]
fn users_without_rights_write_to_open_streams() {
    let Some((sandbox, program)) = of_nobody() else { return };
    let command = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.current_dir(sandbox.0.path()).uid(NOBODY).args(arguments);
        command
    };
    for name in ["/dev/stdout", "/proc/self/fd/1", "/dev/fd/1"] {
        let out = fs::File::create(sandbox.path("out")).unwrap();
        let arguments = ["decaps", "-k", "k", "-c", "c", "--raw", "-s", name];
        let output = command(&arguments).stdout(out).output().unwrap();
        assert_success(&output, name);
        assert_eq!(sandbox.read("out"), sandbox.read("s"), "{name}");
    }
    // The files of a process that may not be dumped belong to root.
    let mut waiting = command(&["check", "-"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
    ctru_tests::processes::has_no_core_dumps(waiting.id());
    let folder = format!("/proc/{}/fd", waiting.id());
    wait_for("the process does not belong to root", || fs::metadata(&folder).unwrap().uid() == 0);
    waiting.kill().unwrap();
    waiting.wait().unwrap();
}

/// Checks that the error names the lock of another user and its owner.
#[test]
fn the_lock_of_another_user_is_named() {
    let Some((sandbox, program)) = of_nobody() else { return };
    sandbox.write(".ctru-lock", "");
    fs::set_permissions(sandbox.path(".ctru-lock"), fs::Permissions::from_mode(0o600)).unwrap();
    let mut keygen = Command::new(program);
    keygen.current_dir(sandbox.0.path()).uid(NOBODY);
    let output = keygen.args(["keygen", "--set", "653", "--out", "k", "--force"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    assert_contains(&message, &["error: ", ".ctru-lock: ", "belongs to ", "user 0"]);
    assert!(fs::metadata(sandbox.path(".ctru-lock")).unwrap().is_file());
}

/// Checks that no name and no argument reaches a terminal with control characters.
#[test]
fn control_characters_are_escaped() {
    let sandbox = Sandbox::new();
    let odd = OsString::from_vec(b"a\x1b[2J\nerror: b\x07\xff".to_vec());
    let shown = "a\\u{1b}[2J\\nerror: b\\u{7}\\xff";
    let odd_text = odd.to_string_lossy().replace('\u{fffd}', "");
    let run = |arguments: &[&OsStr], environment: &str| {
        let mut ctru = Command::new(PROGRAM);
        ctru.current_dir(sandbox.0.path()).env("CTRU_BACKEND", environment).args(arguments);
        ctru.output().unwrap()
    };
    let check = ["check".as_ref(), odd.as_os_str()];
    assert_contains(&stderr(&run(&check, "")), &[&format!("error: {shown}: cannot be read")]);
    fs::write(sandbox.path("").join(&odd), "no key").unwrap();
    assert_contains(&stderr(&run(&check, "")), &[&format!("error: {shown}: 6 bytes")]);
    sandbox.write("records", "{\"n\": \"\u{1b}[2J\", \"\u{9b}x\": 1}\n");
    sandbox.write("label", "-----BEGIN \u{1b}[2J-----\n-----BEGIN RED\u{7f}-----\n");
    let lines: [(&[&str], &str); 6] = [
        (&["kat", "check", "--engine", "cpu", "records"], ""),
        (&["check", "label"], ""),
        (&["report", "--out", "f", "records"], ""),
        (&["keygen", "--set", &odd_text, "--out", "k"], ""),
        (&[&odd_text], ""),
        (&["info"], "\u{1b}[2Jx"),
    ];
    let lines = lines.map(|(line, variable)| (line.iter().map(OsStr::new).collect(), variable));
    for (arguments, environment) in lines.into_iter().chain([(check.to_vec(), "")]) {
        let output = run(&arguments, environment);
        assert_ne!(output.status.code(), Some(0), "{arguments:?}");
        for bytes in [&output.stdout, &output.stderr] {
            let text = String::from_utf8(bytes.clone()).unwrap();
            let is_odd = |letter: char| letter.is_control() && letter != '\n';
            assert!(!text.contains(is_odd), "{text:?}");
            assert!(!text.contains("\nerror: b"), "{text:?}");
        }
    }
}
