//! Streams: the server reads a few messages ahead, and answers in order.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::sync::{mpsc, oneshot};
use tokio_stream::Stream;
use tonic::{Status, Streaming};

use super::{Prepared, State};
use crate::call::{Caller, until};
use crate::fault::Fault;
use crate::job::{Claim, Job};
use crate::room::Held;

/// The number of messages of a stream that are computed while the client reads an earlier answer.
const AHEAD: usize = 2;

/// A message that is being computed.
struct Pending<T> {
    answer: oneshot::Receiver<Result<T, Fault>>,
    claim: Claim,
    /// The memory of its request in bytes.
    request_bytes: usize,
    /// The memory of its answer in bytes.
    answer_bytes: usize,
}

/// An answer, or how the stream fails, and its memory in bytes.
type Answer<T> = (Result<T, Status>, usize);

/// The answers of a stream. An answer counts as memory of the call until the next one is requested.
/// By then gRPC has passed answers of 32 KiB or more to HTTP/2. It may still hold smaller answers,
/// up to 32 KiB in all.
#[derive(Debug)]
pub(crate) struct Answers<T> {
    answers: mpsc::Receiver<Answer<T>>,
    /// The memory of the last answer in bytes.
    last: usize,
    /// If the stream is dropped before its end, the call ends, and what it holds is released.
    held: Arc<Held>,
}

impl<T> Stream for Answers<T> {
    type Item = Result<T, Status>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<T, Status>>> {
        let last = std::mem::take(&mut self.last);
        if last > 0 {
            self.held.release(last);
        }
        let next = ready!(self.answers.poll_recv(context));
        Poll::Ready(next.map(|(answer, bytes)| {
            self.last = bytes;
            answer
        }))
    }
}

/// Answers the messages of a stream. `prepare` checks a message and makes its job.
pub(super) fn serve<Q: Send + 'static, T: Send + 'static>(
    state: Arc<State>,
    caller: Caller,
    messages: Streaming<Q>,
    prepare: fn(&State, &Caller, Q) -> Result<Prepared<T>, Fault>,
) -> Answers<T> {
    let (pending, queued) = mpsc::channel(AHEAD);
    let (answers, answered) = mpsc::channel(1);
    let held = Arc::clone(&caller.held);
    tokio::spawn(answer(queued, answers, caller.clone()));
    tokio::spawn(read(state, caller, messages, prepare, pending));
    Answers { answers: answered, last: 0, held }
}

/// Reads messages and queues their jobs, until the stream ends or fails.
async fn read<Q, T>(
    state: Arc<State>,
    caller: Caller,
    mut messages: Streaming<Q>,
    prepare: fn(&State, &Caller, Q) -> Result<Prepared<T>, Fault>,
    pending: mpsc::Sender<Result<Pending<T>, Status>>,
) {
    let mut stages = state.stages.clone();
    // If the receiver is gone, so is the client.
    while let Ok(place) = pending.reserve().await {
        let next = tokio::select! {
            biased;
            () = stages.left() => Err(Fault::Leaving.into()),
            () = pending.closed() => return,
            message = messages.message() => message,
        };
        let begun = match next {
            Ok(None) => return,
            Ok(Some(message)) => {
                let request_bytes = caller.held.take_message();
                // The work of each message begins at its own time.
                let caller = Caller { claim: Claim::default(), ..caller.clone() };
                prepare(&state, &caller, message).map_err(Status::from).map(|prepared| {
                    let Prepared { job, answer, answer_bytes } = prepared;
                    let claim = job.claim.clone();
                    state.large.submit(Job { is_message: true, ..job });
                    Pending { answer, claim, request_bytes, answer_bytes }
                })
            }
            Err(status) => Err(status),
        };
        let is_over = begun.is_err();
        place.send(begun);
        if is_over {
            return;
        }
    }
}

/// Sends the answers until the client has gone, whose messages then are given up.
async fn answer<T>(
    queued: mpsc::Receiver<Result<Pending<T>, Status>>,
    answers: mpsc::Sender<Answer<T>>,
    caller: Caller,
) {
    let client = answers.clone();
    tokio::select! {
        biased;
        () = client.closed() => {}
        () = send_answers(queued, answers, caller) => {}
    }
}

/// Sends the answers in the order of the messages, until the first failure.
async fn send_answers<T>(
    mut queued: mpsc::Receiver<Result<Pending<T>, Status>>,
    answers: mpsc::Sender<Answer<T>>,
    caller: Caller,
) {
    loop {
        let next = match until(caller.deadline, Claim::default(), queued.recv()).await {
            Ok(None) => return,
            Ok(Some(Ok(Pending { answer, claim, request_bytes, answer_bytes }))) => {
                let answer = until(caller.deadline, claim, answer).await;
                // A job that is given up may still be queued.
                if answer.is_ok() {
                    caller.held.release(request_bytes);
                }
                let answer = answer.and_then(|answer| answer.unwrap_or(Err(Fault::Internal)));
                (answer.map_err(Status::from), answer_bytes)
            }
            Ok(Some(Err(status))) => (Err(status), 0),
            Err(expired) => (Err(expired.into()), 0),
        };
        let is_over = next.0.is_err();
        if answers.send(next).await.is_err() || is_over {
            return;
        }
    }
}
