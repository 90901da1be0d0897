//! Tests that the embedded PTX has exactly the kernels of the lists.

use std::collections::BTreeSet;

use ctru_gpu_kernels::descriptor::RingKernels;
use ctru_gpu_kernels::ptx::{MANIFEST, MANIFEST_JSON, MODULE};
use ctru_gpu_kernels::table;
use ctru_math::R761;
use ctru_simt::scalar::Value;

fn names(kernels: &[&'static RingKernels]) -> BTreeSet<&'static str> {
    kernels.iter().flat_map(|kernels| kernels.each()).map(|kernel| kernel.name()).collect()
}

fn manifest() -> serde_json::Value {
    serde_json::from_str(MANIFEST_JSON).expect("JSON")
}

#[test]
fn every_kernel_is_an_entry_point_and_every_entry_point_a_kernel() {
    let entry = |line: &'static str| line.strip_prefix(".visible .entry ")?.strip_suffix('(');
    let entries: BTreeSet<_> = MODULE.text().lines().filter_map(entry).collect();
    assert_eq!(entries, names(table::ALL));
}

#[test]
fn scalars_that_sizes_of_arrays_depend_on_cannot_be_changed() {
    let kernel = table::NTRUPRIME_CONFIRM.of::<R761>();
    assert_eq!(kernel.values(), [Value::from(761_u32)]);
    let error = kernel.with(&[Value::from(1277_u32)]).unwrap_err();
    assert_eq!(error.to_string(), "ntruprime_confirm takes no other values of its scalars");
}

#[test]
fn the_manifest_names_the_kernels() {
    let manifest = manifest();
    let entries = manifest["kernels"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
    assert_eq!(entries.collect::<BTreeSet<_>>(), names(table::ALL));
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
    let statement = |name: &str| MODULE.text().lines().find_map(|line| line.strip_prefix(name));
    assert_eq!(statement(".version "), Some(MANIFEST.ptx_isa));
    assert_eq!(statement(".target "), Some(MANIFEST.arch));
}
