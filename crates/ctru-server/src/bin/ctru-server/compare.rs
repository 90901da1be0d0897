//! `ctru-server compare`: a server beside an echo service and the engine alone, in one run.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::num::NonZero;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use ctru_kem::engine::{Context, CpuEngine, Engine, Expand, Keys, Seeds};
use ctru_kem::{Ciphertext, CtruPrime761, DecapsulationKey, SharedSecret};

use crate::Result;
use crate::load::{self, Measured};

/// The options of the comparison.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// How long to measure each service, each time
    #[arg(
        long,
        value_name = "TIME",
        default_value = "3s",
        value_parser = humantime::parse_duration
    )]
    duration: Duration,
    /// How often each service is measured, in turns. The best rate counts, and at half load the
    /// median latency
    #[arg(long, value_name = "N", default_value = "3")]
    repeat: NonZero<usize>,
    /// Options of `ctru-server serve` for the server
    #[arg(last = true)]
    serve: Vec<String>,
}

/// A service in a process of its own, which ends when the value is dropped.
struct Service {
    process: Child,
    address: String,
}

impl Drop for Service {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Service {
    /// Starts this program with a subcommand that prints its address.
    fn start(arguments: &[String]) -> Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()?;
        let output = process.stdout.take().ok_or("the process has no output")?;
        let mut address = String::new();
        BufReader::new(output).read_line(&mut address)?;
        Ok(Self { process, address: format!("http://{}", address.trim()) })
    }

    /// Returns the processor time of the process so far.
    fn processor_time(&self) -> Result<Duration> {
        processor_time(&self.process.id().to_string())
    }
}

/// Returns the processor time of a process so far, in steps of 10 ms.
fn processor_time(process: &str) -> Result<Duration> {
    let text = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The second field is a name in parentheses; the 14th and 15th are times.
    let fields = text.rsplit_once(')').ok_or("/proc has another format")?.1;
    let ticks = |field: usize| -> Result<u64> {
        Ok(fields.split_whitespace().nth(field - 3).ok_or("/proc has another format")?.parse()?)
    };
    Ok(Duration::from_millis(10 * (ticks(14)? + ticks(15)?)))
}

/// Returns the options of a load with these arguments.
fn load_args(address: &str, duration: Duration, more: &[&str]) -> Result<load::Args> {
    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: load::Args,
    }
    let duration = format!("{}ms", duration.as_millis());
    let first = ["load", "--connect", address, "--duration", &duration];
    Ok(Line::try_parse_from(first.iter().chain(more))?.args)
}

fn measure(address: &str, duration: Duration, more: &[&str]) -> Result<Measured> {
    let runtime = tokio::runtime::Runtime::new()?;
    let measured = runtime.block_on(load::measure(&load_args(address, duration, more)?))?;
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(measured)
}

/// The operations of each message of a stream.
const STREAMED: usize = 1024;

/// Returns the processor time of the engine for one encapsulation, without a server.
fn engine_time(duration: Duration) -> Result<Duration> {
    let engine = CpuEngine::new()?;
    let key = DecapsulationKey::<CtruPrime761>::try_generate()?.encapsulation_key();
    let mut ciphertexts = vec![Ciphertext::default(); STREAMED];
    let mut secrets = vec![SharedSecret::default(); STREAMED];
    let seeds = Expand { seed: &[7; 32], context: Context::EMPTY, first: 0 };
    let (start, before) = (Instant::now(), processor_time("self")?);
    let mut count = 0;
    while start.elapsed() < duration {
        let keys = Keys::One(&key);
        engine.encapsulate(keys, Seeds::Expand(seeds), &mut ciphertexts, &mut secrets)?;
        count += STREAMED as u32;
    }
    Ok((processor_time("self")? - before) / count)
}

/// Compares, and prints what it has measured.
///
/// # Errors
/// If a service does not start or refuses calls.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<String>>();
    let keys = tempfile::NamedTempFile::new()?;
    fs::write(keys.path(), ctru_server::SealingKeys::fresh_line()?.as_bytes())?;
    let mut serve = words("serve --print-address --log warn --listen 127.0.0.1:0");
    serve.extend(["--sealing-key-file".into(), keys.path().display().to_string()]);
    serve.extend(args.serve.iter().cloned());
    let server = Service::start(&serve)?;
    let echo = Service::start(&words("echo"))?;
    let mut out = ctru_program::stdout()?;

    let (mut calls, mut echoes) = (0.0_f64, 0.0_f64);
    let repeat = args.repeat.get();
    for _ in 0..repeat {
        echoes = echoes.max(measure(&echo.address, args.duration, &[])?.rate());
        calls = calls.max(measure(&server.address, args.duration, &[])?.rate());
    }
    drop(echo);
    let part = 100.0 * calls / echoes;
    writeln!(out, "unary, 8 connections, 64 in flight: {calls:.0} calls/s")?;
    writeln!(
        out,
        "echo of the same messages: {echoes:.0} calls/s; the server reaches {part:.0} %"
    )?;

    let half = calls / 2.0;
    let open = ["--rate", &half.to_string(), "--in-flight", "1000"];
    let measure_half = |_| measure(&server.address, args.duration, &open);
    let measured = (0..repeat).map(measure_half).collect::<Result<Vec<Measured>>>()?;
    let reached = measured.iter().map(Measured::rate).fold(half, f64::min);
    let mut slowest: Vec<Duration> = measured.iter().map(|one| one.percentile(99.0)).collect();
    slowest.sort_unstable();
    let [first, median, last] = [0, repeat / 2, repeat - 1].map(|rank| slowest[rank]);
    writeln!(out, "at half load, {half:.0} calls/s: {median:.2?} for 99 %")?;
    writeln!(out, "from {first:.2?} to {last:.2?}, with at least {reached:.0} calls/s")?;

    let engine = engine_time(args.duration)?;
    let operations = STREAMED.to_string();
    let stream = ["--stream", "--operations", &operations, "--in-flight", "4", "--warm-up", "0s"];
    let before = server.processor_time()?;
    let streamed = measure(&server.address, args.duration, &stream)?;
    let count = streamed.calls() as u32 * STREAMED as u32;
    let time = (server.processor_time()? - before) / count.max(1);
    let ratio = time.as_secs_f64() / engine.as_secs_f64();
    writeln!(out, "streams: {:.0} operations/s", streamed.rate() * STREAMED as f64)?;
    writeln!(
        out,
        "processor time per operation: {time:.2?}, engine alone {engine:.2?}: {ratio:.2}"
    )?;
    Ok(ExitCode::SUCCESS)
}
