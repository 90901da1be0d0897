//! `ctru-research lab`: measures every method of modular multiplication on this machine.

mod cpu;
#[cfg(feature = "cuda")]
mod gpu;
mod tables;

use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use ctru_measure::parse_seconds;

use crate::error::Error;
use crate::records::{self, Records, Report};

pub(crate) use tables::{giga_products, len, modulus};

/// Elements of the array whose chains a GPU computes.
const ELEMENTS: usize = 1 << 24;

/// Measure every method of modular multiplication
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Laboratory {
    /// Measure chains of modular products by every method
    ///
    /// A chain multiplies an element by sixteen constants, one after the other. The moduli have 16,
    /// 20, 24, 28 and 31 bits. A GPU works on 2^24 elements, the CPU on 2^16, which stay in its
    /// caches. Counters of Nsight Compute are shown if files of records hold them.
    Reductions(Reductions),
    /// Measure products of polynomials modulo x^n - 1 by every method
    ///
    /// The products use complete transforms with three moduli and n up to 131072. The data is on
    /// the device. Products are measured in batches and one at a time. Calls with transfers,
    /// allocation and a launch per layer are measured too.
    Ntt(Options),
}

/// The options of chains.
#[derive(Debug, clap::Args)]
pub(crate) struct Reductions {
    #[command(flatten)]
    options: Options,
    /// Only launch each chain N times in blocks of the default size, for a profiler; measure
    /// nothing
    #[cfg(feature = "cuda")]
    #[arg(long, value_name = "N", conflicts_with = "from")]
    launches: Option<u32>,
}

/// The device that is measured.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// The cores of this machine
    Cpu,
    /// An NVIDIA GPU
    Gpu,
    /// A GPU if there is one, the CPU otherwise
    Auto,
}

/// The options of the measurements.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Device to measure
    #[arg(long, value_enum, default_value = "auto")]
    engine: Engine,
    /// Number of the GPU
    #[cfg(feature = "cuda")]
    #[arg(long, default_value_t = 0, value_name = "N")]
    gpu: u32,
    /// Methods to measure; repeat for several methods [default: all]
    #[arg(long = "method", value_name = "METHOD")]
    methods: Vec<String>,
    /// Moduli to measure; repeat for several moduli [default: all]
    #[arg(long = "modulus", value_name = "M")]
    moduli: Vec<u32>,
    /// Seconds that each measurement on the CPU may take
    #[arg(long, value_name = "S", default_value_t = 0.2, value_parser = parse_seconds)]
    seconds: f64,
    /// Read measurements from a file instead of measuring; repeat for several files
    #[arg(long = "from", value_name = "FILE")]
    from: Vec<PathBuf>,
    /// Write one JSON object per measurement to this file
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    json: Option<PathBuf>,
}

/// One of the two measurements.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Bench {
    Reductions,
    Ntt,
}

impl Laboratory {
    /// Runs the command.
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Error> {
        let (bench, options) = match self {
            #[cfg(feature = "cuda")]
            Self::Reductions(Reductions { options, launches: Some(launches) }) => {
                return gpu::launch_chains(options, *launches);
            }
            Self::Reductions(Reductions { options, .. }) => (Bench::Reductions, options),
            Self::Ntt(options) => (Bench::Ntt, options),
        };
        let records = if options.from.is_empty() {
            records::collect(options.json.as_deref(), |report| options.measure(bench, report))?
        } else {
            Records::read(&options.from)?
        };
        tables::write(bench, &records, out)
    }
}

impl Options {
    fn measure(&self, bench: Bench, report: Report<'_>) -> Result<(), Error> {
        match self.engine {
            Engine::Cpu => cpu::measure(self, bench, report),
            #[cfg(feature = "cuda")]
            Engine::Auto if crate::gpu::is_there() => gpu::measure(self, bench, report),
            #[cfg(feature = "cuda")]
            Engine::Gpu => gpu::measure(self, bench, report),
            #[cfg(not(feature = "cuda"))]
            Engine::Gpu => Err(Error::WithoutGpu),
            Engine::Auto => cpu::measure(self, bench, report),
        }
    }

    /// Returns whether the user wants this method with this modulus.
    fn wants(&self, method: &str, modulus: u32) -> bool {
        (self.methods.is_empty() || self.methods.iter().any(|wanted| wanted == method))
            && (self.moduli.is_empty() || self.moduli.contains(&modulus))
    }
}
