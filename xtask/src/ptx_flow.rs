//! Checks that no compiled kernel shows a secret by its branches, addresses or divisions.

use std::fs;
use std::path::PathBuf;

use crate::flow::{declared, ptx};
use crate::manifest::{self, RECIPES};
use crate::plant::{self, Plan};
use crate::{IoContext, Result, workspace};

/// Follows secrets through the kernels' PTX and fails where a time or an address would show one
///
/// Everything in the arrays that kernels take is secret. Fails if an address, a branch, a guard of
/// an access, a lane of a shuffle, a barrier or a division depends on it, and if there is an
/// instruction that it does not understand. Of the laboratory's kernels those are let pass that are
/// there to divide.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The PTX to look at instead of the committed texts
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only kernels whose name contains this
    #[arg(long, default_value = "")]
    kernel: String,
    /// Plants leaks of all classes into the kernels and fails if one of them is not found
    #[arg(long, value_name = "SEED", num_args = 0..=1, default_missing_value = "1")]
    plant: Option<u64>,
}

/// Does the job.
///
/// # Errors
/// [`Error::Leaks`] with all that was found, or why a text could not be read.
pub fn run(options: &Options) -> Result<()> {
    let root = workspace::root();
    let committed = || RECIPES.map(|recipe| manifest::ptx_path(&root, recipe)).to_vec();
    let files = if options.files.is_empty() { committed() } else { options.files.clone() };
    files.iter().try_for_each(|path| {
        let text = fs::read_to_string(path).at("read", path)?;
        println!("{}: {}", path.display(), declared::check_ptx(&text, &options.kernel)?);
        options.plant.map_or(Ok(()), |seed| find_planted(&text, &options.kernel, seed))
    })
}

/// Plants leaks into the kernels whose names contain `kernel`, looks for them, and prints the
/// counts.
fn find_planted(text: &str, kernel: &str, seed: u64) -> Result<()> {
    let decode = |text: &str| {
        Ok(match ptx::decode(text) {
            Ok(programs) => programs.into_iter().map(Ok).collect(),
            Err(refused) => vec![Err(refused)],
        })
    };
    plant::search(text, Plan { kernel, seed, most: 1 }, 1, decode)?.verdict(seed)
}
