//! Tests that the manifest of the committed PTX detects changes, on a copy of the sources.
// A failure in a helper is a failed test.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use ptx_check::flow::program::Objects;
use tempfile::TempDir;
use xtask::declared::public_arrays;
use xtask::families;
use xtask::manifest::{self, Manifest, Origin};
use xtask::ptx::{divides, entries, faults, is_check, parse};
use xtask::workspace;

/// Copies all files that the manifest covers, and writes a manifest that fits the copy.
fn copy() -> TempDir {
    let (root, copy) = (workspace::root(), TempDir::new().unwrap());
    for package in ["crates/ctru-math", "crates/ctru-simt", "crates/ctru-gpu-kernels", "kernels-rs"]
    {
        copy_tree(&root.join(package), &copy.path().join(package));
    }
    let path = manifest::path(copy.path());
    let committed = Manifest::read(&path).unwrap();
    let origin = Origin::of_kem(copy.path()).unwrap();
    let manifest = Manifest::new(&ptx(copy.path()), &committed.compiler(), origin).unwrap();
    manifest.write(&path).unwrap();
    copy
}

fn copy_tree(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::copy(from, to).unwrap();
    } else if from.file_name() != Some("target".as_ref()) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copy_tree(&entry.path(), &to.join(entry.file_name()));
        }
    }
}

fn ptx(root: &Path) -> String {
    families::read(&manifest::folder(root)).unwrap()
}

fn differences(root: &Path) -> Vec<String> {
    let manifest = Manifest::read(&manifest::path(root)).unwrap();
    manifest.differences(&ptx(root), Origin::of_kem(root).unwrap()).unwrap()
}

/// Returns the differences that the manifest detects after `text` is added to `file`.
fn differences_after(file: &str, text: &str) -> Vec<String> {
    let copy = copy();
    assert_eq!(differences(copy.path()), [""; 0]);
    let path = copy.path().join(file);
    fs::write(&path, fs::read_to_string(&path).unwrap() + text).unwrap();
    differences(copy.path())
}

#[test]
fn the_committed_ptx_has_no_faults() {
    assert_eq!(faults(&parse(&ptx(&workspace::root())).unwrap()), []);
}

#[test]
fn exceptions_fit_one_kernel_of_the_kem() {
    let text = ptx(&workspace::root());
    let is_excepted =
        |kernel: &&str| divides(kernel) || is_check(kernel) || !public_arrays(kernel).is_empty();
    let module = parse(&text).unwrap();
    let excepted: Vec<_> = entries(&module).into_iter().filter(is_excepted).collect();
    assert_eq!(excepted.len(), 3);
    for kernel in excepted {
        assert!(kernel.starts_with("ntruprime_draw_again_"), "{kernel}");
        assert!(!divides(kernel) && !is_check(kernel), "{kernel}");
        assert_eq!(public_arrays(kernel), Objects::array(5), "{kernel}");
    }
}

#[test]
fn finds_changed_sources() {
    for (file, package) in [
        ("crates/ctru-math/src/kernel/modular.rs", "ctru-math"),
        ("crates/ctru-gpu-kernels/src/kernels/product/rows.rs", "ctru-gpu-kernels"),
        ("crates/ctru-simt/src/gpu/mod.rs", "ctru-simt"),
        ("kernels-rs/src/lib.rs", "kernels-rs"),
        ("kernels-rs/Cargo.lock", "kernels-rs"),
    ] {
        assert_eq!(
            differences_after(file, "\n// Changed.\n"),
            [format!("the sources of {package} have changed")]
        );
    }
}

#[test]
fn the_emulator_does_not_go_in() {
    assert_eq!(differences_after("crates/ctru-simt/src/emulator/mod.rs", "// Changed.\n"), [""; 0]);
}

#[test]
fn finds_changed_ptx() {
    let found = differences_after("crates/ctru-gpu-kernels/ptx/scheme.ptx", "\n");
    assert_eq!(found, ["the PTX is not the one that was built"]);
}

#[test]
fn finds_changed_flags() {
    let root = workspace::root();
    let manifest = Manifest::read(&manifest::path(&root)).unwrap();
    let origin = Origin::of_kem(&root).unwrap();
    let flags = Vec::new();
    for other in [Origin { arch: "sm_90".into(), ..origin.clone() }, Origin { flags, ..origin }] {
        let found = manifest.differences(&ptx(&root), other).unwrap();
        assert_eq!(found, ["it was built for another target or with other flags"]);
    }
}

#[test]
fn finds_an_edited_manifest() {
    let copy = copy();
    let path = manifest::path(copy.path());
    let mut manifest = Manifest::read(&path).unwrap();
    manifest.kernels.pop();
    manifest.write(&path).unwrap();
    assert_eq!(differences(copy.path()), ["the manifest has been edited"]);
}
