//! The methods of `kem.proto`.

use std::sync::Arc;

use tonic::{Request, Response, Status, Streaming};

use super::{Service, State, stream};
use crate::call::Caller;
use crate::fault::Fault;
use crate::proto::kem_server::Kem;
use crate::proto::{
    DecapsulateRequest, DecapsulateResponse, DescribeRequest, DescribeResponse, EncapsulateRequest,
    EncapsulateResponse, GenerateKeysRequest, GenerateKeysResponse, LoadKeysRequest,
    LoadKeysResponse, SealKeysRequest, SealKeysResponse, UnloadKeysRequest, UnloadKeysResponse,
};

/// Returns the caller and the message of a request.
///
/// # Errors
/// [`Fault::Internal`] if the request does not say who the caller is.
fn open<T>(request: Request<T>) -> Result<(Caller, T), Fault> {
    let caller = request.extensions().get::<Caller>().cloned().ok_or(Fault::Internal)?;
    Ok((caller, request.into_inner()))
}

#[tonic::async_trait]
impl Kem for Service {
    type EncapsulateStreamStream = stream::Answers<EncapsulateResponse>;
    type DecapsulateStreamStream = stream::Answers<DecapsulateResponse>;

    async fn describe(
        &self,
        _: Request<DescribeRequest>,
    ) -> Result<Response<DescribeResponse>, Status> {
        Ok(Response::new(self.0.describe()))
    }

    async fn generate_keys(
        &self,
        request: Request<GenerateKeysRequest>,
    ) -> Result<Response<GenerateKeysResponse>, Status> {
        let (caller, request) = open(request)?;
        Ok(Response::new(self.0.generate(&caller, request).await?))
    }

    async fn seal_keys(
        &self,
        request: Request<SealKeysRequest>,
    ) -> Result<Response<SealKeysResponse>, Status> {
        let (caller, request) = open(request)?;
        Ok(Response::new(self.0.seal(&caller, request).await?))
    }

    async fn load_keys(
        &self,
        request: Request<LoadKeysRequest>,
    ) -> Result<Response<LoadKeysResponse>, Status> {
        let (caller, request) = open(request)?;
        let (answer, place) = self.0.load(&caller, request).await?;
        let mut response = Response::new(answer);
        response.extensions_mut().insert(Arc::new(place));
        Ok(response)
    }

    async fn unload_keys(
        &self,
        request: Request<UnloadKeysRequest>,
    ) -> Result<Response<UnloadKeysResponse>, Status> {
        let (caller, UnloadKeysRequest { name }) = open(request)?;
        self.0.forget(vec![self.0.loaded.remove(caller.peer.owner, &name)?]);
        Ok(Response::new(UnloadKeysResponse {}))
    }

    async fn encapsulate(
        &self,
        request: Request<EncapsulateRequest>,
    ) -> Result<Response<EncapsulateResponse>, Status> {
        let (caller, request) = open(request)?;
        let prepared = self.0.encapsulate(&caller, request)?;
        Ok(Response::new(self.0.compute(&caller, prepared).await?))
    }

    async fn decapsulate(
        &self,
        request: Request<DecapsulateRequest>,
    ) -> Result<Response<DecapsulateResponse>, Status> {
        let (caller, request) = open(request)?;
        let prepared = self.0.decapsulate(&caller, request)?;
        Ok(Response::new(self.0.compute(&caller, prepared).await?))
    }

    async fn encapsulate_stream(
        &self,
        request: Request<Streaming<EncapsulateRequest>>,
    ) -> Result<Response<Self::EncapsulateStreamStream>, Status> {
        let (caller, messages) = open(request)?;
        let prepare = State::encapsulate;
        Ok(Response::new(stream::serve(Arc::clone(&self.0), caller, messages, prepare)))
    }

    async fn decapsulate_stream(
        &self,
        request: Request<Streaming<DecapsulateRequest>>,
    ) -> Result<Response<Self::DecapsulateStreamStream>, Status> {
        let (caller, messages) = open(request)?;
        let prepare = State::decapsulate;
        Ok(Response::new(stream::serve(Arc::clone(&self.0), caller, messages, prepare)))
    }
}
