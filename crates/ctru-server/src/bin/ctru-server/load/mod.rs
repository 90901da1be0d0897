//! `ctru-server load`: puts load on a server and measures it from outside.
//!
//! In the closed loop, a fixed number of calls is in flight. In the open loop (`--rate`), calls
//! begin at fixed times, and the time of each counts from when it should have begun, so that a
//! server that stalls cannot hide the calls that it delays (no coordinated omission).

mod report;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use ctru_server::ClientTls;
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::StreamExt;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

use ctru_kem::Set;
use ctru_program::visible;

use crate::Result;
use report::Measured;
use work::Work;

/// What each call does.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Operation {
    Encapsulate,
    Decapsulate,
}

/// The options of the load.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// Address of the server
    #[arg(long, value_name = "URI", default_value = "http://127.0.0.1:50051")]
    connect: String,
    /// What each call does
    #[arg(long, value_enum, default_value = "encapsulate")]
    operation: Operation,
    /// Parameter set
    #[arg(long, default_value = "761", value_name = "SET")]
    set: Set,
    /// Operations per call, or per message of a stream
    #[arg(long, default_value_t = 1, value_name = "N")]
    operations: u32,
    /// Send messages on streams instead of calls
    #[arg(long)]
    stream: bool,
    /// A key for each operation instead of one for all of a call
    #[arg(long)]
    key_each: bool,
    /// Connections
    #[arg(long, default_value_t = 8, value_name = "N")]
    connections: usize,
    /// Calls in flight of all connections together, or messages of all streams
    #[arg(long, default_value_t = 64, value_name = "N")]
    in_flight: usize,
    /// Calls per second, for an open loop
    #[arg(long, value_name = "N", value_parser = rate, conflicts_with = "stream")]
    rate: Option<f64>,
    /// How long to measure
    #[arg(
        long,
        value_name = "TIME",
        default_value = "10s",
        value_parser = humantime::parse_duration
    )]
    duration: Duration,
    /// How long to put load on the server before
    #[arg(
        long,
        value_name = "TIME",
        default_value = "1s",
        value_parser = humantime::parse_duration
    )]
    warm_up: Duration,
    /// Authority that signs the server's certificate, in PEM
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Certificate of this client, in PEM
    #[arg(long, value_name = "FILE", requires = "key", requires = "ca")]
    cert: Option<PathBuf>,
    /// Private key of this client, in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
}

/// Reads a number of calls per second.
///
/// # Errors
/// If the text is no number, or if no call would ever begin.
fn rate(text: &str) -> std::result::Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| "a number greater than 0".into())
}

/// Puts load on a server and prints what it has measured.
///
/// # Errors
/// If there is no connection, or if the first call fails.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let runtime = tokio::runtime::Runtime::new()?;
    let measured = runtime.block_on(measure(args))?;
    runtime.shutdown_timeout(Duration::from_secs(1));
    measured.print(args.operations)?;
    Ok(if measured.calls() > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Args {
    async fn connect(&self) -> Result<Channel> {
        // The default windows of 64 KiB and frames of 16 KiB are too small for streams.
        let sized = |endpoint: Endpoint| {
            endpoint
                .tcp_nodelay(true)
                .initial_stream_window_size(4 << 20)
                .initial_connection_window_size(16 << 20)
                .max_frame_size(1 << 20)
        };
        let Some(ca) = &self.ca else {
            return Ok(sized(Endpoint::from_shared(self.connect.clone())?).connect().await?);
        };
        let identity = self.cert.clone().zip(self.key.clone());
        let tls = ClientTls { ca: ca.clone(), identity, name: None };
        let (endpoint, connector) = tls.endpoint(&self.connect)?;
        Ok(sized(endpoint).connect_with_connector(connector).await?)
    }
}

/// Returns the text of an error with those of its causes, as that of a transport says nothing.
fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    for cause in std::iter::successors(error.source(), |error| error.source()) {
        let cause = cause.to_string();
        // That of a file says its cause itself.
        if !text.ends_with(&cause) {
            text += &format!(": {cause}");
        }
    }
    text
}

/// The times of a measurement. Calls that end before `from` do not count.
#[derive(Copy, Clone, Debug)]
struct Times {
    from: Instant,
    until: Instant,
}

/// Puts load on a server.
///
/// # Errors
/// If there is no connection, or if the first call fails.
async fn measure(args: &Args) -> Result<Measured> {
    let mut channels = Vec::new();
    for _ in 0..args.connections.max(1) {
        let channel = args.connect().await.map_err(|error| {
            format!("cannot connect to {}: {}", visible(&args.connect), with_causes(&*error))
        })?;
        channels.push(channel);
    }
    let work = Work::prepare(args, channels[0].clone()).await?;
    let start = Instant::now();
    let from = start + args.warm_up;
    let times = Times { from, until: from + args.duration };
    let mut tasks = Vec::new();
    match args.rate {
        Some(rate) => tasks.push(tokio::spawn(open(rate, args.in_flight, channels, work, times))),
        None => {
            for index in 0..args.in_flight.max(1) {
                let (channel, work) = (channels[index % channels.len()].clone(), work.clone());
                tasks.push(match args.stream {
                    true => tokio::spawn(streamed(channel, work, times)),
                    false => tokio::spawn(closed(channel, work, times)),
                });
            }
        }
    }
    let mut measured = Measured::new(args.duration);
    for task in tasks {
        measured.add(&task.await?);
    }
    Ok(measured)
}

/// Makes one call after the other.
async fn closed(channel: Channel, mut work: Work, times: Times) -> Measured {
    let mut measured = Measured::new(times.until - times.from);
    loop {
        let begin = Instant::now();
        if begin >= times.until {
            return measured;
        }
        let result = work.call(channel.clone()).await;
        let end = Instant::now();
        if end >= times.from && end < times.until {
            measured.note(end - begin, result);
        }
    }
}

/// Begins calls at fixed times, of which at most `in_flight` are under way.
async fn open(
    rate: f64,
    in_flight: usize,
    channels: Vec<Channel>,
    work: Work,
    times: Times,
) -> Measured {
    let room = Arc::new(Semaphore::new(in_flight.max(1)));
    let start = Instant::now();
    let (sender, mut ended) = mpsc::unbounded_channel();
    let begin = async move {
        let mut dues = pace(rate, start, times.until);
        let mut channels = channels.iter().cycle();
        while let Some(due) = dues.recv().await {
            let Some(channel) = channels.next() else { return };
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
            let (channel, mut work, sender) = (channel.clone(), work.clone(), sender.clone());
            tokio::spawn(async move {
                let result = work.call(channel).await;
                drop(permit);
                // The receiver lives until all calls have ended.
                let _ = sender.send((due, Instant::now(), result));
            });
        }
    };
    let collect = async move {
        let mut measured = Measured::new(times.until - times.from);
        while let Some((due, end, result)) = ended.recv().await {
            if due >= times.from {
                measured.note(end - due, result);
            }
        }
        measured
    };
    tokio::join!(begin, collect).1
}

/// How often calls of an open loop begin. To wake more often takes processor time from the server.
const PERIOD: Duration = Duration::from_micros(250);

/// Sends the time at which each call begins, at most [`PERIOD`] after that time.
///
/// The timer of the asynchronous runtime knows only whole milliseconds. It would begin the calls of
/// a millisecond together, and each would wait for those before it.
fn pace(rate: f64, start: Instant, until: Instant) -> mpsc::UnboundedReceiver<Instant> {
    let (sender, dues) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        // Times that no clock knows come after the end.
        let dues = (0_u64..).map_while(|number| {
            start.checked_add(Duration::try_from_secs_f64(number as f64 / rate).ok()?)
        });
        for due in dues.take_while(|due| *due < until) {
            while due > Instant::now() {
                std::thread::sleep(PERIOD);
            }
            if sender.send(due).is_err() {
                return;
            }
        }
    });
    dues
}

/// Keeps two messages of a stream in flight.
async fn streamed(channel: Channel, work: Work, times: Times) -> Measured {
    let mut measured = Measured::new(times.until - times.from);
    let (sender, messages) = mpsc::channel(2);
    let mut begun = std::collections::VecDeque::new();
    let mut answers = match work.stream(channel, messages).await {
        Ok(answers) => answers,
        Err(status) => {
            measured.note(Duration::ZERO, Err(status));
            return measured;
        }
    };
    loop {
        while begun.len() < 2 && Instant::now() < times.until {
            if sender.send(()).await.is_err() {
                break;
            }
            begun.push_back(Instant::now());
        }
        let Some(begin) = begun.pop_front() else { return measured };
        let ended = || Err(Status::unavailable("the stream has ended"));
        let result = answers.next().await.unwrap_or_else(ended);
        let (end, is_error) = (Instant::now(), result.is_err());
        if end >= times.from && end < times.until {
            measured.note(end - begin, result);
        }
        if is_error {
            return measured;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_finite_and_greater_than_zero() {
        assert_eq!(rate("0.5"), Ok(0.5));
        for wrong in ["0", "-1", "-0", "inf", "NaN", "many", ""] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn calls_begin_at_fixed_times() {
        let begun = |rate, milliseconds| {
            let start = Instant::now();
            let mut dues = pace(rate, start, start + Duration::from_millis(milliseconds));
            let mut times = Vec::new();
            while let Some(due) = dues.blocking_recv() {
                times.push((due - start).as_millis());
            }
            times
        };
        assert_eq!(begun(100.0, 25), [0, 10, 20]);
        assert_eq!(begun(f64::MIN_POSITIVE, 25), [0]);
    }
}
