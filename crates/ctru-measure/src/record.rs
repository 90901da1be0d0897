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

/// Which keys the operations of a measurement use.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyUse {
    /// All operations use one key.
    One,
    /// Each operation has its own key, which is decoded each time.
    #[default]
    Each,
    /// Each operation has its own key, which the engine has decoded before.
    Resident,
    /// Key generation returns the private keys only, which contain the public keys.
    Private,
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

/// One measurement: one line of `ctru bench --json` and of the files under `docs/benchmarks`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Record {
    /// What was measured: "single" for the methods of the key types, "batch" for an engine.
    /// `docs/benchmarks/README.md` lists the other values.
    pub bench: String,
    /// The engine, or the library of a peer.
    pub engine: String,
    /// The device that computes.
    pub device: String,
    /// The kind of code that runs on the device.
    pub backend: String,
    /// The parameter set.
    pub set: String,
    /// The public-key encoding.
    pub pk_encoding: String,
    /// The operation, the kernel or the method.
    pub op: String,
    /// The keys of the operations.
    pub keys: KeyUse,
    /// Operations per batch.
    pub batch: usize,
    /// How data travels between host and device.
    pub transfers: String,
    /// Threads of the host.
    pub threads: usize,
    /// Threads that give batches to the engine at the same time.
    #[serde(default = "one")]
    pub callers: usize,
    /// Operations per second of all callers together, from the median.
    pub ops_per_s: f64,
    /// Median time per operation, as one caller sees it.
    pub median_ns_per_op: f64,
    /// Distance between the 10th and the 90th percentile, divided by the median.
    pub spread: f64,
    /// Number of repetitions; 0 if the record holds counts and no time.
    pub samples: usize,
    /// Commit of the sources that the program was built from.
    pub commit: String,
    /// Date and time of the measurement, ISO 8601.
    pub date: String,
    /// Further numbers by name, for the kinds of measurement that have them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
}

/// Returns the number of callers of records that were written before there could be several.
fn one() -> usize {
    1
}

impl Record {
    /// Adds times, commit and date. Each repetition of `statistics` ran `operations` operations.
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

    /// Adds commit and date.
    #[must_use]
    pub fn dated(self) -> Self {
        Self {
            commit: option_env!("CTRU_COMMIT").unwrap_or("unknown").to_owned(),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            ..self
        }
    }

    /// Adds further numbers.
    #[must_use]
    pub fn with_figures<'a>(mut self, figures: impl IntoIterator<Item = (&'a str, f64)>) -> Self {
        self.figures.extend(figures.into_iter().map(|(name, value)| (name.to_owned(), value)));
        self
    }

    /// Returns one of the further numbers.
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

/// Returns the name of this machine's CPU, or its architecture if the system does not tell the
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
