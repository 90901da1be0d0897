//! Builds the PTX that is committed, or checks that the committed PTX belongs to its sources.

use std::fs;
use std::path::{Path, PathBuf};

use crate::compiler::{self, Compiler};
use crate::flow::declared;
use crate::manifest::{self, Manifest, RECIPES, Recipe};
use crate::tools::{self, ARCHITECTURES, Tool};
use crate::{Error, IoContext, Result, parallel, process, ptx, workspace};

/// Builds the kernels and writes crates/ctru-gpu-kernels/ptx
///
/// Fails if a kernel contains a forbidden instruction or leaks a secret (see ptx-flow).
///
/// With --check, the command does not write to crates/ctru-gpu-kernels/ptx. It compares sources,
/// flags and PTX with the manifest, checks the committed kernels, and builds the PTX again with the
/// compiler that the manifest names. If that compiler is missing, the command builds with another
/// one, and checks that the result assembles instead of comparing it with the committed PTX.
/// Without any compiler, the command builds nothing. The output says what was not checked.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Check the committed PTX instead of writing it
    #[arg(long)]
    check: bool,
    /// Further architectures to build for, besides sm_80; their PTX goes to target/ptx
    #[arg(long, value_delimiter = ',')]
    arch: Vec<String>,
    /// Write only unchecked drafts, to target/ptx (draft.ctru.ptx and so on), for ptx-report --ptx
    #[arg(long, conflicts_with = "check")]
    draft: bool,
    /// Path of the rustc to use
    #[arg(long, value_name = "PATH")]
    compiler: Option<PathBuf>,
}

/// Runs the job.
pub fn run(options: &Options) -> Result<()> {
    let root = workspace::root();
    for recipe in RECIPES {
        match options.check {
            true => check(&root, recipe, options.compiler.as_deref())?,
            false => make(&root, recipe, options)?,
        }
    }
    Ok(())
}

fn make(root: &Path, recipe: &Recipe, options: &Options) -> Result<()> {
    let compiler = compiler::find(options.compiler.as_deref(), None)?;
    println!("building with {}, {}", compiler.rustc.display(), compiler.version);
    if options.draft {
        let draft = ptx::normalise(&compile(root, recipe, &compiler, recipe.arch, false, &[])?);
        let path = save(&format!("draft.{}", recipe.ptx), &draft)?;
        println!("{}", path.display());
        return Ok(());
    }
    let text = build(root, recipe, &compiler, recipe.arch, false)?;
    let path = manifest::ptx_path(root, recipe);
    fs::write(&path, &text).at("write", &path)?;
    let manifest = Manifest::new(root, &text, &compiler.version, recipe)?;
    manifest.write(root, recipe)?;
    println!("{}: {} kernels, {} bytes", path.display(), manifest.kernels.len(), text.len());

    for arch in options.arch.iter().filter(|arch| *arch != recipe.arch) {
        let text = build(root, recipe, &compiler, arch, false)?;
        let path = save(&format!("{arch}.{}", recipe.ptx), &text)?;
        println!("{}", path.display());
    }
    Ok(())
}

fn check(root: &Path, recipe: &Recipe, explicit: Option<&Path>) -> Result<()> {
    let manifest = Manifest::read(root, recipe)?;
    let path = manifest::ptx_path(root, recipe);
    let committed = fs::read_to_string(&path).at("read", &path)?;
    let differences = manifest.differences(root, &committed, recipe)?;
    if !differences.is_empty() {
        return Err(Error::OutOfDate { differences });
    }
    println!("{}: sources, flags and PTX agree with the manifest", recipe.ptx);
    inspect(&committed)?;

    let compiler = match compiler::find(explicit, Some(&manifest.compiler())) {
        Err(error @ Error::NoCompiler { .. }) => {
            println!("not checked: whether the sources give this PTX\n{error}");
            return Ok(());
        }
        found => found?,
    };
    let rebuilt = build(root, recipe, &compiler, recipe.arch, true)?;
    if compiler.version != manifest.compiler() {
        println!(
            "not checked: whether the sources give this PTX, which {} wrote",
            manifest.compiler()
        );
        return check_other(recipe, &rebuilt, &compiler);
    }
    if rebuilt != committed {
        let saved = save(recipe.ptx, &rebuilt)?;
        let line = rebuilt.lines().zip(committed.lines()).take_while(|(a, b)| a == b).count() + 1;
        let difference =
            format!("the same compiler writes different PTX from line {line}: {}", saved.display());
        return Err(Error::OutOfDate { differences: vec![difference] });
    }
    println!("{} writes the same PTX again", compiler.version);
    Ok(())
}

/// Checks that `rebuilt` assembles. This PTX comes from another compiler than the one that the
/// manifest names. Without the assembler, only prints what was not checked.
fn check_other(recipe: &Recipe, rebuilt: &str, compiler: &Compiler) -> Result<()> {
    let saved = save(&format!("other.{}", recipe.ptx), rebuilt)?;
    match Tool::PTXAS.find() {
        Ok(ptxas) => {
            let assembled =
                parallel::map(ARCHITECTURES, |arch| tools::assemble(&ptxas, &saved, arch));
            assembled.into_iter().collect::<Result<()>>()?;
            println!("the PTX of {} assembles for {}", compiler.version, ARCHITECTURES.join(", "));
        }
        Err(error) => {
            println!(
                "{} builds; not checked: whether its PTX assembles\n{error}",
                compiler.version
            );
        }
    }
    Ok(())
}

/// Builds the device crate, checks its kernels, and returns the normalised PTX.
fn build(
    root: &Path,
    recipe: &Recipe,
    compiler: &Compiler,
    arch: &str,
    locked: bool,
) -> Result<String> {
    let text = ptx::normalise(&compile(root, recipe, compiler, arch, locked, &[])?);
    let Err(error) = inspect(&text) else { return Ok(text) };
    // A second build carries line numbers, so that the messages can name the lines of Rust.
    let lines = ["--config", "profile.release.debug='line-tables-only'"];
    inspect(&compile(root, recipe, compiler, arch, locked, &lines)?)?;
    Err(error)
}

/// Checks PTX for forbidden instructions and for leaks of secrets.
fn inspect(text: &str) -> Result<()> {
    let faults: Vec<String> = ptx::faults(text).iter().map(ToString::to_string).collect();
    if !faults.is_empty() {
        return Err(Error::Forbidden { faults });
    }
    println!("{}", declared::check_ptx(text, "")?);
    Ok(())
}

/// Builds the device crate and returns the compiler's assembly.
fn compile(
    root: &Path,
    recipe: &Recipe,
    compiler: &Compiler,
    arch: &str,
    locked: bool,
    options: &[&str],
) -> Result<String> {
    let mut cargo = compiler.cargo();
    let target = workspace::target().join("ptx");
    cargo.current_dir(root.join("kernels-rs")).env("CARGO_TARGET_DIR", &target);
    cargo.args(["rustc", "--release", "-Zbuild-std=core", "--target", recipe.target]).args(options);
    cargo.args(["--features", recipe.features]);
    if locked {
        cargo.arg("--locked");
    }
    cargo.arg("--").arg(format!("-Ctarget-cpu={arch}")).args(recipe.flags);
    let output = process::output(&mut cargo)?;
    let warnings = String::from_utf8_lossy(&output.stderr);
    if warnings.contains("warning:") {
        eprint!("{warnings}");
    }
    let assembly = target.join(recipe.target).join("release/deps/ctru_kernels_rs.s");
    fs::read_to_string(&assembly).at("read", &assembly)
}

/// Writes a file, which is not committed, into `target/ptx`. Returns its path.
fn save(name: &str, text: &str) -> Result<PathBuf> {
    let path = workspace::target().join("ptx").join(name);
    fs::write(&path, text).at("write", &path)?;
    Ok(path)
}
