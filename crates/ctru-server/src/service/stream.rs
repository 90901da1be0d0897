//! Streams: the server reads a message when there is room for its work, and answers in order.

use std::sync::Arc;

use prost::Message;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::{Prepared, State};
use crate::call::{Caller, until};
use crate::fault::Fault;
use crate::job::Claim;

/// The messages of a stream that are computed while the client reads an earlier answer.
const AHEAD: usize = 2;

/// The bytes that gRPC sends before each message.
const PREFIX: usize = 5;

/// A message that is being computed.
struct Pending<T> {
    answer: oneshot::Receiver<Result<T, Fault>>,
    claim: Claim,
    /// Its room in the lane.
    room: OwnedSemaphorePermit,
    /// The memory of its request and its answer in bytes.
    bytes: usize,
}

/// Answers the messages of a stream. `prepare` checks a message and makes its job.
pub(super) fn serve<Q: Message + 'static, T: Send + 'static>(
    state: Arc<State>,
    caller: Caller,
    messages: Streaming<Q>,
    prepare: fn(&State, &Caller, Q) -> Result<Prepared<T>, Fault>,
) -> ReceiverStream<Result<T, Status>> {
    let (pending, queued) = mpsc::channel(AHEAD);
    let (answers, answered) = mpsc::channel(1);
    tokio::spawn(answer(queued, answers, caller.clone()));
    tokio::spawn(read(state, caller, messages, prepare, pending));
    ReceiverStream::new(answered)
}

/// Reads messages and queues their jobs, until the stream ends or fails.
async fn read<Q: Message, T>(
    state: Arc<State>,
    caller: Caller,
    mut messages: Streaming<Q>,
    prepare: fn(&State, &Caller, Q) -> Result<Prepared<T>, Fault>,
    pending: mpsc::Sender<Result<Pending<T>, Status>>,
) {
    let mut leaving = state.leaving.clone();
    // If the receiver is gone, so is the client.
    while let Ok(place) = pending.reserve().await {
        let next = tokio::select! {
            biased;
            _ = leaving.wait_for(|leaving| *leaving) => Err(Fault::Leaving.into()),
            () = pending.closed() => return,
            message = messages.message() => message,
        };
        let begun = match next {
            Ok(None) => return,
            Ok(Some(message)) => {
                let size = message.encoded_len();
                // The work of each message begins at its own time.
                let caller = Caller { claim: Claim::default(), ..caller.clone() };
                begin(&state, size, prepare(&state, &caller, message)).await
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

/// Waits for room, and queues a job.
///
/// # Errors
/// The fault of the message.
async fn begin<T>(
    state: &State,
    size: usize,
    prepared: Result<Prepared<T>, Fault>,
) -> Result<Pending<T>, Status> {
    let Prepared { job, answer, answer_bytes } = prepared?;
    let claim = job.claim.clone();
    let count = u32::try_from(job.count.max(1)).unwrap_or(u32::MAX);
    let room = Arc::clone(&state.room).acquire_many_owned(count).await;
    let room = room.map_err(|_| Fault::Leaving)?;
    state.large.submit(job);
    Ok(Pending { answer, claim, room, bytes: PREFIX + size + answer_bytes })
}

/// Sends the answers in the order of the messages, until the first failure.
async fn answer<T>(
    mut queued: mpsc::Receiver<Result<Pending<T>, Status>>,
    answers: mpsc::Sender<Result<T, Status>>,
    caller: Caller,
) {
    loop {
        let next = match until(caller.deadline, Claim::default(), queued.recv()).await {
            Ok(None) => return,
            Ok(Some(Ok(Pending { answer, claim, room, bytes }))) => {
                let answer = until(caller.deadline, claim, answer).await;
                drop(room);
                caller.held.release(bytes);
                let answer = answer.and_then(|answer| answer.unwrap_or(Err(Fault::Internal)));
                answer.map_err(Status::from)
            }
            Ok(Some(Err(status))) => Err(status),
            Err(expired) => Err(expired.into()),
        };
        let is_over = next.is_err();
        if answers.send(next).await.is_err() || is_over {
            return;
        }
    }
}
