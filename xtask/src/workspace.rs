//! The folders of the workspace.

use std::path::{Path, PathBuf};

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
