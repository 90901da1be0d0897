//! Calls everything that reads bytes from outside with mutated inputs, and keeps the inputs that
//! reach new parts of the program.
//!
//! A panic, or the end of the program, is a finding: the input stays in a file, and the message
//! names it. `.ci/fuzz` builds this program with counters and runs each target for some seconds.
//! With `--record`, it adds the number of executions to a file, so that long runs add up over days.

mod coverage;
mod mutation;
mod record;
mod targets;

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::io::{Seek, Write};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;

use coverage::Coverage;
use mutation::{Random, mutate};
use targets::Target;

/// The most bytes of an input: more than three private keys of the largest set.
const MOST_BYTES: usize = 16 << 10;

/// Call everything that reads bytes from outside with mutated inputs
#[derive(Debug, Parser)]
struct Options {
    /// Names of targets; all if there are none
    targets: Vec<String>,
    /// Seconds for each target
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Start of the random numbers that choose the mutations
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder for inputs that reach new parts, and for findings
    #[arg(long, value_name = "FOLDER", default_value = "target/fuzz/inputs")]
    inputs: PathBuf,
    /// File to which executions are added
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let chosen = |target: &&Target| {
        options.targets.is_empty() || options.targets.iter().any(|name| name == target.name)
    };
    let mut all: Vec<&Target> = targets::ALL.iter().filter(chosen).collect();
    if options.targets.iter().any(|name| name == targets::PLANTED.name) {
        all.push(&targets::PLANTED);
    }
    if all.is_empty() {
        eprintln!("there is no such target");
        return ExitCode::from(2);
    }
    for target in all {
        match fuzz(target, &options) {
            Ok(true) => {}
            Ok(false) => return ExitCode::FAILURE,
            Err(error) => {
                eprintln!("{}: {error}", target.name);
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}

/// Runs a target. Returns whether nothing was wrong.
fn fuzz(target: &'static Target, options: &Options) -> std::io::Result<bool> {
    let folder = options.inputs.join(target.name);
    fs::create_dir_all(&folder)?;
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let mut inputs = (target.begin)();
    for folder in [committed, folder.clone()] {
        inputs.extend(files(&folder)?);
    }
    // If the process ends, its input is here, after its length in eight bytes.
    let place = options.inputs.join(format!("{}.under-way", target.name));
    let mut under_way = File::create(&place)?;
    let mut coverage = Coverage::default();
    let mut random = Random(options.seed);
    let (mut executions, mut kept) = (0u64, 0u32);
    let mut run = |input: &[u8], coverage: &mut Coverage| -> std::io::Result<Option<bool>> {
        under_way.rewind()?;
        under_way.write_all(&[&input.len().to_le_bytes(), input].concat())?;
        executions += 1;
        let mut is_right = true;
        let is_new = coverage.is_extended_by(|| {
            is_right = catch_unwind(|| (target.run)(input)).is_ok();
        });
        Ok(is_right.then_some(is_new))
    };

    let finding = |input: &[u8]| -> std::io::Result<bool> {
        let file = options.inputs.join(format!("finding-{}-{}", target.name, name_of(input)));
        fs::write(&file, input)?;
        eprintln!("{}: a fault; the input is {}", target.name, file.display());
        Ok(false)
    };
    for input in &inputs {
        if run(input, &mut coverage)?.is_none() {
            return finding(input);
        }
    }
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(options.seconds) {
        let mut input = inputs[random.below(inputs.len())].clone();
        let other = random.below(inputs.len());
        mutate(&mut random, &mut input, &inputs[other], MOST_BYTES);
        match run(&input, &mut coverage)? {
            None => return finding(&input),
            Some(true) => {
                fs::write(folder.join(name_of(&input)), &input)?;
                inputs.push(input);
                kept += 1;
            }
            Some(false) => {}
        }
    }
    let seconds = start.elapsed().as_secs();
    fs::remove_file(&place)?;
    let reached = coverage.reached();
    println!(
        "{}: {executions} executions in {seconds} s; {reached} edges and counts, {kept} new inputs",
        target.name
    );
    if let Some(file) = &options.record {
        record::add(file, target.name, executions, seconds, reached)?;
    }
    Ok(true)
}

/// Returns the contents of the files in a folder, in the order of their names. There are none if
/// there is no folder.
fn files(folder: &Path) -> std::io::Result<Vec<Vec<u8>>> {
    if !folder.exists() {
        return Ok(vec![]);
    }
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    paths.sort();
    paths.into_iter().map(fs::read).collect()
}

/// Returns a name for an input that depends on its content.
fn name_of(input: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
