//! `ctru-bench lab`: measures every method of modular multiplication on this machine.

mod cpu;
#[cfg(feature = "cuda")]
mod gpu;
mod tables;

use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use ctru_measure::parse_seconds;

use crate::error::Error;
use crate::records::{self, Report};

pub(crate) use tables::{giga_products, len, modulus};

/// Measure every method of modular multiplication
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Laboratory {
    /// Measure chains of modular products by every method
    ///
    /// A chain multiplies an element by sixteen constants, one after the other. The moduli have 16,
    /// 20, 24 and 28 bits. A GPU works on 2^24 elements, the CPU on 2^16, which stay in its caches.
    Reductions(Options),
    /// Measure products of polynomials modulo x^n - 1 by every method
    ///
    /// The products use complete transforms with three moduli and n up to 131072. The data is on
    /// the device. Products are measured in batches and one at a time.
    Ntt(Options),
}

/// A device.
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
    /// Seconds that each measurement on the CPU may take
    #[arg(long, value_name = "S", default_value_t = 0.2, value_parser = parse_seconds)]
    seconds: f64,
    /// Write one JSON object per measurement to this file
    #[arg(long, value_name = "FILE")]
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
            Self::Reductions(options) => (Bench::Reductions, options),
            Self::Ntt(options) => (Bench::Ntt, options),
        };
        let records =
            records::collect(options.json.as_deref(), |report| options.measure(bench, report))?;
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

    /// Returns whether the user wants this method.
    fn wants(&self, method: &str) -> bool {
        self.methods.is_empty() || self.methods.iter().any(|wanted| wanted == method)
    }
}
