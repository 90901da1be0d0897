//! Checks the structure of the workspace: crates, modules and lines.
//!
//! - [`modules`]: the modules of a crate form no cycle.
//! - [`crates`]: no crate depends on one above it.
//! - [`lines`]: no line is longer than [`lines::LONGEST`] columns.

pub mod crates;
pub mod lines;
pub mod modules;

use crate::{Error, Result, workspace};

/// Checks the order of the crates, the references between modules and the length of lines
///
/// Fails if a crate depends on one above it, if the modules of a crate form a cycle, or if a line
/// of a file in git is longer than 100 columns.
#[derive(Debug, clap::Args)]
pub struct Options {}

/// Runs the job.
///
/// # Errors
/// [`Error::Structure`] with all faults.
pub fn run(_: &Options) -> Result<()> {
    let root = workspace::root();
    let packages = crates::packages(&root)?;
    let mut faults = crates::faults(&packages);
    let mut count = 0;
    for package in &packages {
        for source in package.sources() {
            let tree = modules::Tree::read(&source)?;
            count += tree.len();
            let cycles = tree.cycles();
            faults.extend(cycles.iter().map(|cycle| format!("{}: {cycle}", package.name)));
        }
    }
    let files = lines::tracked(&root)?;
    for file in &files {
        faults.extend(lines::faults(&root, file)?);
    }
    if !faults.is_empty() {
        return Err(Error::Structure { faults });
    }
    let crates = packages.len();
    println!("{crates} crates in order, {count} modules without cycles, {} files", files.len());
    Ok(())
}
