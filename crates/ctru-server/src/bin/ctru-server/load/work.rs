//! The calls of a load.

use std::pin::Pin;

use ctru_server::proto::kem_client::KemClient;
use ctru_server::proto::{
    DecapsulateRequest, EncapsulateRequest, GenerateKeysRequest, Scheme, decapsulate_request,
    encapsulate_request,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::Status;
use tonic::transport::Channel;

use super::{Args, Operation};
use crate::Result;

/// The largest message of clients in bytes. The server may have a smaller limit.
const MAX_MESSAGE: usize = 64 << 20;

/// The request that a load repeats.
#[derive(Clone, Debug)]
pub(super) enum Work {
    Encapsulate(EncapsulateRequest),
    Decapsulate(DecapsulateRequest),
}

/// The answers of a stream.
pub(super) type Answers = Pin<Box<dyn Stream<Item = std::result::Result<(), Status>> + Send>>;

fn client(channel: Channel) -> KemClient<Channel> {
    KemClient::new(channel)
        .max_decoding_message_size(MAX_MESSAGE)
        .max_encoding_message_size(MAX_MESSAGE)
}

impl Work {
    /// Generates keys and, if they are needed, ciphertexts.
    ///
    /// # Errors
    /// If the server refuses a call.
    pub(super) async fn prepare(args: &Args, channel: Channel) -> Result<Self> {
        let set = args.set.number().into();
        let scheme = Some(Scheme { set, encoding: 1 });
        let mut calls = client(channel);
        let keys = if args.key_each { args.operations } else { 1 };
        let request = GenerateKeysRequest { scheme, count: keys, plain: false };
        let made = calls.generate_keys(request).await?.into_inner();
        let key = match args.key_each {
            true => encapsulate_request::Key::PublicKeys(made.public_keys),
            false => encapsulate_request::Key::PublicKey(made.public_keys),
        };
        let encapsulate = EncapsulateRequest { scheme, key: Some(key), count: args.operations };
        if args.operation == Operation::Encapsulate {
            return Ok(Self::Encapsulate(encapsulate));
        }
        let sent = calls.encapsulate(encapsulate).await?.into_inner();
        let key = match args.key_each {
            true => decapsulate_request::Key::PrivateKeys(made.private_keys),
            false => decapsulate_request::Key::PrivateKey(made.private_keys),
        };
        let ciphertexts = sent.ciphertexts;
        Ok(Self::Decapsulate(DecapsulateRequest { scheme, key: Some(key), ciphertexts }))
    }

    /// Makes a call.
    ///
    /// # Errors
    /// The status of the call.
    pub(super) async fn call(&mut self, channel: Channel) -> std::result::Result<(), Status> {
        let mut calls = client(channel);
        match self {
            Self::Encapsulate(request) => calls.encapsulate(request.clone()).await.map(drop),
            Self::Decapsulate(request) => calls.decapsulate(request.clone()).await.map(drop),
        }
    }

    /// Opens a stream, on which a message goes out whenever one comes from `messages`.
    ///
    /// # Errors
    /// The status of the call.
    pub(super) async fn stream(
        &self,
        channel: Channel,
        messages: mpsc::Receiver<()>,
    ) -> std::result::Result<Answers, Status> {
        let mut calls = client(channel);
        let messages = ReceiverStream::new(messages);
        Ok(match self.clone() {
            Self::Encapsulate(request) => {
                let messages = messages.map(move |()| request.clone());
                let answers = calls.encapsulate_stream(messages).await?.into_inner();
                Box::pin(answers.map(|answer| answer.map(drop)))
            }
            Self::Decapsulate(request) => {
                let messages = messages.map(move |()| request.clone());
                let answers = calls.decapsulate_stream(messages).await?.into_inner();
                Box::pin(answers.map(|answer| answer.map(drop)))
            }
        })
    }
}
