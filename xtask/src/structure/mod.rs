//! Checks the structure of the workspace: crates and modules.
//!
//! - `modules`: the modules of a crate form no cycle.
//! - `crates`: no crate depends on one above it.

mod crates;
mod modules;

use crate::workspace::{self, Metadata};
use crate::{Error, Result};

/// Runs the job.
///
/// # Errors
/// [`Error::Faults`] with all faults.
pub fn run() -> Result<()> {
    let packages = Metadata::read(&workspace::root().join("Cargo.toml"))?.packages;
    let mut faults = crates::faults(&packages);
    let mut count = 0;
    for package in &packages {
        for source in crates::sources(package) {
            let tree = modules::Tree::read(source)?;
            count += tree.len();
            let cycles = tree.cycles();
            faults.extend(cycles.iter().map(|cycle| format!("{}: {cycle}", package.name)));
        }
    }
    Error::unless_none("the workspace breaks the rules of its structure", faults)?;
    let crates = packages.len();
    println!("{crates} crates in order, {count} modules without cycles");
    Ok(())
}
