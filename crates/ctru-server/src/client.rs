//! A client that tries again where that is safe.
//!
//! Every call of the service can be repeated: an encapsulation that is repeated gives another
//! ciphertext, and a decapsulation gives the same secret. Two calls leave something behind when an
//! answer is lost: generated keys, which nobody uses, and loaded keys, which expire.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use tokio::time::timeout;
use tonic::transport::{Channel, Endpoint, Error};
use tonic::{Code, Request, Response, Status};

use crate::proto::kem_client::KemClient;
use crate::proto::{
    DecapsulateRequest, DecapsulateResponse, DescribeRequest, DescribeResponse, EncapsulateRequest,
    EncapsulateResponse, GenerateKeysRequest, GenerateKeysResponse, LoadKeysRequest,
    LoadKeysResponse, SealKeysRequest, SealKeysResponse, UnloadKeysRequest,
};
use crate::tls::{ClientTls, TlsError};

/// How long a connection may take to open.
const CONNECT: Duration = Duration::from_secs(5);
/// The longest timeout that fits the header of a request, rounded down.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(99_999_999);
/// A client with a call in progress asks a silent server whether it is there after this time.
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// How long the server may take to answer that.
const KEEP_ALIVE_ANSWER: Duration = Duration::from_secs(10);

/// How often a client tries, and how long it waits in between.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Retries {
    /// The largest number of attempts, at least 1.
    pub attempts: u32,
    /// The wait before the second attempt. It doubles with each further one, and a random part of
    /// up to a half is left out, so that clients do not come back at the same time.
    pub first_wait: Duration,
    /// The longest wait.
    pub longest_wait: Duration,
    /// The longest time of an attempt, which is also its deadline on the server. `None` stands for
    /// no limit.
    pub attempt_timeout: Option<Duration>,
}

impl Default for Retries {
    /// Returns 6 attempts within about 3 seconds if the server answers, and otherwise of 30 seconds
    /// each.
    fn default() -> Self {
        Self {
            attempts: 6,
            first_wait: Duration::from_millis(100),
            longest_wait: Duration::from_secs(2),
            attempt_timeout: Some(Duration::from_secs(30)),
        }
    }
}

/// A client. Clones share the connection.
#[derive(Clone)]
pub struct Client {
    calls: KemClient<Channel>,
    retries: Retries,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("retries", &self.retries).finish_non_exhaustive()
    }
}

/// Returns whether a call that ended with this status may be repeated: the server is going down or
/// has too much to do, the connection was lost, or a proxy answered in place of the server.
#[must_use]
pub fn is_retryable(status: &Status) -> bool {
    match status.code() {
        // The server never answers `Unknown`. tonic does for it, if a balancer ends an answer
        // because the server behind it has died, and for most failures of HTTP that a proxy
        // reports.
        Code::Unavailable | Code::ResourceExhausted | Code::Unknown => true,
        // A status that did not come from the server has a cause on this side.
        Code::Internal | Code::Cancelled => std::error::Error::source(status).is_some(),
        _ => false,
    }
}

/// Returns whether another attempt follows one that ended so. An expired deadline is that of one
/// attempt, and another server may meet that of the next.
fn is_repeated(status: &Status) -> bool {
    status.code() == Code::DeadlineExceeded || is_retryable(status)
}

/// Sets limits: connections end if they do not open, or if the server is silent.
fn limited(endpoint: Endpoint) -> Endpoint {
    endpoint
        .connect_timeout(CONNECT)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE_ANSWER)
}

impl Client {
    /// Returns a client on a channel, which connects when it is first used and again when the
    /// connection is lost. Messages may have `max_message` bytes either way.
    #[must_use]
    pub fn new(channel: Channel, max_message: usize, retries: Retries) -> Self {
        let calls = KemClient::new(channel)
            .max_decoding_message_size(max_message)
            .max_encoding_message_size(max_message);
        Self { calls, retries }
    }

    /// Returns a client of the server at an address such as `http://127.0.0.1:50051`, for messages
    /// of at most 4 MiB. It gives up a connection that does not open within 5 seconds, or over
    /// which a call waits for 20 seconds while the server answers no ping for 10 more.
    ///
    /// # Errors
    /// If the address is not a URI.
    pub fn at(address: impl Into<String>, retries: Retries) -> Result<Self, Error> {
        let channel = limited(Endpoint::from_shared(address.into())?).connect_lazy();
        Ok(Self::new(channel, 4 << 20, retries))
    }

    /// Returns a client like [`at`](Self::at), of a server with TLS at an address such as
    /// `https://kem.example:50051`.
    ///
    /// # Errors
    /// [`TlsError`] if a file is refused, or if the address has no host.
    pub fn with_tls(address: &str, tls: &ClientTls, retries: Retries) -> Result<Self, TlsError> {
        let (endpoint, connector) = tls.endpoint(address)?;
        let channel = limited(endpoint).connect_with_connector_lazy(connector);
        Ok(Self::new(channel, 4 << 20, retries))
    }

    /// Returns the client of tonic, which does not retry, for streams.
    #[must_use]
    pub fn calls(&self) -> KemClient<Channel> {
        self.calls.clone()
    }

    /// Repeats a call until it succeeds, fails for good, or has had all attempts.
    async fn repeat<Q: Clone, T, F>(
        &self,
        message: Q,
        call: impl Fn(KemClient<Channel>, Request<Q>) -> F,
    ) -> Result<T, Status>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let Retries { attempts, first_wait, longest_wait, attempt_timeout } = self.retries;
        let mut wait = first_wait;
        let mut attempt = 1;
        loop {
            let mut request = Request::new(message.clone());
            let answer = match attempt_timeout {
                Some(limit) => {
                    request.set_timeout(limit.min(LONGEST_TIMEOUT));
                    // The channel watches the limit only until the head of the answer is there.
                    let answer = timeout(limit, call(self.calls.clone(), request)).await;
                    let too_late =
                        |_| Err(Status::deadline_exceeded("there was no answer in time"));
                    answer.unwrap_or_else(too_late)
                }
                None => call(self.calls.clone(), request).await,
            };
            match answer {
                Ok(response) => return Ok(response.into_inner()),
                Err(status) if attempt < attempts && is_repeated(&status) => {}
                Err(status) => return Err(status),
            }
            attempt += 1;
            // Without randomness, all clients wait for the same time.
            let part = getrandom::u32().unwrap_or(0);
            tokio::time::sleep(wait.mul_f64(1.0 - f64::from(part) / f64::from(u32::MAX) / 2.0))
                .await;
            wait = (2 * wait).min(longest_wait);
        }
    }

    /// Returns the sizes, limits and the engine of the server.
    ///
    /// # Errors
    /// The status of the last attempt.
    pub async fn describe(&self) -> Result<DescribeResponse, Status> {
        self.repeat(DescribeRequest {}, async |mut calls, request| calls.describe(request).await)
            .await
    }

    /// Makes the server forget keys. It is no error if the server does not have them.
    ///
    /// # Errors
    /// The status of the last attempt.
    pub async fn unload_keys(&self, name: &str) -> Result<(), Status> {
        let request = UnloadKeysRequest { name: name.into() };
        match self
            .repeat(request, async |mut calls, request| calls.unload_keys(request).await)
            .await
        {
            Err(status) if status.code() != Code::NotFound => Err(status),
            _ => Ok(()),
        }
    }
}

/// Defines methods that repeat a call of the same name.
macro_rules! calls {
    ($(#[doc = $doc:literal] $name:ident: $request:ty => $response:ty;)*) => {
        impl Client {$(
            #[doc = $doc]
            ///
            /// # Errors
            /// The status of the last attempt.
            pub async fn $name(&self, request: $request) -> Result<$response, Status> {
                self.repeat(request, async |mut calls, request| calls.$name(request).await).await
            }
        )*}
    };
}

calls! {
    /// Generates key pairs.
    generate_keys: GenerateKeysRequest => GenerateKeysResponse;
    /// Seals private keys.
    seal_keys: SealKeysRequest => SealKeysResponse;
    /// Keeps keys on the server.
    load_keys: LoadKeysRequest => LoadKeysResponse;
    /// Encapsulates.
    encapsulate: EncapsulateRequest => EncapsulateResponse;
    /// Decapsulates.
    decapsulate: DecapsulateRequest => DecapsulateResponse;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_without_an_answer_of_the_server_are_repeated() {
        // What tonic makes of an answer that ends without a status.
        assert!(is_retryable(&Status::unknown("protocol error: missing grpc-status trailer")));
        assert!(is_retryable(&Status::unavailable("stops")));
        assert!(is_retryable(&Status::resource_exhausted("busy")));
        assert!(is_retryable(&Status::from_error("lost".into())));
        let mut broken = Status::internal("h2 protocol error");
        assert!(!is_retryable(&broken));
        broken.set_source(std::sync::Arc::new(std::io::Error::other("lost")));
        assert!(is_retryable(&broken));
        for answer in [Status::internal("fault"), Status::cancelled("gone")] {
            assert!(!is_retryable(&answer));
        }
        assert!(!is_retryable(&Status::invalid_argument("scheme.set")));
    }
}
