//! Packages for registries, the page, and the bill of materials.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use super::notices;
use super::programs::PROGRAMS;
use super::workshop::Workshop;
use crate::workspace::{self, Metadata, Package};
use crate::{IoContext, Result};

/// Returns the crates for the registry, each after those that it needs.
fn in_order(packages: Vec<Package>) -> Vec<String> {
    let is_public = |package: &Package| package.publish.is_none();
    let mut left: BTreeMap<String, BTreeSet<String>> = packages
        .into_iter()
        .filter(is_public)
        .map(|Package { name, dependencies, .. }| {
            let needed = dependencies.into_iter().filter(|dependency| {
                dependency.path.is_some() && dependency.kind.as_deref() != Some("dev")
            });
            (name, needed.map(|dependency| dependency.name).collect())
        })
        .collect();
    let mut order = Vec::new();
    // What is left in a circle would never be ready; cargo refuses circles.
    while let Some(ready) = left
        .iter()
        .find(|(_, needed)| needed.iter().all(|name| !left.contains_key(name)))
        .map(|(name, _)| name.clone())
    {
        left.remove(&ready);
        order.push(ready);
    }
    order
}

/// Makes the `.crate` files, and a list of them in the order of their upload.
pub(super) fn crates(shop: &Workshop) -> Result<()> {
    let order = in_order(Metadata::read(&workspace::root().join("Cargo.toml"))?.packages);
    let names = order.iter().flat_map(|name| ["-p", name]);
    shop.call("cargo", ["package", "--no-verify"].into_iter().chain(names))?;
    let folder = shop.folder("crates")?;
    for name in &order {
        let file = format!("{name}-{}.crate", shop.version);
        let made = shop.work.join("target/package").join(&file);
        fs::copy(&made, folder.join(&file)).at("copy", &made)?;
    }
    shop.write("crates/ORDER", order.join("\n") + "\n")
}

/// Calls `build` while the licences of a package, and of what it contains, lie in a folder from
/// which it takes them. Git ignores them there.
fn with_licences(
    shop: &Workshop,
    package: &'static str,
    folder: &str,
    build: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let root = workspace::root();
    let to = |name: &str| root.join(folder).join(name);
    let ours = ["LICENSE-APACHE", "LICENSE-MIT"];
    for name in ours {
        fs::copy(root.join(name), to(name)).at("copy", &root.join(name))?;
    }
    let others = to("LICENSE-THIRD-PARTY");
    shop.put(&others, notices::text(shop, ["-p", package].into_iter())?)?;
    build()?;
    for path in ours.map(to).into_iter().chain([others]) {
        fs::remove_file(&path).at("remove", &path)?;
    }
    Ok(())
}

/// Makes the wheels: for all versions of Python from 3.11 on, and for those without a global lock.
pub(super) fn wheels(shop: &Workshop) -> Result<()> {
    let (tools, out) = (shop.work.join("python"), shop.folder("python")?);
    shop.call("python3", ["-m".as_ref(), "venv".as_ref(), tools.as_os_str()])?;
    let program = |name: &str| tools.join("bin").join(name).to_string_lossy().into_owned();
    let packages = ["install", "-q", "--require-hashes", "-r", ".ci/packages/python.txt"];
    shop.call(&program("pip"), packages)?;
    with_licences(shop, "ctru-python", "crates/ctru-python", || {
        for kind in [["--compatibility", "pypi"], ["--interpreter", "3.15t"]] {
            let mut arguments: Vec<OsString> =
                ["build", "--release", "--quiet", "--manifest-path"].map(Into::into).to_vec();
            arguments.extend(["crates/ctru-python/Cargo.toml", "--out"].map(Into::into));
            arguments.push(out.clone().into());
            arguments.extend(kind.map(Into::into));
            shop.call(&program("maturin"), arguments)?;
        }
        Ok(())
    })
}

/// Makes the npm package.
pub(super) fn npm(shop: &Workshop) -> Result<()> {
    with_licences(shop, "ctru-wasm", "crates/ctru-wasm/npm", || {
        shop.call("crates/ctru-wasm/build", [shop.folder("npm")?]).map(drop)
    })
}

/// Makes the site: the page, which uses the npm package, and the documentation of the crates.
pub(super) fn site(shop: &Workshop) -> Result<()> {
    let (site, docs) = (shop.work.join("site"), shop.work.join("target/doc"));
    // Pages of an earlier run would stay.
    for folder in [&site, &docs] {
        if folder.exists() {
            fs::remove_dir_all(folder).at("remove", folder)?;
        }
    }
    shop.call("web/assemble", [Path::new("target/wasm/package"), &site])?;
    // As for lints, documentation needs neither C nor CUDA.
    let variables = [("CC", "true"), ("AR", "true"), ("DOCS_RS", "1")];
    // A page links to those of other crates that are there already, so each crate comes after those
    // that it needs. The server is a program, whose pages would show where its code was generated.
    let order = shop.out.join("crates/ORDER");
    let order = fs::read_to_string(&order).at("read", &order)?;
    for name in order.lines().filter(|name| *name != "ctru-server") {
        let arguments = ["doc", "--quiet", "--no-deps", "--all-features", "-p", name];
        shop.call_with("cargo", arguments, &variables)?;
    }
    shop.call("cp", ["-r".as_ref(), docs.as_os_str(), site.join("docs").as_os_str()])?;
    shop.pack(&site, &format!("ctru-{}-site", shop.version))
}

/// Makes the bill of materials of each program and of the wheels.
pub(super) fn materials(shop: &Workshop) -> Result<()> {
    shop.call(".ci/tool", ["cargo-cyclonedx", "--version", "0.5.9"])?;
    let root = workspace::root();
    let tool = root.join("target/tools/bin/cargo-cyclonedx");
    let options = ["cyclonedx", "--format=json", "--override-filename=materials"];
    shop.call(&tool.to_string_lossy(), options)?;
    // The tool writes into the folder of every package.
    let made = shop.call("git", ["ls-files", "-o", "--exclude-standard", "*/materials.json"])?;
    for made in made.lines() {
        let path = root.join(made);
        let list = fs::read_to_string(&path).at("read", &path)?;
        fs::remove_file(&path).at("remove", &path)?;
        let package = made.trim_start_matches("crates/").trim_end_matches("/materials.json");
        if PROGRAMS.iter().any(|(name, _)| *name == package) || package == "ctru-python" {
            // Paths in it are those of this machine.
            let list = list.replace(&format!("{}/", root.display()), "");
            shop.write(&format!("{package}-{}.cdx.json", shop.version), list)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_come_after_what_they_need() {
        let package = |name: &str, publish: &str, dependencies: &str| {
            format!(r#"{{"name":"{name}","publish":{publish},"dependencies":[{dependencies}]}}"#)
        };
        let needs =
            |name: &str, kind: &str| format!(r#"{{"name":"{name}","kind":{kind},"path":"/p"}}"#);
        let packages = [
            package("a", "null", &needs("c", "null")),
            package("b", "[]", ""),
            package("c", "null", &format!("{},{}", needs("d", "\"build\""), needs("a", "\"dev\""))),
            package("d", "null", r#"{"name":"serde","kind":null,"path":null}"#),
        ];
        let packages = serde_json::from_str(&format!("[{}]", packages.join(","))).unwrap();
        assert_eq!(in_order(packages), ["d", "c", "a"]);
    }
}
