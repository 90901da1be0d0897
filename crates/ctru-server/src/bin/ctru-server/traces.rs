//! Sends the spans of calls to a collector of OpenTelemetry.

use std::time::Duration;

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::layer::Layer;
use tracing_subscriber::registry::Registry;

use crate::Result;

/// How long the program waits at its end for the collector.
const LAST_SPANS: Duration = Duration::from_secs(5);

/// The sender of spans.
pub(crate) struct Traces(SdkTracerProvider);

impl Traces {
    /// Starts to send spans to the collector at an address such as `http://127.0.0.1:4317`. There
    /// must be a runtime. A collector that does not answer loses spans, and calls go on.
    ///
    /// # Errors
    /// If the address is refused.
    pub(crate) fn start(endpoint: &str) -> Result<Self> {
        let exporter = SpanExporter::builder().with_tonic().with_endpoint(endpoint).build()?;
        let resource = Resource::builder().with_service_name("ctru-server").build();
        let provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_batch_exporter(exporter)
            .build();
        Ok(Self(provider))
    }

    /// Returns the layer that takes the spans of calls.
    pub(crate) fn layer(&self) -> impl Layer<Registry> + Send + Sync + use<> {
        let of_calls = filter_fn(|span| span.is_span() && span.target() == "ctru_server::span");
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer("ctru-server"))
            .with_filter(of_calls.with_max_level_hint(LevelFilter::DEBUG))
    }

    /// Sends the last spans.
    pub(crate) fn end(&self) {
        if let Err(error) = self.0.shutdown_with_timeout(LAST_SPANS) {
            tracing::warn!(%error, "spans are lost");
        }
    }
}
