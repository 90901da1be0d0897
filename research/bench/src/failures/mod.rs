//! `ctru-research failures`: derives the rates of decryption failures from the parameters alone,
//! and counts failures with the noise scaled up.
//!
//! The derivation in the order of the modules:
//!
//! - [`noise`]: what the noise is, its covariance, and the one assumption of the model;
//! - [`ball`]: a bound from the length of the noise of a block, if the noise is normal;
//! - [`code`]: the events that make the exact decoder fail, and their sum, if the noise is normal;
//! - [`chain`], [`model`]: the same sum for the noise as it is, over random keys and messages;
//! - [`keys`]: the rates of single keys and messages;
//! - [`spread`], [`tilted`]: those of rare ones, by a formula and by samples;
//! - [`tail`]: how probabilities of 2^-300 are computed;
//! - [`experiment`]: the counts.
//!
//! Normal noise is not a safe assumption: a product of two random polynomials is large most easily
//! if both factors are, so large values are likelier than for normal noise. For a fixed key they
//! are not likelier, but the variance differs from key to key.

mod ball;
mod chain;
mod code;
mod experiment;
mod keys;
mod measure;
mod model;
mod noise;
mod random;
mod report;
mod set;
mod spread;
mod tail;
mod tilted;

use std::io::Write;
use std::path::PathBuf;

use crate::error::Error;
use crate::records::{self, Records};

pub(crate) use measure::{NORMAL, UNION};
pub(crate) use report::log2_of_counts;

/// Derive the rates of decryption failures, and count failures with the noise scaled up
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Parameter set: 653, 761 or 1277 [default: all]
    #[arg(long, value_name = "SET")]
    set: Option<String>,
    /// Keys to sample for the spread over keys
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = at_least_one)]
    keys: usize,
    /// Messages to sample for the spread over messages
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = at_least_one)]
    messages: usize,
    /// Keys, and messages, to sample for each rarity
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = at_least_one)]
    rare: usize,
    /// Pairs of a key and a message to sample for the covariance
    #[arg(long, value_name = "N", default_value_t = 8192, value_parser = at_least_one)]
    pairs: usize,
    /// Decapsulations per parameter set in which to count failures; 0 counts none
    #[arg(long, value_name = "N", default_value_t = 1 << 22)]
    decapsulations: usize,
    /// Read results from a file instead of computing them; repeat for several files
    #[arg(long = "from", value_name = "FILE")]
    from: Vec<PathBuf>,
    /// Write one JSON object per result to this file
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    json: Option<PathBuf>,
}

/// Parses a number of samples.
fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("there must be at least one".to_owned()),
        Ok(count) => Ok(count),
        Err(error) => Err(error.to_string()),
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    let records = if args.from.is_empty() {
        records::collect(args.json.as_deref(), |report| measure::measure(args, report))?
    } else {
        Records::read(&args.from)?
    };
    report::write(&records, out)
}
