//! The folders of the workspace, and what cargo says of a workspace.

use std::path::{Path, PathBuf};
use std::process::Command;

use ptx_check::tools;
use serde::Deserialize;

use crate::{Error, Result};

/// Returns the root of the workspace.
#[must_use]
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_owned()
}

/// Returns the folder for files that are not committed: `CARGO_TARGET_DIR`, or `target` in the
/// workspace.
#[must_use]
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(target) => root().join(target),
        None => root().join("target"),
    }
}

/// Returns a command for the cargo that runs this program.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The output of `cargo metadata`.
#[derive(Debug, Deserialize)]
pub struct Metadata {
    /// The packages of the workspace.
    pub packages: Vec<Package>,
    /// The folder of the compiler's results.
    pub target_directory: PathBuf,
    /// The folder of the workspace.
    pub workspace_root: PathBuf,
}

/// A package of a workspace.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Package {
    /// The name of the package.
    pub name: String,
    /// Its `Cargo.toml`.
    pub manifest_path: PathBuf,
    /// The registries that take it: none at all, or any.
    pub publish: Option<Vec<String>>,
    /// What its `Cargo.toml` says for other programs than cargo.
    pub metadata: serde_json::Value,
    /// What it depends on.
    pub dependencies: Vec<Dependency>,
    /// Its libraries, programs and tests.
    pub targets: Vec<Target>,
}

/// A dependency of any kind: for builds, tests or the package itself.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Dependency {
    /// The name of the package that is needed.
    pub name: String,
    /// Its folder, if it is in this workspace.
    pub path: Option<PathBuf>,
    /// `dev` for tests, `build` for build scripts.
    pub kind: Option<String>,
    /// Whether a feature asks for it.
    pub optional: bool,
}

/// A library, a program or a test of a package.
#[derive(Clone, Debug, Deserialize)]
pub struct Target {
    /// The name of the target.
    pub name: String,
    /// What it is, such as `lib` or `bin`.
    pub kind: Vec<String>,
    /// The file of its root.
    pub src_path: PathBuf,
}

impl Metadata {
    /// Returns what cargo says of the workspace of the package whose `Cargo.toml` is `manifest`.
    ///
    /// # Errors
    /// If cargo fails.
    pub fn read(manifest: &Path) -> Result<Self> {
        let mut command = cargo();
        command.args(["metadata", "--no-deps", "--format-version=1", "--manifest-path"]);
        let what = format!("the output of cargo metadata for {}", manifest.display());
        serde_json::from_str(&tools::text(command.arg(manifest))?)
            .map_err(|source| Error::Json { what, source })
    }
}
