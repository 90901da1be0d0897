//! The format in which measurements are written: one JSON object per line.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::time::SystemTime;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::Statistics;

/// An operation of the KEM.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub enum Operation {
    /// Key generation.
    Keygen,
    /// Encapsulation.
    Encaps,
    /// Decapsulation.
    Decaps,
}

/// The keys that the operations of a measurement use.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyUse {
    /// All operations use one key.
    One,
    /// Each operation has its own key, which the engine decodes in every batch.
    #[default]
    Each,
    /// Each operation has its own key, which the engine has decoded before the measurement.
    Resident,
    /// Key generation returns only the private keys, which contain the public keys.
    Private,
}

/// Where the seeds of the operations of a measurement come from.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum SeedUse {
    /// The engine derives them from one seed.
    #[default]
    Expanded,
    /// Each operation has its own, in memory like that of the rest of its batch.
    Each,
}

impl SeedUse {
    /// Returns whether the engine derives all seeds from one, as in records without the field.
    fn is_expanded(&self) -> bool {
        *self == Self::Expanded
    }
}

impl Operation {
    /// All operations, in the order in which reports name them.
    pub const ALL: [Self; 3] = [Self::Keygen, Self::Encaps, Self::Decaps];

    /// Returns the name in records and on the command line.
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
    /// Returns the name in records.
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

/// Each operation with each kind of keys.
pub const CASES: [(Operation, KeyUse); 8] = [
    (Operation::Keygen, KeyUse::Each),
    (Operation::Keygen, KeyUse::Private),
    (Operation::Encaps, KeyUse::One),
    (Operation::Encaps, KeyUse::Each),
    (Operation::Encaps, KeyUse::Resident),
    (Operation::Decaps, KeyUse::One),
    (Operation::Decaps, KeyUse::Each),
    (Operation::Decaps, KeyUse::Resident),
];

/// One measurement: one line of `ctru bench --json`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Record {
    /// The kind of measurement: "single" for the methods of the key types, "batch" for an engine.
    /// Other programs that write records have words of their own.
    pub bench: String,
    /// The name of the engine, or of the library that is compared.
    pub engine: String,
    /// The name of the device that computes.
    pub device: String,
    /// The kind of code on the device: "cuda", a backend of the CPU, such as "avx2", or the kind of
    /// another library's code.
    pub backend: String,
    /// The parameter set: its degree, such as "761", or the name of a compared scheme.
    pub set: String,
    /// The encoding of public keys, such as "mixed-radix" or "packed13".
    pub pk_encoding: String,
    /// The name of the operation, the kernel or the method.
    pub op: String,
    /// The keys of the operations.
    pub keys: KeyUse,
    /// Where the seeds of the operations come from.
    #[serde(default, skip_serializing_if = "SeedUse::is_expanded")]
    pub seeds: SeedUse,
    /// The number of operations per batch.
    pub batch: usize,
    /// The kind of transfers between host and device.
    pub transfers: String,
    /// The number of threads of the host that compute or serve the device. In records of single
    /// kernels, the number of threads per block.
    pub threads: usize,
    /// The number of threads that give batches to the engine at the same time.
    #[serde(default = "one")]
    pub callers: usize,
    /// Operations per second of all callers together, computed from the median time.
    pub ops_per_s: f64,
    /// The median time per operation in nanoseconds, as one caller sees it.
    pub median_ns_per_op: f64,
    /// The distance between the 10th and the 90th percentile, divided by the median.
    pub spread: f64,
    /// The number of repetitions; 0 if the record holds counts and no time.
    pub samples: usize,
    /// The commit of the sources from which the program was built, with "-dirty" if they have been
    /// changed since, or "unknown".
    pub commit: String,
    /// The date and time of the measurement in UTC, ISO 8601.
    pub date: String,
    /// Further numbers by name. Not all kinds of measurement have them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
}

/// Returns 1, the number of callers of records without this field: they are older than the field.
fn one() -> usize {
    1
}

impl Record {
    /// Returns the record with times, commit and date. Each repetition of `statistics` ran
    /// `operations` operations.
    #[must_use]
    pub fn timed(self, statistics: Statistics, operations: f64) -> Self {
        let median = statistics.median / operations;
        let callers = self.callers.max(1);
        Self {
            callers,
            ops_per_s: callers as f64 * 1e9 / median,
            median_ns_per_op: median,
            spread: statistics.spread,
            samples: statistics.samples,
            ..self.dated()
        }
    }

    /// Returns the record with commit and date.
    #[must_use]
    pub fn dated(self) -> Self {
        Self {
            commit: option_env!("CTRU_COMMIT").unwrap_or("unknown").to_owned(),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            ..self
        }
    }

    /// Returns the record with further numbers, each with its name.
    #[must_use]
    pub fn with_figures<'a>(mut self, figures: impl IntoIterator<Item = (&'a str, f64)>) -> Self {
        self.figures.extend(figures.into_iter().map(|(name, value)| (name.to_owned(), value)));
        self
    }

    /// Returns the further number with this name, if the record has it.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures.get(name).copied()
    }

    /// Writes the record as one line of JSON.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn write_line(&self, mut out: impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut out, self)?;
        writeln!(out)
    }
}

/// Returns the name of this machine's CPU, or its architecture if the system does not report the
/// name.
#[must_use]
pub fn cpu_name() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == "model name");
    model.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}
