//! What measurements have in common: what was asked for, and where results go.

use std::time::Duration;

use clap::ValueEnum;

use crate::budget::seconds;
use crate::error::Error;
use crate::paper::Report;
use crate::paper::line::Line;
use crate::record::{self, Record, Statistics};
use crate::set::Set;

/// Options of the measurements.
#[derive(Debug, clap::Args)]
pub(in crate::paper) struct Options {
    /// Tables and figures to measure; repeat for several [default: all]
    #[arg(long = "only", value_enum, value_name = "PART", conflicts_with = "from")]
    parts: Vec<Part>,
    /// Parameter sets to measure; repeat for several [default: all]
    #[arg(long = "set", value_enum, value_name = "SET", conflicts_with = "from")]
    sets: Vec<Set>,
    /// Number of the GPU
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(super) gpu: u32,
    /// Operations of the batches of table 7
    #[arg(long, value_name = "N", default_value_t = 1 << 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) batch: u32,
    /// Seconds that each measurement of the engine may take
    #[arg(long, value_name = "S", default_value_t = 0.5, value_parser = seconds)]
    seconds: f64,
}

/// What is measured together.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    /// Table 4 and figure 6
    Products,
    /// Table 5
    Fusion,
    /// Figure 7
    Streams,
    /// Table 6: registers and shared memory
    Resources,
    /// Table 7, and power and memory of table 6
    Operations,
    /// Small batches
    Latency,
    /// The ceilings, what operations need, and their time on the device
    Roofline,
}

impl Options {
    pub(super) fn sets(&self) -> &[Set] {
        if self.sets.is_empty() { &Set::ALL } else { &self.sets }
    }

    pub(super) fn wants(&self, part: Part) -> bool {
        self.parts.is_empty() || self.parts.contains(&part)
    }

    pub(super) fn budget(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }
}

/// What all measurements have in common.
pub(super) struct Session<'a> {
    pub(super) options: &'a Options,
    device: String,
    /// Degree of the set that is being measured; nothing before the first one.
    pub(super) set: String,
    report: Report<'a>,
}

impl<'a> Session<'a> {
    /// On the GPU of this name.
    pub(super) fn new(options: &'a Options, device: String, report: Report<'a>) -> Self {
        Self { options, device, set: String::new(), report }
    }

    /// Writes a line down.
    pub(super) fn say(&mut self, line: Line) -> Result<(), Error> {
        (self.report)(line)
    }

    /// Writes a time down: of `operations` operations, and with all that `record` says besides.
    pub(super) fn time(
        &mut self,
        statistics: Statistics,
        operations: f64,
        record: Record,
    ) -> Result<(), Error> {
        let median_ns_per_op = statistics.median / operations;
        let record = Record {
            engine: "gpu".to_owned(),
            device: self.device.clone(),
            backend: "cuda".to_owned(),
            set: self.set.clone(),
            callers: 1,
            ops_per_s: 1e9 / median_ns_per_op,
            median_ns_per_op,
            spread: statistics.spread,
            samples: statistics.samples,
            commit: record::commit(),
            date: record::now(),
            ..record
        };
        self.say(Line::Time(record))
    }
}
