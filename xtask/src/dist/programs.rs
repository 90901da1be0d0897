//! Programs and libraries for Linux, in one archive for each processor.
//!
//! They use the system's library for C, because the driver of a GPU is loaded while they run, which
//! a program that has everything in it cannot do. The names of the archives say its version.

use std::path::{Path, PathBuf};

use super::notices;
use super::workshop::Workshop;
use crate::{Result, workspace};

/// The programs, by their packages and their files.
pub(super) const PROGRAMS: [(&str, &str); 4] = [
    ("ctru-cli", "ctru"),
    ("ctru-server", "ctru-server"),
    ("age-plugin-ctru", "age-plugin-ctru"),
    ("ptx-check", "ptx-check"),
];

/// The libraries for C, which `ctru-capi` becomes.
const LIBRARIES: [&str; 2] = ["libctru.a", "libctru.so"];

const ARM: &str = "aarch64-unknown-linux-gnu";

/// Makes the archives.
pub(super) fn make(shop: &Workshop) -> Result<()> {
    let build = ["build", "--release", "--quiet", "--locked"].into_iter().chain(packages());
    shop.call("cargo", build.clone())?;
    archive(shop, "x86_64", &built(shop))?;

    let variables = [
        ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc"),
        ("CC_aarch64_unknown_linux_gnu", "aarch64-linux-gnu-gcc"),
    ];
    let target = [ARM, "std,panic_unwind"].into_iter().chain(build);
    shop.call_with(".ci/for-target", target, &variables)?;
    archive(shop, "aarch64", &shop.work.join("target").join(ARM).join("release"))
}

/// Returns the options of cargo that name the packages.
pub(super) fn packages() -> impl Iterator<Item = &'static str> + Clone {
    PROGRAMS.iter().flat_map(|(package, _)| ["-p", package]).chain(["-p", "ctru-capi"])
}

/// Returns the folder with what was built for this machine.
pub(super) fn built(shop: &Workshop) -> PathBuf {
    shop.work.join("target/release")
}

/// Packs what was built into `folder`.
fn archive(shop: &Workshop, processor: &str, folder: &Path) -> Result<()> {
    let glibc = glibc(shop, folder)?;
    let name = format!("ctru-{}-{processor}-linux-glibc2.{glibc}", shop.version);
    let others = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"].map(|file| (file, file));
    let gathered = shop.gather(&name, &contents(folder, "", "lib", &others))?;
    shop.put(&gathered.join(notices::FILE), notices::text(shop, packages())?)?;
    shop.pack(&gathered, &name)
}

/// Returns what was built into `folder`, and where it lies below `prefix`: programs, the library
/// for C in the folder `libraries`, and its header. `others` are further files of the workspace.
pub(super) fn contents(
    folder: &Path,
    prefix: &str,
    libraries: &str,
    others: &[(&str, &str)],
) -> Vec<(PathBuf, String)> {
    let programs = PROGRAMS.iter().map(|(_, file)| ("bin", *file));
    let built = programs.chain(LIBRARIES.map(|file| (libraries, file)));
    let built = built.map(|(to, file)| (folder.join(file), format!("{to}/{file}")));
    let header = ("crates/ctru-capi/include/ctru.h", "include/ctru.h");
    let others = others.iter().copied().chain([header]);
    let others = others.map(|(from, to)| (workspace::root().join(from), to.to_owned()));
    built.chain(others).map(|(from, to)| (from, format!("{prefix}{to}"))).collect()
}

/// Returns the least version of the library for C, 2.X, that has all that the programs and the
/// library need.
pub(super) fn glibc(shop: &Workshop, folder: &Path) -> Result<u32> {
    let mut newest = 0;
    for file in PROGRAMS.map(|(_, file)| file).iter().chain(&["libctru.so"]) {
        let list = shop.call("readelf", ["-VW".as_ref(), folder.join(file).as_os_str()])?;
        newest = newest.max(newest_of(&list));
    }
    Ok(newest)
}

/// Returns the largest X of all `GLIBC_2.X` in a text.
fn newest_of(list: &str) -> u32 {
    let after = list.split("GLIBC_2.").skip(1);
    let number = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse().unwrap_or(0)
    };
    after.map(number).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_counts() {
        assert_eq!(newest_of("Name: GLIBC_2.2.5 x GLIBC_2.34\nGLIBC_2.17"), 34);
        assert_eq!(newest_of("nothing"), 0);
    }
}
