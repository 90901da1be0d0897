//! Runs tests on a stand-in for the driver (libcuda.c).

mod faults;
mod modules;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Runs tests of this program on the stand-in, as [`on_a_fake_driver`] does, and checks that they
/// pass and print `says`.
pub(crate) fn pass_on_a_fake_driver(tests: &[&str], how: &str, says: &str) {
    let Some(run) = on_a_fake_driver(tests, how) else { return };
    let (output, errors) =
        (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    println!("{output}");
    assert!(run.status.success() && output.contains(says), "{output}{errors}");
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
