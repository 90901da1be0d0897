//! Handles what all calls have in common: caller, deadline, memory, number and metrics.
//!
//! When the deadline passes before the work begins, the call ends with `DEADLINE_EXCEEDED`, and the
//! work is not done. Once the work has begun, the call ends as the work does, even after the
//! deadline. So a client that gets this code from the server knows that the call has not counted
//! against the limit of a key. It may have counted against the rate of the client.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body::Frame;
use hyper::body::Incoming;
use tonic::body::Body;
use tonic::service::Routes;
use tonic::{Code, Status};
use tower::Service as _;
use tracing::Instrument;

use crate::arrival::Arrival;
use crate::fault::Fault;
use crate::identity::Peer;
use crate::job::{Claim, Shared};
use crate::loaded::Place;
use crate::metrics::code_name;
use crate::room::{Held, Memory};
use crate::span;
use crate::stage::Stages;

/// The header that names a call. The server takes the client's name or makes one.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest name that the server takes from a client.
const LONGEST_ID: usize = 64;
/// The name of all methods of other services.
const OTHER: &str = "other";
/// The bytes that a call takes apart from its head and its messages, for its task, its stream of
/// HTTP/2, and the overhead of the allocator.
const STATE: usize = 8 << 10;
/// The bytes that each header takes apart from its name and its value, as HTTP/2 counts them.
const HEADER: usize = 32;
/// Answers go to HTTP/2 in pieces of this size, so that a call holds its memory until the client
/// has read almost all of its answer. A stream takes its next answer only then, and so holds the
/// memory of each.
const PIECE: usize = 128 << 10;

/// The caller of a request, and what the call may use. Each request carries it as an extension.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) peer: Peer,
    pub(crate) deadline: Option<Instant>,
    pub(crate) claim: Claim,
    pub(crate) held: Arc<Held>,
}

/// Handles the calls of a server.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    pub(crate) routes: Routes,
    pub(crate) shared: Arc<Shared>,
    pub(crate) memory: Memory,
    /// The number of the next call.
    pub(crate) next: Arc<AtomicU64>,
    /// How long a request may take to arrive.
    pub(crate) receive_timeout: Duration,
    pub(crate) stages: Stages,
}

impl Calls {
    /// Handles one call.
    pub(crate) async fn handle(
        mut self,
        peer: Peer,
        request: Request<Incoming>,
    ) -> Result<Response<Observed>, Infallible> {
        let started = Instant::now();
        let method = method(request.uri().path());
        let id = request_id(request.headers(), &self.next);
        let span = span::begin(method, &id, &peer, request.headers());
        let deadline = timeout(request.headers()).and_then(|timeout| started.checked_add(timeout));
        let held = Arc::new(Held::new(self.memory, peer.share));
        // A client may reset the call at any time, which drops this.
        let mut end = End {
            shared: self.shared,
            method,
            started,
            code: None,
            place: None,
            span,
            held: Arc::clone(&held),
        };
        let claim = Claim::default();
        let (mut head, body) = request.into_parts();
        let counted = held.grow(STATE + head_bytes(&head.headers));
        let caller = Caller { peer, deadline, claim: claim.clone(), held: Arc::clone(&held) };
        head.extensions.insert(caller);
        let over = (method == OTHER).then(|| over(self.stages.clone()));
        let arrival = Arrival::new(is_stream(head.uri.path()), self.receive_timeout);
        let rest = Bytes::new();
        let body = Body::new(Counted { body, rest, arrival, held, over, is_over: false });
        let answer = async {
            match counted {
                Ok(()) => self.routes.call(Request::from_parts(head, body)).await,
                Err(full) => Ok(Status::from(full).into_http()),
            }
        };
        let answer = until(deadline, claim, answer).instrument(end.span.clone()).await;
        let mut response = match answer {
            Ok(Ok(response)) => response,
            Ok(Err(never)) => match never {},
            Err(expired) => Status::from(expired).into_http(),
        };
        response.headers_mut().insert(REQUEST_ID, id);
        end.code = response.headers().get(Status::GRPC_STATUS).map(code_of);
        end.place = response.extensions_mut().remove();
        // The other answers count as memory when they are made.
        let answer = matches!(method, OTHER | "Describe").then_some(0);
        Ok(response.map(|body| Observed { body, rest: Bytes::new(), answer, is_over: false, end }))
    }
}

/// Waits for the answer to work. Gives up at the deadline if the work has not begun.
///
/// # Errors
/// [`Fault::Expired`] if the work has not begun. Then it will not.
pub(crate) async fn until<T>(
    deadline: Option<Instant>,
    claim: Claim,
    answer: impl Future<Output = T>,
) -> Result<T, Fault> {
    let mut answer = pin!(answer);
    if let Some(deadline) = deadline {
        if let Ok(answer) = tokio::time::timeout_at(deadline.into(), answer.as_mut()).await {
            return Ok(answer);
        }
        if claim.take() {
            return Err(Fault::Expired);
        }
    }
    Ok(answer.await)
}

/// Returns the name of a method for metrics, so that a client cannot make up names.
fn method(path: &str) -> &'static str {
    const METHODS: [&str; 9] = [
        "Describe",
        "GenerateKeys",
        "SealKeys",
        "LoadKeys",
        "UnloadKeys",
        "Encapsulate",
        "Decapsulate",
        "EncapsulateStream",
        "DecapsulateStream",
    ];
    let name = path.strip_prefix("/ctru.v1.Kem/");
    METHODS.into_iter().find(|method| Some(*method) == name).unwrap_or(OTHER)
}

/// Returns whether the client may send messages for as long as it likes.
fn is_stream(path: &str) -> bool {
    path.ends_with("Stream") || path.ends_with("/ServerReflectionInfo")
}

/// Returns the bytes of headers.
fn head_bytes(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| HEADER + name.as_str().len() + value.len()).sum()
}

fn request_id(headers: &HeaderMap, next: &AtomicU64) -> HeaderValue {
    let given = headers
        .get(REQUEST_ID)
        .filter(|id| id.len() <= LONGEST_ID && id.as_bytes().iter().all(u8::is_ascii_graphic));
    given.cloned().unwrap_or_else(|| {
        let number = next.fetch_add(1, Ordering::Relaxed);
        HeaderValue::from_str(&format!("{number:016x}")).unwrap_or(HeaderValue::from_static("-"))
    })
}

/// Returns the time that the client gives the call. A header that is not as the protocol says is
/// ignored.
fn timeout(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let amount: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(3600 * amount),
        "M" => Duration::from_secs(60 * amount),
        "S" => Duration::from_secs(amount),
        "m" => Duration::from_millis(amount),
        "u" => Duration::from_micros(amount),
        "n" => Duration::from_nanos(amount),
        _ => return None,
    })
}

fn code_of(value: &HeaderValue) -> Code {
    Code::from_bytes(value.as_bytes())
}

/// Waits until the server leaves.
type Over = Pin<Box<dyn Future<Output = ()> + Send>>;

fn over(mut stages: Stages) -> Over {
    Box::pin(async move { stages.left().await })
}

/// The body of a request. Its bytes count as memory of the call. gRPC gets the messages of a stream
/// one by one, so that the call can tell what each of them has taken.
struct Counted {
    body: Incoming,
    /// The rest of the last frame of the body.
    rest: Bytes,
    arrival: Arrival,
    held: Arc<Held>,
    /// Ends the body when the server is going down. The streams of `kem.proto` then end by
    /// themselves, but those of reflection would delay the shutdown.
    over: Option<Over>,
    is_over: bool,
}

impl http_body::Body for Counted {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Some(over) = &mut self.over
            && over.as_mut().poll(context).is_ready()
        {
            self.over = None;
            self.is_over = true;
        }
        if self.is_over {
            return Poll::Ready(None);
        }
        if self.arrival.is_between_messages() {
            // Reflection asks for the next message when it has answered the last one, whose memory
            // it does not know. Other streams have taken theirs.
            self.held.release(self.held.take_message());
        }
        if self.rest.is_empty() {
            let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
                return self.arrival.poll_late(context).map(|fault| Some(Err(fault.into())));
            };
            let Some(frame) = frame else { return Poll::Ready(None) };
            match frame.map_err(|error| Status::from_error(error.into()))?.into_data() {
                Ok(data) => {
                    self.held.grow(data.len())?;
                    self.rest = data;
                }
                Err(frame) => return Poll::Ready(Some(Ok(frame))),
            }
        }
        let Self { rest, arrival, held, .. } = &mut *self;
        let piece = rest.split_to(arrival.note(rest));
        held.pass_on(piece.len());
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over || self.rest.is_empty() && self.body.is_end_stream()
    }
}

/// The body of an answer. Notes how the call ends.
#[derive(Debug)]
pub(crate) struct Observed {
    body: Body,
    /// The rest of the last piece of the body.
    rest: Bytes,
    /// The memory of the last message in bytes, if nobody else has counted it.
    answer: Option<usize>,
    /// Whether the answer was cut off.
    is_over: bool,
    end: End,
}

/// Writes the metrics of a call when it is dropped.
#[derive(Debug)]
struct End {
    shared: Arc<Shared>,
    method: &'static str,
    started: Instant,
    /// The status, once it is known.
    code: Option<Code>,
    /// The place of keys that the call has loaded. The server keeps them if the client gets their
    /// name.
    place: Option<Arc<Place>>,
    span: tracing::Span,
    held: Arc<Held>,
}

impl http_body::Body for Observed {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        if !self.rest.has_remaining() {
            let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
            match frame {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => {
                        if let Err(full) = self.count(data.len()) {
                            return Poll::Ready(Some(Ok(self.cut_off(full))));
                        }
                        self.rest = data;
                    }
                    Err(frame) => {
                        if let Some(code) =
                            frame.trailers_ref().and_then(|all| all.get(Status::GRPC_STATUS))
                        {
                            self.end.code = Some(code_of(code));
                        }
                        if let Some(place) = &self.end.place {
                            place.keep();
                        }
                        return Poll::Ready(Some(Ok(frame)));
                    }
                },
                other => return Poll::Ready(other),
            }
        }
        let length = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(length);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over || !self.rest.has_remaining() && self.body.is_end_stream()
    }
}

impl Observed {
    /// Counts the memory of the next message of the answer in place of the last one, unless other
    /// code counts it.
    ///
    /// # Errors
    /// [`Fault::MemoryFull`].
    fn count(&mut self, bytes: usize) -> Result<(), Fault> {
        let Some(last) = &mut self.answer else { return Ok(()) };
        self.end.held.release(std::mem::take(last));
        self.end.held.grow(bytes)?;
        *last = bytes;
        Ok(())
    }

    /// Ends the answer with a fault. Returns its last frame.
    fn cut_off(&mut self, fault: Fault) -> Frame<Bytes> {
        let status = Status::from(fault);
        let mut trailers = HeaderMap::new();
        // A status without details has headers.
        let _ = status.add_header(&mut trailers);
        self.is_over = true;
        self.end.code = Some(status.code());
        Frame::trailers(trailers)
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // A call without a status was reset by the client, or its connection was lost.
        let code = self.code.unwrap_or(Code::Cancelled);
        let duration = self.started.elapsed();
        self.shared.metrics.call(self.method, code, duration);
        span::end(&self.span, code, code_name(code));
        let _entered = self.span.enter();
        tracing::debug!(code = code_name(code), ?duration, "the call ended");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_read_as_the_protocol_says() {
        let read = |text: &'static str| {
            let value = HeaderValue::from_static(text);
            timeout(&HeaderMap::from_iter([(HeaderName::from_static("grpc-timeout"), value)]))
        };
        assert_eq!(read("1H"), Some(Duration::from_secs(3600)));
        assert_eq!(read("2M"), Some(Duration::from_secs(120)));
        assert_eq!(read("99999999S"), Some(Duration::from_secs(99_999_999)));
        assert_eq!(read("5m"), Some(Duration::from_millis(5)));
        assert_eq!(read("6u"), Some(Duration::from_micros(6)));
        assert_eq!(read("0n"), Some(Duration::ZERO));
        for wrong in ["", "S", "1", "1s", "-1S", "+1S", "999999999S", "1 S"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(timeout(&HeaderMap::new()), None);
    }

    #[test]
    fn heads_are_counted() {
        let one = (HeaderName::from_static("te"), HeaderValue::from_static("trailers"));
        let two = (REQUEST_ID, HeaderValue::from_static(""));
        assert_eq!(head_bytes(&HeaderMap::from_iter([one, two])), 2 * 32 + 2 + 8 + 12);
    }

    #[test]
    fn streams_are_told_by_their_path() {
        for path in ["/ctru.v1.Kem/EncapsulateStream", "/ctru.v1.Kem/DecapsulateStream"] {
            assert!(is_stream(path));
        }
        assert!(is_stream("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"));
        assert!(
            !is_stream("/ctru.v1.Kem/Encapsulate") && !is_stream("/grpc.health.v1.Health/Watch")
        );
    }

    #[test]
    fn methods_come_from_a_list() {
        assert_eq!(method("/ctru.v1.Kem/Encapsulate"), "Encapsulate");
        assert_eq!(method("/ctru.v1.Kem/Other"), "other");
        assert_eq!(method("/grpc.health.v1.Health/Check"), "other");
    }

    #[test]
    fn names_of_calls_are_short_and_printable() {
        let next = AtomicU64::new(7);
        let id = |value: &[u8]| {
            let value = HeaderValue::from_bytes(value).unwrap();
            request_id(&HeaderMap::from_iter([(REQUEST_ID, value)]), &next)
        };
        assert_eq!(id(b"abc-1"), "abc-1");
        assert_eq!(id(b"a b"), "0000000000000007");
        assert_eq!(id(&[b'a'; 65]), "0000000000000008");
    }
}
