//! Checks that no compiled kernel leaks a secret through its branches, addresses or divisions.

use std::convert::Infallible;
use std::fs;
use std::path::PathBuf;

use ptx_check::flow;
use ptx_check::plant::{self, Kind, Plan};

use crate::{IoContext, Result, declared, families, ptx};

/// Follows secrets through the kernels' PTX, and fails if the time or an address depends on one
///
/// The content of every array that a kernel takes is secret. The command fails if an address, a
/// branch, a guard of an access, a lane of a shuffle, a barrier or a division depends on a secret,
/// or if it does not know an instruction. There are four exceptions: kernels whose name says that
/// they measure a runtime_division may divide, array 1 of kernels whose name begins with `layer_`
/// is public, and so are the array of `ntruprime_draw_again` that says which elements have an
/// inverse, and all that a kernel reads whose name begins with `check_`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Check these files of PTX instead of the committed ones
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Check only kernels whose name contains this text
    #[arg(long, default_value = "")]
    kernel: String,
    /// Also plant leaks of all kinds into the kernels, and fail if the analysis misses one of them
    #[arg(long, value_name = "SEED", num_args = 0..=1, default_missing_value = "1")]
    plant: Option<u64>,
}

/// Runs the job.
///
/// # Errors
/// [`Error::Faults`](crate::Error::Faults) with all findings, or the reason why a text could not be
/// read.
pub fn run(options: &Options) -> Result<()> {
    let files = match &options.files[..] {
        [] => vec![families::saved()?],
        files => files.to_vec(),
    };
    files.iter().try_for_each(|path| {
        let text = fs::read_to_string(path).at("read", path)?;
        println!("{}: {}", path.display(), declared::check_ptx(&text, &options.kernel)?);
        // The committed kernels together have places for all kinds.
        let is_all = options.files.is_empty() && options.kernel.is_empty();
        let kinds = if is_all { Kind::ALL } else { &[] };
        options.plant.map_or(Ok(()), |seed| find_planted(&text, &options.kernel, seed, kinds))
    })
}

/// Plants leaks into the kernels whose names contain `kernel`, looks for them, and prints the
/// counts.
fn find_planted(text: &str, kernel: &str, seed: u64, kinds: &[Kind]) -> Result<()> {
    let decode = |text: &str| {
        Ok::<_, Infallible>(match flow::ptx::decode(text) {
            Ok(programs) => programs.into_iter().map(Ok).collect(),
            Err(refused) => vec![Err(refused)],
        })
    };
    let takes = |name: &str| name.contains(kernel) && declared::is_strict(name);
    let plan = Plan { takes: &takes, seed, most: 1 };
    let Ok(planted) = plant::search(text, &ptx::parse(text)?, plan, 1, decode);
    declared::judge(planted, seed, kinds)
}
