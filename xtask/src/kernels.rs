//! Kernels that are compiled to PTX.

use std::fs;
use std::path::{Path, PathBuf};

use ptx_check::tools;

use crate::compiler::Compiler;
use crate::manifest::{self, Manifest, Origin};
use crate::{Error, IoContext, Result, families, isolated, workspace, wrapper};

/// Kernels that are compiled to one text of PTX.
pub(crate) trait Kernels {
    /// Returns the path of the committed PTX: a file, or a folder of several files.
    fn ptx(&self) -> PathBuf;
    /// Returns the path of the manifest.
    fn manifest(&self) -> PathBuf;
    /// Returns the oldest architecture that runs the PTX.
    fn arch(&self) -> &str;
    /// Returns whether the content of the kernels' arrays is secret.
    fn are_secret(&self) -> bool;
    /// Compiles the kernels for an architecture and returns the compiler's assembly.
    fn compile(&self, compiler: &Compiler, arch: &str, how: How) -> Result<String>;
    /// Returns the origin of the PTX, before or after it is compiled. `committed` is the manifest
    /// to compare it with, or `None` if the kernels have just been compiled.
    fn origin(&self, committed: Option<&Manifest>) -> Result<Origin>;

    /// Returns the name of the text, for messages and for files that are not committed.
    fn name(&self) -> String {
        self.ptx().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Reads the committed PTX.
    fn read(&self) -> Result<String> {
        let path = self.ptx();
        fs::read_to_string(&path).at("read", &path)
    }

    /// Writes the committed PTX.
    fn write(&self, text: &str) -> Result<()> {
        let path = self.ptx();
        fs::write(&path, text).at("write", &path)
    }

    /// Returns the text with its kernels in the order in which they are committed.
    fn arranged(&self, text: String) -> Result<String> {
        Ok(text)
    }
}

/// The kernels of the KEM.
pub(crate) struct Kem;

impl Kernels for Kem {
    fn ptx(&self) -> PathBuf {
        manifest::folder(&workspace::root())
    }

    fn manifest(&self) -> PathBuf {
        manifest::path(&workspace::root())
    }

    fn name(&self) -> String {
        "ctru.ptx".into()
    }

    fn read(&self) -> Result<String> {
        families::read(&self.ptx())
    }

    fn write(&self, text: &str) -> Result<()> {
        families::write(&self.ptx(), text)
    }

    fn arranged(&self, text: String) -> Result<String> {
        families::arranged(&text)
    }

    fn arch(&self) -> &str {
        manifest::ARCH
    }

    fn are_secret(&self) -> bool {
        true
    }

    fn compile(&self, compiler: &Compiler, arch: &str, how: How) -> Result<String> {
        let package = Package {
            folder: &workspace::root().join("kernels-rs"),
            name: "ctru-kernels-rs",
            library: "ctru_kernels_rs",
            features: "",
            target: &workspace::target().join("ptx"),
        };
        package.assembly(compiler, arch, how, &self.origin(None)?.flags)
    }

    fn origin(&self, _: Option<&Manifest>) -> Result<Origin> {
        Origin::of_kem(&workspace::root())
    }
}

/// The settings of a profile that are fixed for kernels. Cargo takes those for the whole program
/// from the command line; the manifest may have others for single packages, which the compiler's
/// [`flags`] override.
const PROFILE: [&str; 3] = [
    // With one module for the whole program, the assembly file contains the whole program.
    "lto='fat'",
    "panic='abort'",
    "rpath=false",
];

/// Returns the flags with which the kernels and all that they use are compiled. They follow those
/// of the profile, so they count.
fn flags(how: How) -> String {
    let lines = if how.lines { "-Cdebuginfo=line-tables-only" } else { "-Cdebuginfo=none" };
    let fixed = [
        "-Copt-level=3",
        "-Ccodegen-units=1",
        "-Cdebug-assertions=off",
        "-Coverflow-checks=off",
        "-Cstrip=none",
    ];
    fixed.into_iter().chain([lines]).collect::<Vec<_>>().join("\x1f")
}

/// How kernels are compiled.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct How {
    /// Whether the lock file must fit, instead of being written.
    pub(crate) locked: bool,
    /// Whether the assembly names the lines of the sources.
    pub(crate) lines: bool,
}

/// A package whose library has kernels.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Package<'a> {
    /// Its folder.
    pub(crate) folder: &'a Path,
    /// Its name.
    pub(crate) name: &'a str,
    /// The name of the library, with `_`.
    pub(crate) library: &'a str,
    /// Its features.
    pub(crate) features: &'a str,
    /// The folder of the compiler's results.
    pub(crate) target: &'a Path,
}

impl Package<'_> {
    /// Compiles the library for a GPU and returns the compiler's assembly. Nothing in the user's
    /// environment, in cargo's configuration or in a profile changes it.
    pub(crate) fn assembly(
        self,
        compiler: &Compiler,
        arch: &str,
        how: How,
        arguments: &[String],
    ) -> Result<String> {
        let results = self.target.join(manifest::TARGET).join("release");
        let assembly = results.join(format!("deps/{}.s", self.library));
        // Cargo does not know this file. It would not compile again what it has compiled with these
        // flags before, although others have written the file since.
        forget(&results.join(".fingerprint"), self.name)?;
        if assembly.exists() {
            fs::remove_file(&assembly).at("remove", &assembly)?;
        }
        let mut cargo = compiler.cargo();
        let _folder = isolated::cargo(&mut cargo, self.folder, &self.target.join("home"))?;
        wrapper::install(&mut cargo)?;
        // `ctru_simt` compares the shapes of blocks with the target, which no text states yet.
        cargo.env("CTRU_PTX_TARGET", format!(".target {arch}"));
        cargo.env("CARGO_ENCODED_RUSTFLAGS", flags(how)).env("CARGO_INCREMENTAL", "0");
        cargo.args(["rustc", "--lib", "--crate-type=cdylib", "--release", "--manifest-path"]);
        cargo.arg(self.folder.join("Cargo.toml")).arg("--target-dir").arg(self.target);
        cargo.args(["--features", self.features, "-Zbuild-std=core", "--target", manifest::TARGET]);
        for setting in PROFILE {
            cargo.arg("--config").arg(format!("profile.release.{setting}"));
        }
        cargo.args(how.locked.then_some("--locked"));
        cargo.arg("--").arg(format!("-Ctarget-cpu={arch}")).args(arguments);
        let output = tools::output(&mut cargo).map_err(|error| match error {
            tools::Error::Failed { output, .. }
                if ["std", "alloc"]
                    .iter()
                    .any(|name| output.contains(&format!("can't find crate for `{name}`"))) =>
            {
                Error::NeedsSystem { package: self.name.into(), output }
            }
            error => error.into(),
        })?;
        let warnings = String::from_utf8_lossy(&output.stderr);
        if warnings.contains("warning:") {
            eprint!("{warnings}");
        }
        fs::read_to_string(&assembly).at("read", &assembly)
    }
}

/// Removes what cargo keeps in `folder` about the builds of a package, so that it builds it again.
fn forget(folder: &Path, package: &str) -> Result<()> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry.at("read", folder)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.rsplit_once('-').is_some_and(|(name, _)| name == package) {
            fs::remove_dir_all(&path).at("remove", &path)?;
        }
    }
    Ok(())
}
