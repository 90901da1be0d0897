//! Kernels that are compiled to PTX.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compiler::Compiler;
use crate::manifest::{self, Manifest, Origin, Recipe};
use crate::{IoContext, Result, process, workspace};

/// Kernels that are compiled to one file of PTX.
pub(crate) trait Kernels {
    /// Returns the path of the committed PTX.
    fn ptx(&self) -> PathBuf;
    /// Returns the path of the manifest.
    fn manifest(&self) -> PathBuf;
    /// Returns the oldest architecture that runs the PTX.
    fn arch(&self) -> &str;
    /// Returns whether the content of the kernels' arrays is secret.
    fn are_secret(&self) -> bool;
    /// Compiles the kernels for an architecture and returns the compiler's assembly. `options` are
    /// further options of cargo.
    fn compile(&self, compiler: &Compiler, arch: &str, options: &[&str]) -> Result<String>;
    /// Returns the origin of the PTX, before or after it is compiled. `committed` is the manifest
    /// to compare it with, or `None` if the kernels have just been compiled.
    fn origin(&self, committed: Option<&Manifest>) -> Result<Origin>;

    /// Returns the name of the file of PTX.
    fn name(&self) -> String {
        self.ptx().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

impl Kernels for Recipe {
    fn ptx(&self) -> PathBuf {
        manifest::ptx_path(&workspace::root(), self)
    }

    fn manifest(&self) -> PathBuf {
        manifest::path(&workspace::root(), self)
    }

    fn arch(&self) -> &str {
        self.arch
    }

    fn are_secret(&self) -> bool {
        true
    }

    fn compile(&self, compiler: &Compiler, arch: &str, options: &[&str]) -> Result<String> {
        let mut cargo = compiler.cargo();
        let target = workspace::target().join("ptx");
        cargo.current_dir(workspace::root().join("kernels-rs"));
        cargo.args(["rustc", "--features", self.features]);
        let flags = self.flags.iter().map(|&flag| flag.to_owned()).collect::<Vec<_>>();
        assembly(cargo, &target, "ctru_kernels_rs", arch, options, &flags)
    }

    fn origin(&self, _: Option<&Manifest>) -> Result<Origin> {
        Self::origin(self, &workspace::root())
    }
}

/// Completes the command `cargo rustc ...`, which compiles the library `library` for a GPU, with
/// `target` as the folder of its results. Runs it and returns the compiler's assembly.
pub(crate) fn assembly(
    mut cargo: Command,
    target: &Path,
    library: &str,
    arch: &str,
    options: &[&str],
    flags: &[String],
) -> Result<String> {
    cargo.env("CARGO_TARGET_DIR", target);
    cargo.args(["--release", "-Zbuild-std=core", "--target", manifest::TARGET]).args(options);
    cargo.arg("--").arg(format!("-Ctarget-cpu={arch}")).args(flags);
    let output = process::output(&mut cargo)?;
    let warnings = String::from_utf8_lossy(&output.stderr);
    if warnings.contains("warning:") {
        eprint!("{warnings}");
    }
    let assembly = target.join(manifest::TARGET).join(format!("release/deps/{library}.s"));
    fs::read_to_string(&assembly).at("read", &assembly)
}
