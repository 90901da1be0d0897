//! The embedded PTX has the kernels of the table, no more and no fewer.

use std::collections::BTreeSet;

use ctru_gpu_kernels::ptx::{self, MANIFEST, MANIFEST_JSON, TEXT};
use ctru_gpu_kernels::table;
use ctru_math::{R653, R761, R1277, Ring};

fn table_names() -> BTreeSet<&'static str> {
    table::ALL.iter().flat_map(|kernels| kernels.each()).map(|kernel| kernel.name).collect()
}

fn manifest() -> serde_json::Value {
    serde_json::from_str(MANIFEST_JSON).expect("JSON")
}

#[test]
fn every_kernel_is_an_entry_point_and_every_entry_point_a_kernel() {
    let entry = |line: &'static str| line.strip_prefix(".visible .entry ")?.strip_suffix('(');
    assert_eq!(TEXT.lines().filter_map(entry).collect::<BTreeSet<_>>(), table_names());
}

fn check_part<R: Ring>() {
    let names = |text: &str| -> BTreeSet<String> {
        let entry = |line: &str| Some(line.strip_prefix(".visible .entry ")?.strip_suffix('(')?.to_owned());
        text.lines().filter_map(entry).collect()
    };
    let part: String = ptx::of::<R>().collect();
    let own: BTreeSet<String> = table::ALL.iter().map(|kernels| kernels.of::<R>().name.to_owned()).collect();
    assert_eq!(names(&part), own);
    // What does not belong to an entry point is in every part.
    let outside = |text: &str| -> Vec<String> {
        let mut inside = false;
        let mut lines = Vec::new();
        for line in text.lines() {
            inside |= line.starts_with(".visible .entry ");
            if !inside {
                lines.push(line.to_owned());
            }
            inside &= !line.starts_with('}');
        }
        lines
    };
    assert_eq!(outside(&part), outside(TEXT));
}

#[test]
fn the_part_of_a_ring_has_its_kernels_and_all_tables() {
    check_part::<R653>();
    check_part::<R761>();
    check_part::<R1277>();
}

#[test]
fn the_manifest_names_the_kernels() {
    let manifest = manifest();
    let names = manifest["kernels"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
    assert_eq!(names.collect::<BTreeSet<_>>(), table_names());
}

#[test]
fn the_typed_manifest_is_the_manifest() {
    let manifest = manifest();
    for (key, value) in [
        ("rustc", MANIFEST.rustc),
        ("llvm", MANIFEST.llvm),
        ("arch", MANIFEST.arch),
        ("ptx_isa", MANIFEST.ptx_isa),
        ("ptx_sha256", MANIFEST.ptx_sha256),
    ] {
        assert_eq!(manifest[key], value, "{key}");
    }
}

#[test]
fn the_ptx_is_for_what_the_manifest_says() {
    let statement = |name: &str| TEXT.lines().find_map(|line| line.strip_prefix(name));
    assert_eq!(statement(".version "), Some(MANIFEST.ptx_isa));
    assert_eq!(statement(".target "), Some(MANIFEST.arch));
}
