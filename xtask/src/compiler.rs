//! Finds a compiler that can build the device crate.
//!
//! The compiler must come with the source of its library, because nobody ships a compiled `core`
//! for the target `nvptx64-nvidia-cuda`. It must also accept unstable features: a nightly does, and
//! any compiler does under `RUSTC_BOOTSTRAP=1`.

use std::path::{Path, PathBuf};
use std::process::Command;

use ptx_check::tools;

use crate::{Error, Result, isolated, workspace};

/// The compiler of Debian's package `rustc-web`.
const DEBIAN: &str = "/usr/bin/rustc";

/// A compiler with the source of its library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// The path of `rustc`.
    pub rustc: PathBuf,
    /// Its version.
    pub version: Version,
}

/// The versions that determine the code that a compiler writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The release, commit and date, as in `1.96.0 (ac68faa20 2026-05-25)`.
    pub rustc: String,
    /// The version of LLVM.
    pub llvm: String,
}

impl Version {
    /// Reads the output of `rustc -vV`. Returns `None` if it names no commit.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let field = |name| text.lines().find_map(|line| line.strip_prefix(name));
        let (hash, date) = (field("commit-hash: ")?, field("commit-date: ")?);
        // Debian adds `(built from a source tarball)` to its version, but the compiler is the same.
        let rustc = format!("{} ({} {date})", field("release: ")?, hash.get(..9).unwrap_or(hash));
        Some(Self { rustc, llvm: field("LLVM version: ")?.to_owned() })
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rustc {} with LLVM {}", self.rustc, self.llvm)
    }
}

/// Returns the compiler at `explicit`, or else an installed one, with version `preferred` if there
/// is such a compiler.
///
/// # Errors
/// [`Error::Unusable`] if the compiler at `explicit` cannot build the device crate,
/// [`Error::NoCompiler`] if no installed compiler can.
pub fn find(explicit: Option<&Path>, preferred: Option<&Version>) -> Result<Compiler> {
    if let Some(rustc) = explicit {
        return inspect(rustc);
    }
    let mut candidates = rustup_nightlies();
    candidates.push(DEBIAN.into());
    choose(candidates.iter().map(|rustc| inspect(rustc)), preferred)
}

/// Returns the first usable candidate of version `preferred`, or else the first usable one.
fn choose(
    candidates: impl Iterator<Item = Result<Compiler>>,
    preferred: Option<&Version>,
) -> Result<Compiler> {
    let (mut usable, mut refused) = (Vec::new(), Vec::new());
    for candidate in candidates {
        match candidate {
            Ok(compiler) => usable.push(compiler),
            Err(error) => refused.push(error.to_string()),
        }
    }
    let best = usable.iter().position(|compiler| Some(&compiler.version) == preferred).unwrap_or(0);
    if best < usable.len() {
        Ok(usable.swap_remove(best))
    } else {
        Err(Error::NoCompiler { refused })
    }
}

/// Returns the compiler at `rustc`, if it can build the device crate.
fn inspect(rustc: &Path) -> Result<Compiler> {
    let unusable = |reason: String| Error::Unusable { path: rustc.to_owned(), reason };
    let run = |arguments: &[&str]| {
        tools::text(isolated::program(Command::new(rustc)).args(arguments))
            .map_err(|error| unusable(error.to_string()))
    };
    let version = run(&["-vV"])?;
    let version =
        Version::parse(&version).ok_or_else(|| unusable("its version names no commit".into()))?;
    let library =
        Path::new(run(&["--print", "sysroot"])?.trim()).join("lib/rustlib/src/rust/library");
    if !library.join("core/src/lib.rs").is_file() {
        return Err(unusable(format!("no library source in {}", library.display())));
    }
    Ok(Compiler { rustc: rustc.to_owned(), version })
}

/// Returns the compilers of rustup's nightly toolchains, or none if there is no rustup.
fn rustup_nightlies() -> Vec<PathBuf> {
    let rustup = |arguments: &[&str]| {
        tools::text(isolated::program(Command::new("rustup")).args(arguments)).unwrap_or_default()
    };
    let list = rustup(&["toolchain", "list"]);
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| name.starts_with("nightly"))
        .map(|name| rustup(&["which", "--toolchain", name, "rustc"]).trim().into())
        .filter(|rustc: &PathBuf| rustc.is_file())
        .collect()
}

impl Compiler {
    /// Returns a command for cargo that uses this compiler, apart from the user's environment. The
    /// cargo is the one beside the compiler if it is of the same release, or else the one that runs
    /// this program.
    #[must_use]
    pub fn cargo(&self) -> Command {
        let release = self.version.rustc.split(' ').next().unwrap_or_default();
        let own = self.rustc.with_file_name("cargo");
        let is_own = tools::text(Command::new(&own).arg("-V"))
            .is_ok_and(|version| version.split(' ').nth(1) == Some(release));
        let mut cargo =
            isolated::program(if is_own { Command::new(own) } else { workspace::cargo() });
        cargo.env("RUSTC", &self.rustc).env("RUSTC_BOOTSTRAP", "1");
        cargo
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBIAN: &str = "rustc 1.96.0 (ac68faa20 2026-05-25) (built from a source tarball)
binary: rustc
commit-hash: ac68faa20c58cbccd01ee7208bf3b6e93a7d7f96
commit-date: 2026-05-25
host: x86_64-unknown-linux-gnu
release: 1.96.0
LLVM version: 22.1.8
";

    fn version(rustc: &str) -> Version {
        Version { rustc: rustc.into(), llvm: "22".into() }
    }

    fn candidates(versions: &[&str]) -> Vec<Result<Compiler>> {
        let compiler = |v: &&str| Ok(Compiler { rustc: v.into(), version: version(v) });
        let unusable = Error::Unusable { path: "/broken/rustc".into(), reason: "no source".into() };
        std::iter::once(Err(unusable)).chain(versions.iter().map(compiler)).collect()
    }

    #[test]
    fn reads_versions() {
        let expected =
            Version { rustc: "1.96.0 (ac68faa20 2026-05-25)".into(), llvm: "22.1.8".into() };
        assert_eq!(Version::parse(DEBIAN), Some(expected));
        assert_eq!(Version::parse("rustc 1.63.0\nrelease: 1.63.0\n"), None);
    }

    #[test]
    fn prefers_the_version_of_the_manifest() {
        let chosen = |preferred: Option<&str>| {
            let preferred = preferred.map(version);
            choose(candidates(&["1.97", "1.96"]).into_iter(), preferred.as_ref())
                .unwrap()
                .version
                .rustc
        };
        assert_eq!(chosen(Some("1.96")), "1.96");
        assert_eq!(chosen(Some("1.95")), "1.97");
        assert_eq!(chosen(None), "1.97");
    }

    #[test]
    fn says_how_to_get_a_compiler() {
        let error = choose(candidates(&[]).into_iter(), None).unwrap_err().to_string();
        for part in [
            "/broken/rustc: no source",
            "rustup toolchain install nightly --component rust-src",
            "apt-get install rustc-web rust-web-src",
        ] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn an_explicit_compiler_is_the_only_candidate() {
        let error = find(Some(Path::new("/nowhere/rustc")), None).unwrap_err();
        assert!(matches!(error, Error::Unusable { .. }), "{error}");
    }
}
