//! `ctru-server echo`: a service of the same messages that computes nothing, for comparisons.

use std::io::{self, Write};
use std::process::ExitCode;

use bytes::Bytes;
use ctru_server::proto::kem_server::{Kem, KemServer};
use ctru_server::proto::{
    DecapsulateRequest, DecapsulateResponse, DescribeRequest, DescribeResponse, EncapsulateRequest,
    EncapsulateResponse, GenerateKeysRequest, GenerateKeysResponse, LoadKeysRequest,
    LoadKeysResponse, SealKeysRequest, SealKeysResponse, UnloadKeysRequest, UnloadKeysResponse,
};
use tokio::net::TcpListener;
use tokio_stream::Pending;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

use crate::Result;

struct Echo;

fn zeros(count: u32, size: usize) -> Bytes {
    vec![0; count as usize * size].into()
}

fn absent<T>() -> std::result::Result<T, Status> {
    Err(Status::unimplemented("the echo service only encapsulates"))
}

#[tonic::async_trait]
impl Kem for Echo {
    type EncapsulateStreamStream = Pending<std::result::Result<EncapsulateResponse, Status>>;
    type DecapsulateStreamStream = Pending<std::result::Result<DecapsulateResponse, Status>>;

    async fn generate_keys(
        &self,
        request: Request<GenerateKeysRequest>,
    ) -> std::result::Result<Response<GenerateKeysResponse>, Status> {
        let count = request.into_inner().count;
        let (public_keys, private_keys) = (zeros(count, 1158), zeros(count, 1620));
        Ok(Response::new(GenerateKeysResponse { public_keys, private_keys }))
    }

    async fn encapsulate(
        &self,
        request: Request<EncapsulateRequest>,
    ) -> std::result::Result<Response<EncapsulateResponse>, Status> {
        let count = request.into_inner().count;
        let (ciphertexts, shared_secrets) = (zeros(count, 952), zeros(count, 32));
        Ok(Response::new(EncapsulateResponse { ciphertexts, shared_secrets }))
    }

    async fn describe(
        &self,
        _: Request<DescribeRequest>,
    ) -> std::result::Result<Response<DescribeResponse>, Status> {
        absent()
    }

    async fn seal_keys(
        &self,
        _: Request<SealKeysRequest>,
    ) -> std::result::Result<Response<SealKeysResponse>, Status> {
        absent()
    }

    async fn load_keys(
        &self,
        _: Request<LoadKeysRequest>,
    ) -> std::result::Result<Response<LoadKeysResponse>, Status> {
        absent()
    }

    async fn unload_keys(
        &self,
        _: Request<UnloadKeysRequest>,
    ) -> std::result::Result<Response<UnloadKeysResponse>, Status> {
        absent()
    }

    async fn decapsulate(
        &self,
        _: Request<DecapsulateRequest>,
    ) -> std::result::Result<Response<DecapsulateResponse>, Status> {
        absent()
    }

    async fn encapsulate_stream(
        &self,
        _: Request<tonic::Streaming<EncapsulateRequest>>,
    ) -> std::result::Result<Response<Self::EncapsulateStreamStream>, Status> {
        absent()
    }

    async fn decapsulate_stream(
        &self,
        _: Request<tonic::Streaming<DecapsulateRequest>>,
    ) -> std::result::Result<Response<Self::DecapsulateStreamStream>, Status> {
        absent()
    }
}

/// Serves until the process is ended. Prints its address first.
///
/// # Errors
/// If the system refuses the address.
pub(crate) fn run() -> Result<ExitCode> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        writeln!(io::stdout(), "{}", listener.local_addr()?)?;
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        Server::builder().add_service(KemServer::new(Echo)).serve_with_incoming(incoming).await?;
        Ok(ExitCode::SUCCESS)
    })
}
