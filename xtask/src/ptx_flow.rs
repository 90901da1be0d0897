//! Checks that no compiled kernel shows a secret by its branches, addresses or divisions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;
use std::{fs, thread};

use crate::build_ptx::{LABORATORY, RECIPE};
use crate::flow::analysis::analyse;
use crate::flow::{declared, ptx};
use crate::plant::{self, Planted};
use crate::{Error, IoContext, Result, manifest, workspace};

/// Follows secrets through the kernels' PTX and fails where a time or an address would show one
///
/// Everything in the arrays that kernels take is secret. Fails if an address, a branch, a guard of an
/// access, a lane of a shuffle, a barrier or a division depends on it, and if there is an
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
    let committed = || [&RECIPE, &LABORATORY].map(|recipe| manifest::ptx_path(&root, recipe)).to_vec();
    let files = if options.files.is_empty() { committed() } else { options.files.clone() };
    files.iter().try_for_each(|path| {
        let text = fs::read_to_string(path).at("read", path)?;
        println!("{}: {}", path.display(), check(&text, &options.kernel)?);
        options.plant.map_or(Ok(()), |seed| find_planted(&text, &options.kernel, seed))
    })
}

/// Checks the kernels of a text whose names contain `kernel`. Returns what was looked at, in words.
///
/// # Errors
/// [`Error::Leaks`] with all that was found.
pub fn check(text: &str, kernel: &str) -> Result<String> {
    let start = Instant::now();
    let refused = |error: ptx::NotUnderstood| Error::Leaks { faults: vec![error.to_string()] };
    let mut programs = ptx::decode(text).map_err(refused)?;
    programs.retain(|program| program.name.contains(kernel));
    let outcome = declared::check(&programs);
    if !outcome.faults.is_empty() {
        return Err(Error::Leaks { faults: outcome.faults });
    }
    let declared::Outcome { kernels, dividing, instructions, secret_stores, .. } = outcome;
    let except = match dividing {
        0 => String::new(),
        count => format!(" but by the divisions of {count} kernels that are there to divide"),
    };
    Ok(format!(
        "{kernels} kernels, {instructions} instructions, {secret_stores} stores of secrets; no secret \
         is shown{except} ({:.1} s)",
        start.elapsed().as_secs_f64()
    ))
}

/// Plants leaks into the kernels whose names contain `kernel`, looks for them, and prints the counts.
///
/// # Errors
/// [`Error::Missed`] with the leaks that were not found where they were planted, and those that were
/// found although the secret was replaced by a public number.
pub fn find_planted(text: &str, kernel: &str, seed: u64) -> Result<()> {
    let mut leaks = plant::ptx::plant(text, seed);
    // Where everything is secret, and nothing is shown before.
    let is_strict = |name: &str| !declared::divides(name) && declared::public_arrays(name).is_empty();
    leaks.retain(|leak| leak.kernel.contains(kernel) && is_strict(&leak.kernel));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let missed: Vec<&Planted> = thread::scope(|scope| {
        let search = |leaks| scope.spawn(move || Vec::from_iter(leaks_not_found(leaks)));
        let threads: Vec<_> = leaks.chunks(leaks.len().div_ceil(threads).max(1)).map(search).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("the search does not panic")).collect()
    });
    let mut counts = BTreeMap::<&str, usize>::new();
    for leak in &leaks {
        *counts.entry(leak.class).or_default() += 1;
    }
    println!("seed {seed}: {} leaks planted, {} found:", leaks.len(), leaks.len() - missed.len());
    counts.iter().for_each(|(class, count)| println!("  {count:5} {class}"));
    let describe = |leak: &&Planted| {
        let line = leak.text.lines().nth(*leak.lines.end() - 1).unwrap_or_default().trim();
        format!("{}: {}, by {}: {line}", leak.kernel, leak.class, leak.carrier)
    };
    match missed.iter().map(describe).collect::<Vec<_>>() {
        missed if missed.is_empty() => Ok(()),
        missed => Err(Error::Missed { missed }),
    }
}

/// Returns the leaks that are not found where they were planted, or are found where there is none.
fn leaks_not_found(leaks: &[Planted]) -> impl Iterator<Item = &Planted> {
    let finds = |leak: &Planted, text: &str| {
        let programs = ptx::decode(text).unwrap_or_default();
        let findings = programs
            .iter()
            .flat_map(|program| analyse(program, declared::public_arrays(&program.name)).findings);
        findings.into_iter().any(|finding| leak.lines.contains(&finding.place))
    };
    leaks.iter().filter(move |leak| !finds(leak, &leak.text) || finds(leak, &leak.clean))
}
