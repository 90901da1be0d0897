//! The record of executions, which adds up over runs.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// What runs of a target add up to.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Sum {
    executions: u64,
    seconds: u64,
    /// The most edges and classes of their counts that one run has reached.
    reached: usize,
}

/// Adds a run without findings to a file. Creates the file if it does not exist.
pub(crate) fn add(
    file: &Path,
    target: &str,
    executions: u64,
    seconds: u64,
    reached: usize,
) -> io::Result<()> {
    let mut sums: BTreeMap<String, Sum> = match fs::read(file) {
        Ok(json) => serde_json::from_slice(&json)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
        Err(error) => return Err(error),
    };
    let sum = sums.entry(target.to_owned()).or_default();
    sum.executions += executions;
    sum.seconds += seconds;
    sum.reached = sum.reached.max(reached);
    fs::write(file, serde_json::to_string_pretty(&sums)? + "\n")
}
