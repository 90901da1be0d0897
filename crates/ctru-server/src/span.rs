//! The span of each call: in logs and, with the feature `opentelemetry`, in traces.

use http::{HeaderMap, HeaderValue};
use tonic::Code;
use tracing::Span;
use tracing::field::Empty;

use crate::identity::Peer;

/// Returns the span of a call. It continues the trace that the headers name.
#[cfg_attr(not(feature = "opentelemetry"), allow(unused_variables))]
pub(crate) fn begin(
    method: &'static str,
    id: &HeaderValue,
    peer: &Peer,
    headers: &HeaderMap,
) -> Span {
    // The fields that are empty show nowhere until they are recorded.
    let span = tracing::debug_span!(
        "call",
        method,
        id = id.to_str().unwrap_or_default(),
        client = peer.identity.as_ref().map(|identity| identity.as_str()),
        code = Empty,
        otel.name = Empty,
        otel.kind = Empty,
        otel.status_code = Empty,
    );
    #[cfg(feature = "opentelemetry")]
    traces::begin(&span, method, headers);
    span
}

/// Notes how a call ended. `name` is the name of the status code.
pub(crate) fn end(span: &Span, code: Code, name: &'static str) {
    if cfg!(feature = "opentelemetry") {
        span.record("code", name);
        if is_failure(code) {
            span.record("otel.status_code", "ERROR");
        }
    }
}

/// Returns whether a status means that the server has failed, and not that the client was wrong.
fn is_failure(code: Code) -> bool {
    matches!(
        code,
        Code::Unknown
            | Code::DeadlineExceeded
            | Code::Unimplemented
            | Code::Internal
            | Code::Unavailable
            | Code::DataLoss
    )
}

#[cfg(feature = "opentelemetry")]
mod traces {
    use http::{HeaderMap, HeaderName};
    use opentelemetry::propagation::{Extractor, TextMapPropagator};
    use opentelemetry_sdk::propagation::TraceContextPropagator;
    use tracing::Span;
    use tracing_opentelemetry::OpenTelemetrySpanExt;

    /// Makes a span a part of the trace that the headers name.
    pub(super) fn begin(span: &Span, method: &str, headers: &HeaderMap) {
        span.record("otel.name", method).record("otel.kind", "server");
        // Without a collector, the span belongs to no trace.
        let _ = span.set_parent(TraceContextPropagator::new().extract(&Headers(headers)));
    }

    /// The headers of a call, which can name its trace.
    struct Headers<'a>(&'a HeaderMap);

    impl Extractor for Headers<'_> {
        fn get(&self, key: &str) -> Option<&str> {
            self.0.get(key)?.to_str().ok()
        }

        fn keys(&self) -> Vec<&str> {
            self.0.keys().map(HeaderName::as_str).collect()
        }
    }
}
