//! `ctru bench reductions` and `ctru bench ntt`: every method of modular multiplication, on the machine at hand.

mod cpu;
#[cfg(feature = "cuda")]
mod gpu;
mod measurement;
mod plot;
mod tables;

use std::io::Write;

use crate::budget::seconds;
use crate::engine::EngineChoice;
use crate::error::Error;

pub use measurement::Measurement;

/// What else than the KEM is measured.
#[derive(Debug, clap::Subcommand)]
pub enum Laboratory {
    /// Measure chains of modular products by every method
    ///
    /// Sixteen dependent products an element by factors known beforehand, moduli of 16, 20, 24 and 28 bits. A GPU works on 2^24
    /// elements; the CPU on 2^16, which stay in its caches.
    Reductions(Options),
    /// Measure products of polynomials modulo x^n - 1 by every method
    ///
    /// Transforms with three moduli and n up to 131072, of data that is on the device, in batches and one at a time.
    Ntt(Options),
    /// Draw measurements that were written with --json, as SVG
    Plot(plot::Options),
}

/// Options of the measurements.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Where to measure
    #[arg(long, value_enum, default_value = "auto")]
    engine: EngineChoice,
    /// Number of the GPU
    #[cfg(feature = "cuda")]
    #[arg(long, default_value_t = 0, value_name = "N")]
    gpu: u32,
    /// Methods to measure; repeat for several [default: all]
    #[arg(long = "method", value_name = "METHOD")]
    methods: Vec<String>,
    /// Seconds that each measurement on the CPU may take
    #[arg(long, value_name = "S", default_value_t = 0.2, value_parser = seconds)]
    seconds: f64,
    /// Print one JSON object a measurement
    #[arg(long)]
    json: bool,
}

/// Which of the two is measured.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Bench {
    Reductions,
    Ntt,
}

impl Laboratory {
    /// Runs the command.
    ///
    /// # Errors
    /// [`Error`] if there is no such GPU or it fails, or if a file or standard output does.
    pub fn run(&self, out: &mut dyn Write) -> Result<(), Error> {
        let (bench, options) = match self {
            Self::Reductions(options) => (Bench::Reductions, options),
            Self::Ntt(options) => (Bench::Ntt, options),
            Self::Plot(options) => return plot::run(options),
        };
        let mut measurements = Vec::new();
        options.measure(bench, &mut |measurement| {
            if options.json {
                serde_json::to_writer(&mut *out, &measurement).map_err(std::io::Error::from)?;
                writeln!(out)?;
            }
            measurements.push(measurement);
            Ok(())
        })?;
        if !options.json {
            tables::write(bench, &measurements, out)?;
        }
        Ok(())
    }
}

/// Takes measurements as they come.
type Report<'a> = &'a mut dyn FnMut(Measurement) -> Result<(), Error>;

impl Options {
    fn measure(&self, bench: Bench, report: Report<'_>) -> Result<(), Error> {
        match self.engine {
            EngineChoice::Cpu => cpu::measure(self, bench, report),
            #[cfg(feature = "cuda")]
            EngineChoice::Auto if crate::gpu::is_there() => gpu::measure(self, bench, report),
            #[cfg(feature = "cuda")]
            EngineChoice::Gpu => gpu::measure(self, bench, report),
            #[cfg(not(feature = "cuda"))]
            EngineChoice::Gpu => Err(Error::WithoutGpu),
            EngineChoice::Auto => cpu::measure(self, bench, report),
        }
    }

    fn wants(&self, method: &str) -> bool {
        self.methods.is_empty() || self.methods.iter().any(|wanted| wanted == method)
    }
}
