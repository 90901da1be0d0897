//! Hashes of the sources that the PTX is compiled from.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::{IoContext, Result};

/// The sources of the PTX: for each package, its files and folders below the root of the
/// workspace.
///
/// The emulator and the module that embeds the PTX are left out, because the device code does not
/// contain them. The `Cargo.toml` of the workspace is left out, because the lock file of the device
/// crate fixes the versions.
const PACKAGES: &[(&str, &[&str])] = &[
    ("ctru-math", &["crates/ctru-math/Cargo.toml", "crates/ctru-math/src"]),
    (
        "ctru-simt",
        &[
            "crates/ctru-simt/Cargo.toml",
            "crates/ctru-simt/src/descriptor",
            "crates/ctru-simt/src/gpu",
            "crates/ctru-simt/src/lib.rs",
            "crates/ctru-simt/src/macros.rs",
            "crates/ctru-simt/src/scalar.rs",
            "crates/ctru-simt/src/simt.rs",
        ],
    ),
    (
        "ctru-gpu-kernels",
        &[
            "crates/ctru-gpu-kernels/Cargo.toml",
            "crates/ctru-gpu-kernels/src/descriptor.rs",
            "crates/ctru-gpu-kernels/src/kernels",
            "crates/ctru-gpu-kernels/src/table.rs",
        ],
    ),
    ("kernels-rs", &["kernels-rs/Cargo.toml", "kernels-rs/Cargo.lock", "kernels-rs/src"]),
];

/// Returns the SHA-256 of each package's sources in the workspace at `root`.
pub fn hashes(root: &Path) -> Result<BTreeMap<String, String>> {
    let hash = |&(package, paths): &(&str, &[&str])| Ok((package.to_owned(), hash(root, paths)?));
    PACKAGES.iter().map(hash).collect()
}

/// Returns the SHA-256 of `bytes` in hexadecimal digits.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    const_hex::encode(Sha256::digest(bytes))
}

/// Returns the SHA-256 of the names, lengths and contents of all files in `paths`.
fn hash(root: &Path, paths: &[&str]) -> Result<String> {
    let files = paths.iter().map(|path| files(&root.join(path))).collect::<Result<Vec<_>>>()?;
    let mut hash = Sha256::new();
    for file in files.concat() {
        // On Windows, git may check files out with \r\n, which must not change the hash.
        let text = fs::read_to_string(&file).at("read", &file)?.replace("\r\n", "\n");
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        hash.update(format!("{name}\n{}\n{text}", text.len()));
    }
    Ok(const_hex::encode(hash.finalize()))
}

/// Returns `path`, or all files below it in the order of their names.
pub(crate) fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries =
        fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>).at("read", path)?;
    let mut paths: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.sort_unstable();
    Ok(paths.iter().map(|path| files(path)).collect::<Result<Vec<_>>>()?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_like_everybody() {
        assert_eq!(sha256(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }

    #[test]
    fn does_not_depend_on_line_ends_or_place() {
        let hash_of = |text: &str| {
            let root = tempfile::tempdir().unwrap();
            fs::create_dir(root.path().join("src")).unwrap();
            fs::write(root.path().join("src/lib.rs"), text).unwrap();
            hash(root.path(), &["src"]).unwrap()
        };
        assert_eq!(hash_of("a\nb\n"), hash_of("a\r\nb\r\n"));
        assert_ne!(hash_of("a\nb\n"), hash_of("a\nc\n"));
    }
}
