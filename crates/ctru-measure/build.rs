//! Passes the commit of the sources to the compiler, as `CTRU_COMMIT`, for the records.

use std::path::{Path, PathBuf};
use std::process::Command;

/// This package and those that it may use. A change in them compiles it again anyway.
const SOURCES: [&str; 6] = [
    "crates/ctru-math",
    "crates/ctru-simt",
    "crates/ctru-gpu-kernels",
    "crates/ctru-gpu-runtime",
    "crates/ctru-kem",
    "crates/ctru-measure",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let workspace = package.join("../..");
    // A copy that lies inside the checkout of another project, such as one of `cargo vendor`, must
    // not name that project's commit.
    if !package.ends_with("crates/ctru-measure") || !workspace.join(".git").exists() {
        return;
    }
    // Git appends to this log whenever `HEAD` comes to denote another commit.
    if let Some(log) = git(&workspace, &["rev-parse", "--git-path", "logs/HEAD"]) {
        let log: PathBuf = workspace.join(log);
        if log.exists() {
            println!("cargo::rerun-if-changed={}", log.display());
        }
    }
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", workspace.join(source).display());
    }
    let status = [&["--no-optional-locks", "status", "--porcelain", "--"], &SOURCES[..]].concat();
    if let Some(commit) = git(&workspace, &["rev-parse", "--short=12", "HEAD"])
        && let Some(changes) = git(&workspace, &status)
    {
        let changed = if changes.is_empty() { "" } else { "-dirty" };
        println!("cargo::rustc-env=CTRU_COMMIT={commit}{changed}");
    }
}

/// Returns the output of git, if git is installed and succeeds.
fn git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(directory).args(arguments).output().ok()?;
    let answer = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| answer.trim().to_owned())
}
