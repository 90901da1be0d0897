//! The options of the paper's measurements, and the receiver of their results.

use std::time::Duration;

use clap::ValueEnum;
use ctru_measure::{Record, Statistics, parse_seconds};

use crate::error::Error;
use crate::records::Report;

/// The options of the measurements.
#[derive(Debug, clap::Args)]
pub(in crate::paper) struct Options {
    /// Tables and figures to measure; repeat for several parts [default: all]
    #[arg(long = "only", value_enum, value_name = "PART", conflicts_with = "from")]
    parts: Vec<Part>,
    /// Parameter sets to measure; repeat for several sets [default: all]
    #[arg(
        long = "set",
        value_name = "SET",
        value_parser = ["653", "761", "1277"],
        conflicts_with = "from"
    )]
    sets: Vec<String>,
    /// Number of the GPU
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(super) gpu: u32,
    /// Operations per batch of table 7
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1 << 20,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(super) batch: u32,
    /// Seconds that each measurement of the engine may take
    #[arg(long, value_name = "S", default_value_t = 0.5, value_parser = parse_seconds)]
    seconds: f64,
}

/// Measurements that belong together.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    /// Table 4 and figure 6, and a product on the CPU
    Products,
    /// Table 5, whole encryptions, and section 4.2.2: secret polynomials
    Fusion,
    /// Section 4.2.1: inversions
    Inversion,
    /// Figure 7
    Streams,
    /// Table 6: registers and shared memory
    Resources,
    /// Table 7, and power and memory of table 6
    Operations,
    /// Latencies of small batches
    Latency,
    /// The ceilings, and the work and the time on the device of each operation
    Roofline,
}

impl Options {
    /// Returns whether the user wants the parameter set of degree `n`.
    pub(super) fn wants_set(&self, n: &str) -> bool {
        self.sets.is_empty() || self.sets.iter().any(|set| set == n)
    }

    /// Returns whether the user wants this part.
    pub(super) fn wants(&self, part: Part) -> bool {
        self.parts.is_empty() || self.parts.contains(&part)
    }

    /// Returns the time for each measurement of the engine.
    pub(super) fn budget(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }
}

/// The state that all measurements share.
pub(super) struct Session<'a> {
    pub(super) options: &'a Options,
    device: String,
    /// The degree of the parameter set that is being measured, or an empty string before the first
    /// one.
    pub(super) set: String,
    report: Report<'a>,
}

impl<'a> Session<'a> {
    /// Starts a session on the GPU with the name `device`.
    pub(super) fn new(options: &'a Options, device: String, report: Report<'a>) -> Self {
        Self { options, device, set: String::new(), report }
    }

    /// Reports a record without a time. Adds engine, device, set, commit and date.
    pub(super) fn count(&mut self, record: Record) -> Result<(), Error> {
        let record = self.complete(record).dated();
        (self.report)(record)
    }

    /// Reports a record with the time per operation. Each repetition of `statistics` ran
    /// `operations` operations. Adds engine, device, set, commit and date.
    pub(super) fn time(
        &mut self,
        statistics: Statistics,
        operations: f64,
        record: Record,
    ) -> Result<(), Error> {
        let record = self.complete(record).timed(statistics, operations);
        (self.report)(record)
    }

    /// Reports a record of this machine's CPU, which is complete.
    pub(super) fn of_cpu(&mut self, record: Record) -> Result<(), Error> {
        (self.report)(record)
    }

    fn complete(&self, record: Record) -> Record {
        Record {
            engine: "gpu".to_owned(),
            device: self.device.clone(),
            backend: "cuda".to_owned(),
            set: self.set.clone(),
            ..record
        }
    }
}
