//! Builds the PTX that is committed, or checks that the committed PTX belongs to its sources.

use std::fs;
use std::path::{Path, PathBuf};

use ptx_check::tools::{self, ARCHITECTURES, Tool};
use rayon::prelude::*;

use crate::compiler::{self, Compiler};
use crate::kernels::{How, Kem, Kernels};
use crate::manifest::Manifest;
use crate::own_kernels::OwnKernels;
use crate::{Error, IoContext, Result, declared, ptx, workspace};

/// Builds the kernels and writes crates/ctru-gpu-kernels/ptx and tests/machine/ptx
///
/// Fails if a kernel contains a forbidden instruction or leaks a secret (see ptx-flow). With
/// --manifest-path, builds the kernels of another crate (see docs/ptx.md).
///
/// With --check, the command does not write committed files. It compares sources, flags and PTX
/// with the manifest, checks the committed kernels, and builds the PTX again with the compiler that
/// the manifest names. If that compiler is missing, the command builds with another
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
    /// Write only unchecked drafts, to target/ptx (draft.ctru.ptx), for ptx-report --ptx
    #[arg(long, conflicts_with = "check")]
    draft: bool,
    /// The Cargo.toml of a crate with kernels to build instead; its PTX goes to the folder ptx
    /// beside it
    #[arg(long, value_name = "PATH")]
    manifest_path: Option<PathBuf>,
    /// Path of the rustc to use
    #[arg(long, value_name = "PATH")]
    compiler: Option<PathBuf>,
}

/// The message if committed PTX does not belong to its sources.
const OUT_OF_DATE: &str = "the committed PTX is out of date; run cargo xtask build-ptx";

/// The crate whose kernels test the machine.
const MACHINE: &str = "tests/machine/Cargo.toml";

/// Runs the job.
pub fn run(options: &Options) -> Result<()> {
    if let Some(path) = &options.manifest_path {
        return run_for(&OwnKernels::read(path)?, options);
    }
    run_for(&Kem, options)?;
    run_for(&OwnKernels::read(&workspace::root().join(MACHINE))?, options)
}

fn run_for(kernels: &impl Kernels, options: &Options) -> Result<()> {
    match options.check {
        true => check(kernels, options.compiler.as_deref()),
        false => make(kernels, options),
    }
}

fn make(kernels: &impl Kernels, options: &Options) -> Result<()> {
    // Without a manifest, these are the first kernels of their crate.
    let before = Manifest::read(&kernels.manifest()).ok().map(|manifest| manifest.compiler());
    let compiler = compiler::find(options.compiler.as_deref(), before.as_ref())?;
    println!("building with {}, {}", compiler.rustc.display(), compiler.version);
    if options.draft {
        let draft = kernels.compile(&compiler, kernels.arch(), How::default())?;
        let draft = kernels.arranged(ptx::normalise(&draft))?;
        let path = save(&format!("draft.{}", kernels.name()), &draft)?;
        println!("{}", path.display());
        return Ok(());
    }
    let text = build(kernels, &compiler, kernels.arch(), How::default())?;
    let path = kernels.ptx();
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).at("create", folder)?;
    }
    kernels.write(&text)?;
    let text = kernels.read()?;
    compare(&text, kernels.arch())?;
    let manifest = Manifest::new(&text, &compiler.version, kernels.origin(None)?)?;
    manifest.write(&kernels.manifest())?;
    println!("{}: {} kernels, {} bytes", path.display(), manifest.kernels.len(), text.len());

    for arch in options.arch.iter().filter(|arch| *arch != kernels.arch()) {
        let text = build(kernels, &compiler, arch, How::default())?;
        let path = save(&format!("{arch}.{}", kernels.name()), &text)?;
        println!("{}", path.display());
    }
    Ok(())
}

fn check(kernels: &impl Kernels, explicit: Option<&Path>) -> Result<()> {
    let manifest = Manifest::read(&kernels.manifest())?;
    let committed = kernels.read()?;
    let differences = manifest.differences(&committed, kernels.origin(Some(&manifest))?)?;
    Error::unless_none(OUT_OF_DATE, differences)?;
    println!("{}: sources, flags and PTX agree with the manifest", kernels.name());
    compare(&committed, kernels.arch())?;
    inspect(&committed, kernels.are_secret())?;

    let compiler = match compiler::find(explicit, Some(&manifest.compiler())) {
        Err(error @ Error::NoCompiler { .. }) => {
            println!("not checked: whether the sources give this PTX\n{error}");
            return Ok(());
        }
        found => found?,
    };
    let rebuilt = build(kernels, &compiler, kernels.arch(), How { locked: true, lines: false })?;
    if compiler.version != manifest.compiler() {
        println!(
            "not checked: whether the sources give this PTX, which {} wrote",
            manifest.compiler()
        );
        return check_other(&kernels.name(), &rebuilt, &compiler);
    }
    if rebuilt != committed {
        let saved = save(&kernels.name(), &rebuilt)?;
        let line = rebuilt.lines().zip(committed.lines()).take_while(|(a, b)| a == b).count() + 1;
        let difference =
            format!("the same compiler writes different PTX from line {line}: {}", saved.display());
        return Error::unless_none(OUT_OF_DATE, vec![difference]);
    }
    println!("{} writes the same PTX again", compiler.version);
    Ok(())
}

/// Checks that `rebuilt` assembles. This PTX comes from another compiler than the one that the
/// manifest names. Without the assembler, only prints what was not checked.
fn check_other(name: &str, rebuilt: &str, compiler: &Compiler) -> Result<()> {
    let saved = save(&format!("other.{name}"), rebuilt)?;
    match Tool::PTXAS.find() {
        Ok(ptxas) => {
            ARCHITECTURES.par_iter().try_for_each(|arch| tools::assemble(&ptxas, &saved, arch))?;
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

/// Compiles kernels, checks them, and returns the normalised PTX.
fn build(kernels: &impl Kernels, compiler: &Compiler, arch: &str, how: How) -> Result<String> {
    let text = kernels.arranged(ptx::normalise(&kernels.compile(compiler, arch, how)?))?;
    compare(&text, arch)?;
    let Err(error) = inspect(&text, kernels.are_secret()) else { return Ok(text) };
    // A second build carries line numbers, so that the messages can name the lines of Rust.
    let named = kernels.compile(compiler, arch, How { lines: true, ..how })?;
    let root = format!("{}/", workspace::root().display());
    inspect(&named.replace(&root, ""), kernels.are_secret())?;
    Err(error)
}

/// Checks that PTX is for this architecture and has no debug information.
fn compare(text: &str, arch: &str) -> Result<()> {
    let what = format!("the PTX is not what kernels become for {arch}");
    Error::unless_none(&what, ptx::deviations(text, arch))
}

/// Checks PTX for forbidden instructions and, if the content of arrays is secret, for leaks.
fn inspect(text: &str, is_secret: bool) -> Result<()> {
    let faults = ptx::faults(&ptx::parse(text)?).iter().map(ToString::to_string).collect();
    Error::unless_none("the PTX contains instructions that are forbidden in kernels", faults)?;
    if is_secret {
        println!("{}", declared::check_ptx(text, "")?);
    }
    Ok(())
}

/// Writes a file, which is not committed, into `target/ptx`. Returns its path.
fn save(name: &str, text: &str) -> Result<PathBuf> {
    let folder = workspace::target().join("ptx");
    fs::create_dir_all(&folder).at("create", &folder)?;
    let path = folder.join(name);
    fs::write(&path, text).at("write", &path)?;
    Ok(path)
}
