//! The licences of the crates whose code is in the files of a release. Most of them demand that
//! their text goes with every copy.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::workshop::Workshop;
use crate::{Error, IoContext, Result, isolated, sources};

/// The name of the file beside programs and the library for C.
pub(super) const FILE: &str = "THIRD-PARTY.txt";

/// Returns each text once, below the crates that have it. `packages` are the options of cargo that
/// name what was built.
pub(super) fn text(
    shop: &Workshop,
    packages: impl Iterator<Item = &'static str>,
) -> Result<String> {
    let tree = ["tree", "--locked", "--edges=normal", "--target=all", "--prefix=none"];
    let arguments = tree.into_iter().chain(["--format={p}|{l}|"]).chain(packages);
    let list = shop.call("cargo", arguments)?;
    let registries = isolated::home_of("cargo").join("registry/src");
    let mut crates: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in list.lines() {
        let [package, licence, _] = line.split('|').collect::<Vec<_>>()[..] else { continue };
        // The crates of this project name their folders.
        let [name, version, ..] = package.split(' ').collect::<Vec<_>>()[..] else { continue };
        if package.contains("(/") {
            continue;
        }
        let name = format!("{name}-{}", version.trim_start_matches('v'));
        let indices = fs::read_dir(&registries).at("read", &registries)?.flatten();
        let folder = indices.map(|index| index.path().join(&name)).find(|at| at.is_dir());
        let what = "no sources of these crates";
        let missing = || Error::Faults { what: what.into(), faults: vec![name.clone()] };
        let mut texts = of_crate(&folder.ok_or_else(missing)?)?;
        if texts.is_empty() {
            texts.push(format!("{licence}. These crates have no text of it.\n"));
        }
        for text in texts {
            crates.entry(text).or_default().insert(name.clone());
        }
    }
    let names = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(", ");
    let texts = crates.into_iter().map(|(text, of)| format!("==== {}\n\n{text}\n", names(of)));
    Ok(texts.collect())
}

/// Returns the texts of licences in the folder of a crate.
fn of_crate(folder: &Path) -> Result<Vec<String>> {
    let is_licence = |file: &&PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let beginnings = ["licen", "unlicen", "copying", "copyright", "notice"];
        beginnings.iter().any(|beginning| name.starts_with(beginning)) && !name.ends_with(".rs")
    };
    let mut texts = Vec::new();
    for file in sources::files(folder)?.iter().filter(is_licence) {
        let text = fs::read(file).at("read", file)?;
        texts.push(String::from_utf8_lossy(&text).into_owned());
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_of_a_crate() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["LICENSE-MIT", "licence.rs", "NOTICE", "README.md"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        assert_eq!(of_crate(folder.path()).unwrap(), ["LICENSE-MIT", "NOTICE"]);
    }
}
