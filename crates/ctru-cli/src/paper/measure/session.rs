//! What is measured, in which order.

use std::time::Duration;

use clap::ValueEnum;
use ctru_gpu_runtime::Device;
use ctru_gpu_runtime::cuda::{CudaDevice, CudaQueue};
use ctru_kem::ParameterSet;
use ctru_kem::engine::cuda;
use ctru_math::R761;

use super::{ceilings, engine, kernels};
use crate::budget::seconds;
use crate::error::Error;
use crate::paper::Report;
use crate::paper::line::Line;
use crate::record::{self, Record, Statistics};
use crate::set::{Encoding, Set, Suite, Task};

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
enum Part {
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

/// Measures everything that is wanted.
///
/// # Errors
/// [`Error`] if the GPU fails or a measurement cannot be written down.
pub(in crate::paper) fn run(options: &Options, report: Report<'_>) -> Result<(), Error> {
    let all_sets = if options.sets.is_empty() { &Set::ALL[..] } else { &options.sets };
    let device = cuda::open::<R761>(options.gpu)?;
    let mut session = Session { options, device: device.info()?.name, set: String::new(), report };
    if options.wants(Part::Roofline) {
        ceilings::of_machine(&mut session, &device)?;
    }
    for &set in all_sets {
        set.degree().clone_into(&mut session.set);
        // The paper's keys, and the engine's default.
        Suite { set, encoding: Encoding::MixedRadix }.run(OneSet { set, session: &mut session })?;
    }
    Ok(())
}

impl Options {
    fn wants(&self, part: Part) -> bool {
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

impl Session<'_> {
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

/// Everything for one parameter set.
struct OneSet<'a, 'b> {
    set: Set,
    session: &'a mut Session<'b>,
}

impl Task for OneSet<'_, '_> {
    type Output = Result<(), Error>;

    fn run<P: ParameterSet>(self) -> Result<(), Error> {
        let Self { set, session } = self;
        let options = session.options;
        let device: CudaDevice = cuda::open::<P::Ring>(options.gpu)?;
        let queue: CudaQueue = device.queue()?;
        if options.wants(Part::Products) {
            kernels::products::<P::Ring>(session, &queue)?;
        }
        if options.wants(Part::Fusion) {
            kernels::encryption::<P::Ring>(session, &queue)?;
        }
        if options.wants(Part::Resources) {
            kernels::resources::<P::Ring>(session, &device)?;
        }
        if options.wants(Part::Streams) && set == engine::STREAMS_SET {
            engine::streams::<P>(session, device)?;
        }
        if options.wants(Part::Operations) {
            engine::operations::<P>(session, device)?;
        }
        if options.wants(Part::Latency) {
            engine::latencies::<P>(session, device)?;
        }
        if options.wants(Part::Roofline) {
            ceilings::of_ring::<P::Ring>(session, &queue)?;
            engine::on_device::<P>(session, device)?;
        }
        Ok(())
    }
}
