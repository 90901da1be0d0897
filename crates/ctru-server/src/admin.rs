//! Metrics, probes and profiles over plain HTTP, on an address of their own.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

use crate::connection::Newest;
use crate::job::Shared;
use crate::room::Memory;
use crate::service::Service;
use crate::stage::Stages;

/// The largest number of connections. When one more begins, the oldest is closed.
pub(crate) const CONNECTIONS: usize = 64;
/// How long a client may take for the head of its request.
const HEAD: Duration = Duration::from_secs(5);
/// How long answers may take when the server ends.
const ENDING: Duration = Duration::from_millis(200);

/// The state that the probes report.
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
        self.shared.metrics.message_bytes.set(self.memory.used() as i64);
    }

    /// Answers until `over`. Answers that are under way at that time may take [`ENDING`] longer.
    pub(crate) async fn run(self, listener: TcpListener, over: impl Future<Output = ()> + Send) {
        let routes = Router::new()
            .route("/metrics", get(metrics))
            .route("/livez", get(live))
            .route("/readyz", get(ready));
        #[cfg(feature = "profiles")]
        let routes = routes.route("/debug/pprof/profile", get(crate::profile::cpu));
        let service = TowerToHyperService::new(routes.with_state(self));
        let newest = Newest::new(CONNECTIONS);
        // When the sender is gone, connections end.
        let (end, ends) = watch::channel(());
        let mut answers = JoinSet::new();
        let mut over = pin!(over);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut over => break,
                Some(_) = answers.join_next() => continue,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    let answer = answer(stream, service.clone(), newest.begin(), ends.clone());
                    answers.spawn(answer);
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection for metrics was not accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop((listener, end));
        while answers.join_next().await.is_some() {}
    }
}

/// Answers one request of a connection. Gives it up if [`CONNECTIONS`] others begin after it.
async fn answer(
    stream: TcpStream,
    service: TowerToHyperService<Router>,
    given_up: oneshot::Receiver<()>,
    mut ends: watch::Receiver<()>,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).keep_alive(false);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        // A client that goes away has no answer.
        _ = connection.as_mut() => {}
        _ = given_up => {}
        _ = ends.changed() => {
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(ENDING, connection).await;
        }
    }
}

async fn metrics(State(admin): State<Admin>) -> impl IntoResponse {
    admin.refresh();
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], admin.shared.metrics.text())
}

/// Answers the liveness probe: fails when only a restart helps.
async fn live(State(admin): State<Admin>) -> (StatusCode, &'static str) {
    match admin.shared.is_lost() {
        true => (StatusCode::SERVICE_UNAVAILABLE, "the device is lost\n"),
        false => (StatusCode::OK, "ok\n"),
    }
}

/// Answers the readiness probe: fails when calls should go to another server.
async fn ready(State(admin): State<Admin>) -> (StatusCode, &'static str) {
    match admin.stages.is_stopping() {
        true => (StatusCode::SERVICE_UNAVAILABLE, "going down\n"),
        false => live(State(admin)).await,
    }
}
