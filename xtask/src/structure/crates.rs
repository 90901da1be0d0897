//! Checks the order of the crates: each crate may depend only on those below it.

use std::path::PathBuf;

use crate::workspace::Package;

/// The crates from the lowest to the highest.
const ORDER: &[&str] = &[
    "ptx-check",
    "ctru-fork",
    "ctru-math",
    "ctru-simt",
    "ctru-gpu-kernels",
    "ctru-gpu-runtime",
    "ctru-kem",
    "ctru-hybrid",
    "ctru-measure",
    "ctru-program",
    "ctru-rustls",
    "ctru-capi",
    "ctru-python",
    "ctru-wasm",
    "ctru-server",
    "age-plugin-ctru",
    "ctru-cli",
];
/// The crates that no other crate may use, except for [`ASIDE`].
const DOORS: &[&str] = &["ctru-capi", "ctru-python", "ctru-wasm", "ctru-server", "age-plugin-ctru"];
/// The packages that may depend on all crates.
const ASIDE: &[&str] = &[
    "ctru-features",
    "ctru-fuzz",
    "ctru-machine",
    "ctru-model",
    "ctru-suites",
    "ctru-tests",
    "ctru-wasm-bindgen",
    "xtask",
];
/// The only crates of the workspace that the runtime may use, outside of tests.
const RUNTIME: (&str, &[&str]) = ("ctru-gpu-runtime", &["ctru-simt", "ptx-check"]);
/// The crates that `ctru-kem` may use only if a feature asks for them.
const GPU: (&str, &[&str]) = ("ctru-kem", &["ctru-gpu-kernels", "ctru-gpu-runtime", "ctru-simt"]);
/// The package with the helpers of tests, on which the tests of every crate may depend.
const TEST_HELPERS: &str = "ctru-tests";

/// Returns the root files of the library and the programs of a package.
pub(super) fn sources(package: &Package) -> impl Iterator<Item = &PathBuf> {
    let is_product = |kind: &String| matches!(&**kind, "lib" | "bin" | "cdylib" | "staticlib");
    let targets = package.targets.iter().filter(move |target| target.kind.iter().any(is_product));
    targets.map(|target| &target.src_path)
}

/// Returns a message for each dependency that does not point down, and for each package that has no
/// place in the order.
pub(super) fn faults(packages: &[Package]) -> Vec<String> {
    let place = |name: &str| match ORDER.iter().position(|known| *known == name) {
        None if ASIDE.contains(&name) => Some(ORDER.len()),
        place => place,
    };
    let mut faults = Vec::new();
    for Package { name, dependencies, .. } in packages {
        let Some(own) = place(name) else {
            faults.push(format!("{name} has no place in the order of the crates"));
            continue;
        };
        for other in dependencies.iter().filter(|dependency| dependency.path.is_some()) {
            let is_below = place(&other.name).is_some_and(|place| place < own);
            let is_for_tests = other.name == TEST_HELPERS && other.kind.as_deref() == Some("dev");
            // A crate may list itself as a dependency, to give its tests more features.
            if !is_below && !is_for_tests && other.name != *name {
                faults.push(format!("{name} depends on {}, which is not below it", other.name));
            }
            if DOORS.contains(&&*other.name) && !ASIDE.contains(&&**name) && other.name != *name {
                faults.push(format!("{name} depends on {}, which is a door", other.name));
            }
            let is_for_all = other.kind.as_deref() != Some("dev") && other.name != *name;
            if is_for_all && *name == RUNTIME.0 && !RUNTIME.1.contains(&&*other.name) {
                let (other, allowed) = (&other.name, RUNTIME.1.join(" and "));
                faults.push(format!("{name} depends on {other}, not on {allowed} alone"));
            }
            let is_always = is_for_all && !other.optional;
            if is_always && *name == GPU.0 && GPU.1.contains(&&*other.name) {
                faults.push(format!("{name} depends on {} without a feature", other.name));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Dependency;

    fn package(name: &str, dependencies: &[&str]) -> Package {
        let dependency = |name: &&str| Dependency {
            name: (*name).into(),
            path: Some(PathBuf::new()),
            optional: name.starts_with("ctru-gpu"),
            ..Dependency::default()
        };
        Package {
            name: name.into(),
            dependencies: dependencies.iter().map(dependency).collect(),
            ..Package::default()
        }
    }

    #[test]
    fn edges_point_down() {
        let down = [
            package("ctru-math", &[]),
            package("ctru-kem", &["ctru-math", "ctru-gpu-runtime"]),
            package("ctru-tests", &["ctru-cli"]),
        ];
        assert_eq!(faults(&down), [""; 0]);
        let up = faults(&[package("ctru-math", &["ctru-kem"])]);
        assert_eq!(up, ["ctru-math depends on ctru-kem, which is not below it"]);
        let door = faults(&[package("ctru-cli", &["ctru-hybrid", "ctru-server"])]);
        assert_eq!(door, ["ctru-cli depends on ctru-server, which is a door"]);
        let runtime = |other| faults(&[package("ctru-gpu-runtime", &[other])]);
        assert_eq!(runtime("ctru-simt"), [""; 0]);
        assert_eq!(
            runtime("ctru-math"),
            ["ctru-gpu-runtime depends on ctru-math, not on ctru-simt and ptx-check alone"]
        );
        let always = faults(&[package("ctru-kem", &["ctru-simt"])]);
        assert_eq!(always, ["ctru-kem depends on ctru-simt without a feature"]);
        let mut with_helpers = package("ctru-kem", &["ctru-tests"]);
        assert_eq!(faults(&[with_helpers.clone()]).len(), 1);
        with_helpers.dependencies[0].kind = Some("dev".into());
        assert_eq!(faults(&[with_helpers]), [""; 0]);
        assert_eq!(faults(&[package("ctru-kem", &["ctru-new"])]).len(), 1);
        assert_eq!(faults(&[package("ctru-new", &[])]).len(), 1);
    }
}
