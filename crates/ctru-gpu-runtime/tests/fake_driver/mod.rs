//! Runs tests on a stand-in for the driver (libcuda.c).

mod faults;
mod modules;

use core::ffi::{c_int, c_long};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use libloading::Library;

/// Runs tests of this program on the stand-in, as [`on_a_fake_driver`] does, and checks that they
/// pass and print `says`.
pub(crate) fn pass_on_a_fake_driver(tests: &[&str], how: &str, says: &str) {
    let Some(run) = on_a_fake_driver(tests, how) else { return };
    let (output, errors) =
        (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    println!("{output}");
    assert!(run.status.success() && output.contains(says), "{output}{errors}");
}

/// Runs the test `fake_driver::NAME`, which calls this function, in a process of its own on the
/// stand-in. There, it does `work`.
fn alone(name: &str, how: &str, work: impl FnOnce()) {
    if std::env::var("CTRU_FAKE_DRIVER").as_deref() == Ok(how) {
        return work();
    }
    let test = format!("fake_driver::{name}");
    pass_on_a_fake_driver(&["--exact", &test, "--nocapture"], how, "1 passed");
}

/// What the stand-in says and does beside the driver's functions.
struct StandIn(Library);

impl StandIn {
    fn open() -> Self {
        // SAFETY: this is the library that the crate opens, too.
        Self(unsafe { Library::new("libcuda.so.1") }.unwrap())
    }

    /// Makes `count` calls of the driver fail with a code, after `before` calls. Returns how many
    /// calls there were since this was called last.
    fn fail(&self, before: c_long, count: c_long, code: c_int) -> c_long {
        type Fail = unsafe extern "C" fn(c_long, c_long, c_int) -> c_long;
        // SAFETY: the stand-in defines this function with this type. It may be called at any time.
        unsafe { (self.0.get::<Fail>("ctru_fail").unwrap())(before, count, code) }
    }

    /// Returns how many modules the program has loaded, with one that waits.
    fn loads(&self) -> c_long {
        // SAFETY: the stand-in defines this function with this type. It may be called at any time.
        unsafe { self.0.get::<unsafe extern "C" fn() -> c_long>("ctru_module_loads").unwrap()() }
    }

    /// Makes the loading of modules wait, or go on.
    fn hold(&self, holds: bool) {
        type Hold = unsafe extern "C" fn(c_int);
        // SAFETY: the stand-in defines this function with this type. It may be called at any time.
        unsafe { (self.0.get::<Hold>("ctru_hold_modules").unwrap())(c_int::from(holds)) };
    }
}

/// Runs tests of this program on a stand-in for the driver, which delays every operation as long as
/// a driver may. Returns `None` if this process itself runs on the stand-in, or if the source of
/// the stand-in is missing.
pub(crate) fn on_a_fake_driver(tests: &[&str], how: &str) -> Option<Output> {
    if std::env::var_os("CTRU_FAKE_DRIVER").is_some() {
        return None;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_driver/libcuda.c");
    if !source.exists() {
        println!("skipped: the source of the stand-in for the driver is missing");
        return None;
    }
    let mut run = Command::new(std::env::current_exe().unwrap());
    run.args(tests)
        .env("LD_LIBRARY_PATH", compiled(&source))
        .env("CTRU_FAKE_DRIVER", how)
        .env("CTRU_REQUIRE_GPU", "1");
    Some(run.output().unwrap())
}

/// Compiles the stand-in, once for all tests. Returns the folder of the library.
fn compiled(source: &Path) -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fake_driver");
        std::fs::create_dir_all(&folder).unwrap();
        // Another run of the tests may open the library at this time, so it is replaced as a whole.
        let library = folder.join(format!("{}.so", std::process::id()));
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let arguments = ["-O1", "-shared", "-fPIC", "-pthread", "-o"];
        let mut compile = Command::new(compiler);
        compile.args(arguments).arg(&library).arg(source);
        assert!(compile.status().unwrap().success());
        std::fs::rename(library, folder.join("libcuda.so.1")).unwrap();
        folder
    })
}
