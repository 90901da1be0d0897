//! Spans of calls reach a collector of OpenTelemetry.

use std::sync::{Arc, Mutex};

use ctru_server::proto::{EncapsulateRequest, encapsulate_request};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use prost::Message;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

use crate::common::{decapsulate, encapsulate, pair};
use crate::program::{Served, finds};

/// A collector that keeps what it gets.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<ExportTraceServiceRequest>>>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.0.lock().unwrap().push(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

/// The server continues the trace of the client, says how calls ended, and tells no secrets.
#[tokio::test(flavor = "multi_thread")]
async fn calls_are_traced() {
    let collector = Collector::default();
    let incoming = TcpIncoming::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let endpoint = format!("http://{}", incoming.local_addr().unwrap());
    let service = TraceServiceServer::new(collector.clone());
    tokio::spawn(Server::builder().add_service(service).serve_with_incoming(incoming));

    let arguments = ["--otlp-endpoint", &endpoint];
    let Served { mut program, client, .. } = Served::start(&arguments).await;
    let mut calls = client.calls();
    let pair = pair(&mut calls).await;
    let mut traced = Request::new(encapsulate(&pair, 1));
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    traced.metadata_mut().insert("traceparent", parent.parse().unwrap());
    let sent = calls.encapsulate(traced).await.unwrap().into_inner();
    calls.decapsulate(decapsulate(&pair, sent.ciphertexts)).await.unwrap();
    let key = Some(encapsulate_request::Key::Loaded("0".repeat(32)));
    let wrong = EncapsulateRequest { key, ..encapsulate(&pair, 1) };
    calls.encapsulate(wrong).await.unwrap_err();
    program.end();

    let requests = collector.0.lock().unwrap().clone();
    let scopes = requests.iter().flat_map(|request| &request.resource_spans);
    let spans: Vec<_> =
        scopes.flat_map(|all| &all.scope_spans).flat_map(|all| &all.spans).collect();
    let code = |index: usize| {
        let code = spans[index].attributes.iter().find(|pair| pair.key == "code").unwrap();
        match code.value.clone().unwrap().value {
            Some(Value::StringValue(text)) => text,
            other => panic!("{other:?}"),
        }
    };
    let named = |name: &str| -> Vec<usize> {
        (0..spans.len()).filter(|&index| spans[index].name == name).collect()
    };
    let [good, wrong] = named("Encapsulate")[..] else { panic!("{spans:?}") };
    assert_eq!(const_hex::encode(&spans[good].trace_id), parent[3..35]);
    assert_eq!(const_hex::encode(&spans[good].parent_span_id), parent[36..52]);
    assert_eq!(spans[good].kind(), SpanKind::Server);
    assert_eq!((&*code(good), &*code(wrong)), ("OK", "NOT_FOUND"));
    assert_ne!(spans[wrong].trace_id, spans[good].trace_id);
    assert_eq!(named("GenerateKeys").len(), 1);
    let told: Vec<u8> = requests.iter().flat_map(Message::encode_to_vec).collect();
    assert!(finds(&told, b"ctru-server"));
    for secret in [pair.private, sent.shared_secrets] {
        for part in secret.windows(8).step_by(4) {
            assert!(!finds(&told, part) && !finds(&told, const_hex::encode(part).as_bytes()));
        }
    }
}
