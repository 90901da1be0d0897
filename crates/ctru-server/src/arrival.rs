//! The time that a request may take to arrive.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::Sleep;

use crate::fault::Fault;

/// The number of bytes before each message of gRPC: a flag, and the length of the message.
const PREFIX: usize = 5;

/// Follows the body of a request.
///
/// The body of a single message must be complete within the limit. In a stream, the client may wait
/// between messages, and the server may be slow to read; but once a message has begun, the server
/// waits for each of its next bytes for no longer than the limit.
pub(crate) struct Arrival {
    limit: Duration,
    /// The time at which the client is late, or `None` while it may wait.
    late: Option<Pin<Box<Sleep>>>,
    /// The message that is arriving, if the body is a stream.
    message: Option<Incomplete>,
}

/// A message of a stream that is arriving.
#[derive(Debug, Default, PartialEq, Eq)]
struct Incomplete {
    /// The bytes of the prefix that have arrived.
    prefix: [u8; PREFIX],
    has: usize,
    /// The number of bytes of the message that are still to come.
    rest: usize,
}

impl Incomplete {
    /// Notes the next bytes until a message ends. Returns their number.
    fn note(&mut self, mut data: &[u8]) -> usize {
        let before = data.len();
        while !data.is_empty() {
            if self.has < PREFIX {
                let count = data.len().min(PREFIX - self.has);
                let (now, later) = data.split_at(count);
                self.prefix[self.has..][..count].copy_from_slice(now);
                self.has += count;
                data = later;
                if self.has == PREFIX {
                    let [_, length @ ..] = self.prefix;
                    self.rest = u32::from_be_bytes(length) as usize;
                }
            } else {
                let count = data.len().min(self.rest);
                self.rest -= count;
                data = &data[count..];
            }
            if self.has == PREFIX && self.rest == 0 {
                self.has = 0;
                break;
            }
        }
        before - data.len()
    }

    /// Returns whether a message has begun and is not complete.
    fn is_under_way(&self) -> bool {
        self.has > 0
    }
}

impl Arrival {
    /// Begins with the head of a call.
    pub(crate) fn new(is_stream: bool, limit: Duration) -> Self {
        let late = (!is_stream).then(|| Box::pin(tokio::time::sleep(limit)));
        Self { limit, late, message: is_stream.then(Incomplete::default) }
    }

    /// Notes bytes of the body, in a stream until a message ends. Returns their number.
    pub(crate) fn note(&mut self, data: &[u8]) -> usize {
        let Some(message) = &mut self.message else { return data.len() };
        self.late = None;
        message.note(data)
    }

    /// Returns whether the body is a stream, and none of its messages is arriving.
    pub(crate) fn is_between_messages(&self) -> bool {
        self.message.as_ref().is_some_and(|message| !message.is_under_way())
    }

    /// Becomes ready when the client is late, that is, when it has sent nothing for too long.
    pub(crate) fn poll_late(&mut self, context: &mut Context<'_>) -> Poll<Fault> {
        let limit = self.limit;
        if self.message.as_ref().is_some_and(Incomplete::is_under_way) {
            self.late.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        }
        let Some(late) = &mut self.late else { return Poll::Pending };
        ready!(late.as_mut().poll(context));
        Poll::Ready(Fault::Slow { limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_streams_are_followed() {
        let message = |length: u8| [&[0, 0, 0, 0, length][..], &vec![9; length.into()]].concat();
        let stream = [message(0), message(3), message(200), message(1)].concat();
        let ends = [5, 13, 218, 224];
        for step in [1, 2, 3, 7, 100, 224] {
            let mut incomplete = Incomplete::default();
            let mut sent = 0;
            for mut data in stream.chunks(step) {
                while !data.is_empty() {
                    let noted = incomplete.note(data);
                    data = &data[noted..];
                    sent += noted;
                    assert_eq!(incomplete.is_under_way(), !ends.contains(&sent), "{sent}");
                }
            }
        }
    }

    #[tokio::test]
    async fn clients_that_stop_are_late() {
        let limit = Duration::from_secs(1);
        let late = async |arrival: &mut Arrival, seconds| {
            let wait = std::future::poll_fn(|context| arrival.poll_late(context));
            tokio::time::timeout(Duration::from_secs(seconds), wait).await.ok()
        };
        let slow = Some(Fault::Slow { limit });
        let mut single = Arrival::new(false, limit);
        assert_eq!(late(&mut single, 0).await, None);
        // A byte now and then does not help.
        tokio::time::sleep(limit).await;
        single.note(&[0]);
        assert_eq!(late(&mut single, 0).await, slow);
        let mut stream = Arrival::new(true, limit);
        assert_eq!(late(&mut stream, 2).await, None);
        stream.note(&[0]);
        assert_eq!(late(&mut stream, 0).await, None);
        stream.note(&[0; 3]);
        assert_eq!(late(&mut stream, 60).await, slow);
        stream.note(&[0]);
        assert_eq!(late(&mut stream, 2).await, None);
    }
}
