//! Metrics, probes and profiles over plain HTTP, on an address of their own.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;

use crate::job::Shared;
use crate::room::Memory;
use crate::service::Service;
use crate::stage::Stages;

/// What the probes look at.
#[derive(Clone, Debug)]
pub(crate) struct Admin {
    pub(crate) service: Service,
    pub(crate) shared: Arc<Shared>,
    pub(crate) memory: Memory,
    pub(crate) stages: Stages,
}

impl Admin {
    /// Brings the gauges up to date.
    pub(crate) fn refresh(&self) {
        self.service.tidy();
        self.shared.metrics.set_message_bytes(self.memory.used());
    }

    /// Answers until `over`, and then finishes the answers that are under way.
    pub(crate) async fn run(
        self,
        listener: TcpListener,
        over: impl Future<Output = ()> + Send + 'static,
    ) {
        let routes = Router::new()
            .route("/metrics", get(metrics))
            .route("/livez", get(live))
            .route("/readyz", get(ready));
        #[cfg(feature = "profiles")]
        let routes = routes.route("/debug/pprof/profile", get(crate::profile::cpu));
        let serve = axum::serve(listener, routes.with_state(self)).with_graceful_shutdown(over);
        if let Err(error) = serve.await {
            tracing::error!(%error, "the address for metrics and probes failed");
        }
    }
}

async fn metrics(State(admin): State<Admin>) -> impl IntoResponse {
    admin.refresh();
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], admin.shared.metrics.text())
}

/// Fails when only another start helps.
async fn live(State(admin): State<Admin>) -> (StatusCode, &'static str) {
    match admin.shared.is_lost() {
        true => (StatusCode::SERVICE_UNAVAILABLE, "the device is lost\n"),
        false => (StatusCode::OK, "ok\n"),
    }
}

/// Fails when calls should go to another server.
async fn ready(State(admin): State<Admin>) -> (StatusCode, &'static str) {
    match admin.stages.is_stopping() {
        true => (StatusCode::SERVICE_UNAVAILABLE, "going down\n"),
        false => live(State(admin)).await,
    }
}
