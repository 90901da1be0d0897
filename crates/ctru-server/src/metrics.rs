//! Metrics of the server, in the text format of Prometheus.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use tonic::Code;

/// A metric with a value for each value of `N` labels.
type By<const N: usize, M> = Family<[(&'static str, &'static str); N], M>;

/// The metrics of a server.
pub(crate) struct Metrics {
    registry: Registry,
    calls: By<2, Counter>,
    durations: By<1, Histogram>,
    operations: By<1, Counter>,
    batch_sizes: By<1, Histogram>,
    engine_seconds: By<1, Histogram>,
    queue_delays: By<1, Histogram>,
    /// The jobs that a full queue has refused.
    pub(crate) refused: Counter,
    /// The connections that failed before their first call.
    pub(crate) failed_handshakes: Counter,
    pub(crate) connections: Gauge,
    waiting: By<1, Gauge>,
    pub(crate) loaded_keys: Gauge,
    pub(crate) message_bytes: Gauge,
    pub(crate) device_bytes: Gauge<f64, AtomicU64>,
    pub(crate) most_used_key: Gauge<f64, AtomicU64>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics(..)")
    }
}

/// Returns a histogram of times from 50 microseconds to 26 seconds.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(50e-6, 2.0, 20))
}

/// Returns a histogram of numbers of operations from 1 to 262144.
fn sizes() -> Histogram {
    Histogram::new(exponential_buckets(1.0, 4.0, 10))
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("ctru");
        let calls = Family::default();
        registry.register("calls", "Calls that have ended, by status code", calls.clone());
        let durations = Family::new_with_constructor(seconds as fn() -> _);
        let help = "Time from the head of a call to the end of its answer";
        registry.register_with_unit("call_duration", help, Unit::Seconds, durations.clone());
        let operations = Family::default();
        registry.register("operations", "Operations that the engine has done", operations.clone());
        let batch_sizes = Family::new_with_constructor(sizes as fn() -> _);
        registry.register("batch_size", "Operations per call of the engine", batch_sizes.clone());
        let engine_seconds = Family::new_with_constructor(seconds as fn() -> _);
        let help = "Time of each call of the engine";
        registry.register_with_unit("engine", help, Unit::Seconds, engine_seconds.clone());
        let queue_delays = Family::new_with_constructor(seconds as fn() -> _);
        let help = "Time that jobs have waited in the queue";
        registry.register_with_unit("queue_delay", help, Unit::Seconds, queue_delays.clone());
        let refused = Counter::default();
        registry.register("queue_refusals", "Jobs refused by a full queue", refused.clone());
        let failed_handshakes = Counter::default();
        let help = "Connections that failed before the first call";
        registry.register("failed_handshakes", help, failed_handshakes.clone());
        let connections = Gauge::default();
        registry.register("connections", "Open connections", connections.clone());
        let waiting = Family::default();
        registry.register("queued_operations", "Operations in the queue", waiting.clone());
        let loaded_keys = Gauge::default();
        registry.register("loaded_keys", "Keys that clients have loaded", loaded_keys.clone());
        let message_bytes = Gauge::default();
        let help = "Memory of the messages of calls in progress";
        registry.register_with_unit("message", help, Unit::Bytes, message_bytes.clone());
        let device_bytes = Gauge::default();
        let help = "Device memory in use, of all devices and processes";
        registry.register_with_unit("device_memory", help, Unit::Bytes, device_bytes.clone());
        let most_used_key = Gauge::default();
        let help =
            "Decapsulations of the private key that has done most, of those that are counted";
        registry.register("decapsulations_of_most_used_key", help, most_used_key.clone());
        Self {
            registry,
            calls,
            durations,
            operations,
            batch_sizes,
            engine_seconds,
            queue_delays,
            refused,
            failed_handshakes,
            connections,
            waiting,
            loaded_keys,
            message_bytes,
            device_bytes,
            most_used_key,
        }
    }

    /// Counts a call that has ended.
    pub(crate) fn call(&self, method: &'static str, code: Code, duration: Duration) {
        self.calls.get_or_create(&[("method", method), ("code", code_name(code))]).inc();
        self.durations.get_or_create(&[("method", method)]).observe(duration.as_secs_f64());
    }

    /// Counts a call of the engine with `count` operations, of which it has done `done`.
    pub(crate) fn engine_call(
        &self,
        operation: &'static str,
        count: usize,
        done: usize,
        duration: Duration,
    ) {
        let label = [("operation", operation)];
        self.operations.get_or_create(&label).inc_by(done as u64);
        self.batch_sizes.get_or_create(&label).observe(count as f64);
        self.engine_seconds.get_or_create(&label).observe(duration.as_secs_f64());
    }

    /// Counts a job that has left the queue.
    pub(crate) fn waited(&self, lane: &'static str, delay: Duration) {
        self.queue_delays.get_or_create(&[("lane", lane)]).observe(delay.as_secs_f64());
    }

    /// Notes how many operations wait in a lane.
    pub(crate) fn set_waiting(&self, lane: &'static str, operations: usize) {
        self.waiting.get_or_create(&[("lane", lane)]).set(operations as i64);
    }

    /// Returns all metrics as text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = text::encode(&mut text, &self.registry);
        text
    }
}

/// Returns the name of a status code in the documentation of gRPC.
pub(crate) fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
