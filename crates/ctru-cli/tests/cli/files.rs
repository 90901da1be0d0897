//! Tests how the program replaces files, files with two names, and interruptions.

use std::fs;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigHandler, Signal, kill, signal as handle};
use nix::unistd::Pid;

use super::{Sandbox, assert_contains, stderr};

impl Sandbox {
    /// Returns a command that ends on each deadly signal. A command inherits the signals that its
    /// parent ignores, and a shell ignores SIGINT for commands in the background. Therefore, the
    /// closure restores the default actions.
    #[allow(unsafe_code)]
    fn mortal(&self, arguments: &str) -> Command {
        let mut command = self.command(arguments);
        // SAFETY: between fork and exec, the closure calls only `signal`, which is allowed there.
        // No Rust function is installed as a handler.
        unsafe {
            command.pre_exec(|| {
                for deadly in DEADLY {
                    handle(deadly, SigHandler::SigDfl)?;
                }
                Ok(())
            });
        }
        command
    }

    /// Runs a command that must fail without a change to any file.
    fn refuse(&self, arguments: &str, message: &str) {
        let contents = || {
            let files = self.names().into_iter().filter(|name| self.path(name).is_file());
            files.map(|name| (self.read(&name), name)).collect::<Vec<_>>()
        };
        let before = contents();
        assert_contains(&self.fail(arguments), &[message]);
        assert_eq!(contents(), before, "{arguments}");
    }
}

/// Checks that each command refuses two outputs with the same name in different spellings.
#[test]
fn one_file_is_not_named_for_two_outputs() {
    let sandbox = Sandbox::with_keys("");
    fs::create_dir(sandbox.path("d")).unwrap();
    symlink("d", sandbox.path("l")).unwrap();
    sandbox.write("old", "old");
    fs::hard_link(sandbox.path("old"), sandbox.path("hard")).unwrap();
    symlink("old", sandbox.path("soft")).unwrap();
    for (one, other) in [
        ("x", "./x"),
        ("d/../x", "x"),
        ("x", "l/../x"),
        ("d/x", "l/x"),
        ("old", "d/../old"),
        ("old", "hard"),
        ("soft", "old"),
    ] {
        let outputs = format!("--ciphertext {one} --secret {other}");
        let message = format!("{other}: named for two outputs");
        sandbox.refuse(&format!("encaps --key k.pub {outputs} --force"), &message);
    }
    symlink("k2", sandbox.path("k2.pub")).unwrap();
    sandbox.write("k2", "old");
    sandbox.refuse("keygen --set 653 --out k2 --force", "k2.pub: named for two outputs");
}

/// Checks that a command does not replace a file that it has read.
#[test]
fn an_input_is_not_replaced_by_an_output() {
    let sandbox = Sandbox::with_keys("");
    fs::create_dir(sandbox.path("d")).unwrap();
    fs::hard_link(sandbox.path("k"), sandbox.path("hard")).unwrap();
    symlink("c", sandbox.path("soft")).unwrap();
    for (arguments, file) in [
        ("decaps --key k --ciphertext c --secret k", "k"),
        ("decaps --key k --ciphertext c --secret d/../c", "d/../c"),
        ("decaps --key k --ciphertext c --secret hard", "hard"),
        ("decaps --key k --ciphertext soft --secret c", "c"),
        ("encaps --key k.pub --ciphertext ./k.pub --secret t", "./k.pub"),
        ("encaps --key k.pub --ciphertext t --secret k.pub", "k.pub"),
    ] {
        let message = format!("{file}: named for an input and an output");
        sandbox.refuse(&format!("{arguments} --force"), &message);
        sandbox.refuse(arguments, &message);
    }
}

/// Checks that a command does not replace the files to which standard input and output are
/// redirected.
#[test]
fn redirected_files_are_not_replaced() {
    let sandbox = Sandbox::with_keys("");
    let output = sandbox.run_on("k", "decaps --key - --ciphertext c --secret k --force");
    assert_eq!(output.status.code(), Some(1));
    assert_contains(&stderr(&output), &["k: named for an input and an output"]);

    let mut encaps = sandbox.command("encaps --key k.pub --ciphertext - --secret x --force");
    let redirected = fs::File::create(sandbox.path("x")).unwrap();
    let output = encaps.stdout(redirected).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "the ciphertext is lost");
    assert_contains(&stderr(&output), &["x: named for two outputs"]);
}

/// Checks that `--force` replaces a link to a regular file and a link to nothing, but no link to a
/// folder or itself. What a link leads to stays as it was.
#[test]
fn links_are_replaced_only_if_they_lead_to_regular_files() {
    let sandbox = Sandbox::with_keys("");
    fs::create_dir(sandbox.path("d")).unwrap();
    let decaps = "decaps --key k --ciphertext c --force --secret";
    for (link, target, message) in [
        ("folder", "d", "folder: is not a regular file or a link to one"),
        ("loop", "loop", "loop: cannot be written"),
    ] {
        symlink(target, sandbox.path(link)).unwrap();
        sandbox.refuse(&format!("{decaps} {link}"), message);
        sandbox.refuse(&format!("keygen --set 653 --force --out {link}"), message);
        assert_eq!(fs::read_link(sandbox.path(link)).unwrap().to_str(), Some(target));
    }
    sandbox.write("old", "old");
    for (link, target) in [("to-file", "old"), ("to-nothing", "missing")] {
        symlink(target, sandbox.path(link)).unwrap();
        sandbox.succeed(&format!("{decaps} {link}"));
        assert!(fs::symlink_metadata(sandbox.path(link)).unwrap().is_file(), "{link}");
        assert_eq!(sandbox.read(link), sandbox.read("s"));
    }
    assert_eq!(sandbox.read("old"), b"old");
    assert!(!sandbox.path("missing").exists());
}

/// Checks that the name of a file always denotes the old or the new file while it is replaced.
#[test]
fn a_replaced_file_always_has_its_name() {
    let sandbox = Sandbox::with_keys("");
    let done = AtomicBool::new(false);
    let watched = ["k", "k.pub"].map(|name| sandbox.path(name));
    let missing = thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut missing = 0;
            while !done.load(Ordering::Relaxed) {
                missing += watched.iter().filter(|path| fs::metadata(path).is_err()).count();
            }
            missing
        });
        for _ in 0..200 {
            sandbox.succeed("keygen --set 653 --out k --force");
        }
        done.store(true, Ordering::Relaxed);
        watcher.join().unwrap()
    });
    assert_eq!(missing, 0, "a file had lost its name");
    assert_eq!(sandbox.names(), ["c", "k", "k.pub", "s"]);
}

/// Checks that several programs that replace one pair of keys leave a private key and a public key
/// that belong together.
#[test]
fn pairs_are_replaced_by_one_program_at_a_time() {
    let sandbox = Sandbox::new();
    sandbox.succeed("keygen --set 653 --out k");
    for round in 0..60 {
        let start = || sandbox.command("keygen --set 653 --out k --force").spawn().unwrap();
        let children: Vec<Child> = (0..4).map(|_| start()).collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        sandbox.succeed("encaps --key k.pub --ciphertext c --secret s --force");
        sandbox.succeed("decaps --key k --ciphertext c --secret t --force");
        assert_eq!(sandbox.read("s"), sandbox.read("t"), "round {round}");
        assert_eq!(sandbox.names(), ["c", "k", "k.pub", "s", "t"]);
    }
}

/// Checks that outputs in two folders need no particular order.
#[test]
fn outputs_in_two_folders_are_replaced() {
    let sandbox = Sandbox::with_keys("");
    for folder in ["a", "b"] {
        fs::create_dir(sandbox.path(folder)).unwrap();
    }
    let start = |ciphertext, secret| {
        let outputs = format!("--ciphertext {ciphertext} --secret {secret}");
        sandbox.command(&format!("encaps --key k.pub {outputs} --force")).spawn().unwrap()
    };
    for _ in 0..20 {
        for mut child in [start("a/x", "b/x"), start("b/y", "a/y"), start("a/z", "./a/w")] {
            assert!(child.wait().unwrap().success());
        }
    }
    for folder in ["a", "b"] {
        let entries = fs::read_dir(sandbox.path(folder)).unwrap();
        let hidden = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with('.');
        assert_eq!(entries.filter(|entry| hidden(&entry.as_ref().unwrap().file_name())).count(), 0);
    }
}

/// Returns a pipe that accepts no further byte until somebody reads it.
pub(crate) fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    #[cfg(target_os = "linux")]
    let capacity = nix::fcntl::fcntl(&writer, nix::fcntl::F_GETPIPE_SZ).unwrap() as usize;
    #[cfg(not(target_os = "linux"))]
    let capacity = 64 * 1024;
    writer.write_all(&vec![0; capacity]).unwrap();
    (reader, writer)
}

pub(crate) fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
}

const DEADLY: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// Checks that the file of the secret has its name before the ciphertext goes to standard output,
/// so that no ciphertext is sent without its secret.
#[test]
fn files_are_published_before_standard_output() {
    let sandbox = Sandbox::with_keys("");
    let (mut reader, writer) = full_pipe();
    let mut encaps = sandbox
        .command("encaps --key k.pub --ciphertext - --secret t")
        .stdout(writer)
        .spawn()
        .unwrap();
    wait_for("t has no name while the program writes to standard output", || {
        sandbox.names().contains(&"t".to_owned())
    });
    let mut output = Vec::new();
    reader.read_to_end(&mut output).unwrap();
    assert!(encaps.wait().unwrap().success());
    let start = output.iter().position(|&byte| byte != 0).unwrap();
    sandbox.write("c2", &output[start..]);
    sandbox.succeed("decaps --key k --ciphertext c2 --secret t2");
    assert_eq!(sandbox.read("t"), sandbox.read("t2"));
}

/// Checks that a signal leaves no temporary file while the program waits for a reader or a writer.
#[test]
fn signals_to_a_waiting_program_leave_no_temporary_files() {
    for deadly in DEADLY {
        let sandbox = Sandbox::with_keys("");
        let (_reader, writer) = full_pipe();
        let mut writing = sandbox
            .mortal("encaps --key k.pub --ciphertext - --secret t")
            .stdout(writer)
            .spawn()
            .unwrap();
        wait_for("nothing was written", || sandbox.names().len() > 4);
        let mut reading = sandbox
            .mortal("decaps --key k --ciphertext - --secret u")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(100));
        for child in [&mut writing, &mut reading] {
            signal(child, deadly);
            assert_eq!(child.wait().unwrap().signal(), Some(deadly as i32));
        }
        assert_eq!(sandbox.names(), ["c", "k", "k.pub", "s", "t"]);
    }
}

/// Checks that a signal at any other moment leaves all of the files or none, and no temporary
/// files.
#[test]
fn signals_at_any_moment_leave_no_temporary_files() {
    let sandbox = Sandbox::new();
    for attempt in 0..300_u32 {
        let mut keygen = sandbox.mortal("keygen --set 653 --out k").spawn().unwrap();
        thread::sleep(Duration::from_micros(u64::from(attempt) * 40));
        signal(&keygen, DEADLY[attempt as usize % 3]);
        keygen.wait().unwrap();
        let names = sandbox.names();
        assert!(names.is_empty() || names == ["k", "k.pub"], "{names:?}");
        for name in names {
            fs::remove_file(sandbox.path(&name)).unwrap();
        }
    }
}

/// Checks that the program still ignores a signal that the caller ignores, as `nohup` does.
#[test]
fn ignored_signals_stay_ignored() {
    let sandbox = Sandbox::with_keys("");
    let script = format!(
        "trap '' HUP; echo; exec {} decaps --key k --ciphertext - --secret u",
        env!("CARGO_BIN_EXE_ctru")
    );
    let mut decaps = Command::new("sh")
        .current_dir(sandbox.0.path())
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The shell ignores the signal by now, and soon becomes the program.
    decaps.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    thread::sleep(Duration::from_millis(100));
    signal(&decaps, Signal::SIGHUP);
    decaps.stdin.take().unwrap().write_all(&sandbox.read("c")).unwrap();
    assert!(decaps.wait().unwrap().success());
    assert_eq!(sandbox.read("u"), sandbox.read("s"));
}

#[test]
fn readers_of_a_private_key_are_warned_of() {
    let sandbox = Sandbox::with_keys("");
    let set_mode = |mode| {
        fs::set_permissions(sandbox.path("k"), fs::Permissions::from_mode(mode)).unwrap();
    };
    let decaps = "decaps --key k --ciphertext c --secret - ";
    assert_eq!(stderr(&sandbox.run(decaps)), "");
    for (mode, shown) in [(0o644, "0644"), (0o640, "0640"), (0o602, "0602")] {
        set_mode(mode);
        let output = sandbox.run(decaps);
        assert!(output.status.success());
        let warning = stderr(&output);
        assert_eq!(warning.lines().count(), 1, "{warning}");
        assert_contains(&warning, &["warning: k: ", shown, "mode 0600 closes it"]);
    }
    // There is no warning for standard input, which has no mode.
    let output = sandbox.run_on("k", "decaps --key - --ciphertext c --secret -");
    assert!(output.status.success() && output.stderr.is_empty());
}
