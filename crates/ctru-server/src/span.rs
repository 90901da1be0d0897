//! The span of each call: in logs and, with the feature `opentelemetry`, in traces.

use http::{HeaderMap, HeaderValue};
use tonic::Code;
use tracing::Span;

use crate::identity::Peer;

/// Returns the span of a call. It continues the trace that the headers name.
#[cfg(feature = "opentelemetry")]
pub(crate) fn begin(
    method: &'static str,
    id: &HeaderValue,
    peer: &Peer,
    headers: &HeaderMap,
) -> Span {
    use opentelemetry::propagation::TextMapPropagator;
    use opentelemetry_sdk::propagation::TraceContextPropagator;
    use tracing::field::Empty;
    use tracing_opentelemetry::OpenTelemetrySpanExt;
    let span = tracing::debug_span!(
        "call",
        method,
        id = id.to_str().unwrap_or_default(),
        client = peer.identity.as_ref().map(|identity| identity.as_str()),
        code = Empty,
        otel.name = method,
        otel.kind = "server",
        otel.status_code = Empty,
    );
    let parent = TraceContextPropagator::new().extract(&traces::Headers(headers));
    // Without a collector, the span belongs to no trace.
    let _ = span.set_parent(parent);
    span
}

/// Returns the span of a call.
#[cfg(not(feature = "opentelemetry"))]
pub(crate) fn begin(
    method: &'static str,
    id: &HeaderValue,
    peer: &Peer,
    _headers: &HeaderMap,
) -> Span {
    tracing::debug_span!(
        "call",
        method,
        id = id.to_str().unwrap_or_default(),
        client = peer.identity.as_ref().map(|identity| identity.as_str()),
    )
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
    use opentelemetry::propagation::Extractor;

    /// The headers of a call, which can name its trace.
    pub(super) struct Headers<'a>(pub(super) &'a HeaderMap);

    impl Extractor for Headers<'_> {
        fn get(&self, key: &str) -> Option<&str> {
            self.0.get(key)?.to_str().ok()
        }

        fn keys(&self) -> Vec<&str> {
            self.0.keys().map(HeaderName::as_str).collect()
        }
    }
}
