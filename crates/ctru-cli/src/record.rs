//! Measurements as they are written down.

use std::time::SystemTime;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// An operation of the KEM.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Key generation.
    Keygen,
    /// Encapsulation.
    Encaps,
    /// Decapsulation.
    Decaps,
}

/// Which keys the operations of a measurement use.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyUse {
    /// One key for all operations.
    One,
    /// A key for each operation, decoded each time.
    #[default]
    Each,
    /// A key for each operation, which the engine holds decoded.
    Resident,
    /// Private keys alone, which contain the public ones: results of key generation.
    Private,
}

impl Operation {
    /// Name in records and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Keygen => "keygen",
            Self::Encaps => "encaps",
            Self::Decaps => "decaps",
        }
    }
}

impl KeyUse {
    /// Name in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Each => "each",
            Self::Resident => "resident",
            Self::Private => "private",
        }
    }
}

/// One measurement: one line of `--json`, and of the files under `docs/benchmarks`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Record {
    /// "single" for one operation at a time, "batch" for an engine's batches; others are named where they are measured.
    pub bench: String,
    /// The engine, or the library of a peer.
    pub engine: String,
    /// The device that computes.
    pub device: String,
    /// The kind of code that runs there.
    pub backend: String,
    /// The parameter set.
    pub set: String,
    /// The public-key encoding.
    pub pk_encoding: String,
    /// The operation, or the name of a kernel.
    pub op: String,
    /// Which keys it used.
    pub keys: KeyUse,
    /// Operations of a batch.
    pub batch: usize,
    /// How data came to the device and back.
    pub transfers: String,
    /// Threads of the host.
    pub threads: usize,
    /// Threads that give batches to an engine at a time.
    #[serde(default = "one")]
    pub callers: usize,
    /// Operations a second, from the median.
    pub ops_per_s: f64,
    /// Median time of an operation.
    pub median_ns_per_op: f64,
    /// From the 10th to the 90th percentile, in medians.
    pub spread: f64,
    /// Repetitions of which the median was taken.
    pub samples: usize,
    /// Commit that the program was built from.
    pub commit: String,
    /// When it was measured, ISO 8601.
    pub date: String,
}

/// Callers in records from before there could be several.
fn one() -> usize {
    1
}

/// The commit that this program was built from, or "unknown".
#[must_use]
pub fn commit() -> String {
    option_env!("CTRU_COMMIT").unwrap_or("unknown").to_owned()
}

/// This moment as ISO 8601 in UTC.
#[must_use]
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// What the repetitions of a measurement say.
#[derive(Copy, Clone, Debug)]
pub struct Statistics {
    /// Nanoseconds of a repetition.
    pub median: f64,
    /// From the 10th to the 90th percentile, in medians.
    pub spread: f64,
    /// Number of repetitions.
    pub samples: usize,
}

impl Statistics {
    /// Of the times of at least one repetition, in nanoseconds.
    #[must_use]
    pub fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let percentile = |percent: usize| times[(times.len() - 1) * percent / 100];
        let median = percentile(50);
        Self { median, spread: (percentile(90) - percentile(10)) / median, samples: times.len() }
    }
}
