//! Watches the bytes of a connection of HTTP/2. A client must not stay silent at the beginning, nor
//! leave the buffers full. The frames show which calls begin and end.

use std::collections::HashSet;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep};

/// How long a client may take for the first bytes of HTTP/2.
const BEGINNING: Duration = Duration::from_secs(10);
/// How long a client may leave the connection's buffers full.
const STALL: Duration = Duration::from_secs(30);
/// The number of bytes that begin a connection of HTTP/2.
const PREFACE: usize = 24;
/// How long the server waits for calls after it has told a client that it ends the connection.
/// Calls that the client sent before it knew arrive within this time.
const QUIET: Duration = Duration::from_millis(200);

/// The number of bytes before the content of a frame.
const HEAD: usize = 9;
/// Types of frames (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
/// The flag of the last frame of a stream.
const END: u8 = 1;

/// Finds the frames in the bytes of one direction.
#[derive(Debug, Default)]
struct Frames {
    head: [u8; HEAD],
    /// The number of bytes of the head that have passed.
    passed: usize,
    /// The number of bytes that the content of the frame lacks.
    content: usize,
}

impl Frames {
    /// Reads the next bytes. Calls `frame` with the type, the flags and the stream of each frame
    /// whose head is complete.
    fn follow(&mut self, mut bytes: &[u8], mut frame: impl FnMut(u8, u8, u32)) {
        while !bytes.is_empty() {
            let content = self.content.min(bytes.len());
            self.content -= content;
            bytes = &bytes[content..];
            let head = (HEAD - self.passed).min(bytes.len());
            self.head[self.passed..][..head].copy_from_slice(&bytes[..head]);
            self.passed += head;
            bytes = &bytes[head..];
            if self.passed == HEAD {
                let [a, b, c, kind, flags, stream @ ..] = self.head;
                self.content = u32::from_be_bytes([0, a, b, c]) as usize;
                self.passed = 0;
                frame(kind, flags, u32::from_be_bytes(stream) & (u32::MAX >> 1));
            }
        }
    }
}

/// The use of a connection.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Use {
    /// Whether the client has begun HTTP/2.
    has_begun: bool,
    /// The calls in progress, until the last byte of their answers is flushed.
    calls: usize,
}

/// A receiver of the use of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Traffic(watch::Receiver<Use>);

impl Traffic {
    /// Waits until the client has had no call in progress for a while, so that calls which it had
    /// sent before it learned of the end have arrived.
    pub(crate) async fn quiet(mut self) {
        loop {
            let Ok(now) = self.0.wait_for(|now| now.calls == 0).await.map(|now| *now) else {
                return;
            };
            let next = self.0.wait_for(|now| now.calls > 0);
            if !now.has_begun || tokio::time::timeout(QUIET, next).await.is_err() {
                return;
            }
        }
    }
}

/// A stream that fails if the client sends nothing at the beginning, or reads nothing for long, and
/// that counts the calls in progress.
pub(crate) struct Watched<I> {
    io: I,
    /// The number of bytes that the preface lacks, and a timer for their arrival.
    preface: Option<(usize, Pin<Box<Sleep>>)>,
    /// A timer until which the client must have read something.
    stalled: Option<Pin<Box<Sleep>>>,
    received: Frames,
    sent: Frames,
    /// The streams of calls in progress.
    calls: HashSet<u32>,
    /// The streams whose last frames are written, and may wait in a buffer of TLS.
    written: Vec<u32>,
    /// The largest stream identifier so far.
    last: u32,
    traffic: watch::Sender<Use>,
}

impl<I> Watched<I> {
    /// Returns the stream on `io`, and a receiver of its use.
    pub(crate) fn new(io: I) -> (Self, Traffic) {
        let limit = Box::pin(tokio::time::sleep(BEGINNING));
        let (traffic, receiver) = watch::channel(Use::default());
        let this = Self {
            io,
            preface: Some((PREFACE, limit)),
            stalled: None,
            received: Frames::default(),
            sent: Frames::default(),
            calls: HashSet::new(),
            written: Vec::new(),
            last: 0,
            traffic,
        };
        (this, Traffic(receiver))
    }

    /// Fails if an attempt to write has waited for too long.
    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        result: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.stalled = None;
            return result;
        }
        let limit = || Box::pin(tokio::time::sleep_until(Instant::now() + STALL));
        match self.stalled.get_or_insert_with(limit).as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => result,
        }
    }

    /// Reads the bytes that the client has sent.
    fn receive(&mut self, mut bytes: &[u8]) {
        if let Some((missing, _)) = &mut self.preface {
            let preface = bytes.len().min(*missing);
            *missing -= preface;
            bytes = &bytes[preface..];
            if *missing > 0 {
                return;
            }
            self.preface = None;
        }
        let (calls, last) = (&mut self.calls, &mut self.last);
        self.received.follow(bytes, |kind, _, stream| {
            // A client may end its side of a stream with further headers.
            if kind == HEADERS && stream > *last {
                *last = stream;
                calls.insert(stream);
            } else if kind == RESET {
                calls.remove(&stream);
            }
        });
        self.tell();
    }

    /// Reads the bytes that the server has sent.
    fn send(&mut self, bytes: &[u8]) {
        let written = &mut self.written;
        self.sent.follow(bytes, |kind, flags, stream| {
            if kind == RESET || matches!(kind, DATA | HEADERS) && flags & END != 0 {
                written.push(stream);
            }
        });
    }

    /// Ends the calls whose last frames have left all buffers.
    fn flushed(&mut self) {
        for stream in self.written.drain(..) {
            self.calls.remove(&stream);
        }
        self.tell();
    }

    fn tell(&self) {
        let now = Use { has_begun: self.preface.is_none(), calls: self.calls.len() };
        self.traffic.send_if_modified(|known| std::mem::replace(known, now) != now);
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Watched<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.io).poll_read(context, buffer);
        self.receive(&buffer.filled()[before..]);
        if let Some((_, limit)) = &mut self.preface
            && result.is_pending()
            && limit.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        result
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Watched<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.io).poll_write(context, bytes);
        if let Poll::Ready(Ok(count)) = result {
            self.send(&bytes[..count]);
        }
        self.watch(context, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.io).poll_write_vectored(context, parts);
        if let Poll::Ready(Ok(mut count)) = result {
            for part in parts {
                let written = part.len().min(count);
                count -= written;
                self.send(&part[..written]);
            }
        }
        self.watch(context, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.io).poll_flush(context);
        if matches!(result, Poll::Ready(Ok(()))) {
            self.flushed();
        }
        self.watch(context, result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.io).poll_shutdown(context);
        self.watch(context, result)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    fn frame(kind: u8, flags: u8, stream: u32, content: usize) -> Vec<u8> {
        let length = (content as u32).to_be_bytes();
        let mut frame = vec![length[1], length[2], length[3], kind, flags];
        frame.extend(stream.to_be_bytes());
        frame.resize(HEAD + content, 0xff);
        frame
    }

    /// Calls begin with headers, and end with the last frame of the answer or a reset, wherever the
    /// bytes are divided.
    #[tokio::test]
    async fn calls_are_counted() {
        let requests = [
            vec![b'P'; PREFACE],
            frame(4, 0, 0, 6),
            frame(HEADERS, 4, 1, 30),
            frame(HEADERS, 4, 3, 300),
            frame(DATA, END, 1, 0),
            frame(HEADERS, 5, 5, 1),
            frame(HEADERS, 5, 3, 1),
        ]
        .concat();
        for size in [1, 2, 5, 9, 10, 34, requests.len()] {
            let (mut watched, traffic) = Watched::new(());
            let now = || *traffic.0.borrow();
            assert_eq!(now(), Use { has_begun: false, calls: 0 });
            requests.chunks(size).for_each(|chunk| watched.receive(chunk));
            assert_eq!(now(), Use { has_begun: true, calls: 3 });
            let answers = [
                frame(HEADERS, 4, 1, 20),
                frame(DATA, 0, 1, 50),
                frame(HEADERS, 5, 1, 2),
                frame(RESET, 0, 3, 4),
            ]
            .concat();
            answers.chunks(size).for_each(|chunk| watched.send(chunk));
            assert_eq!(now().calls, 3);
            watched.flushed();
            assert_eq!(now().calls, 1);
            watched.receive(&frame(RESET, 0, 5, 4));
            assert_eq!(now().calls, 0);
            // Further headers of an old stream begin no call.
            watched.receive(&frame(HEADERS, 5, 3, 4));
            assert_eq!(now().calls, 0);
            tokio::time::timeout(Duration::from_secs(5), traffic.quiet()).await.unwrap();
        }
    }

    /// A call goes on while a buffer below has the last frame of its answer.
    #[tokio::test]
    async fn answers_end_when_they_are_flushed() {
        let (mut watched, traffic) = Watched::new(tokio::io::BufWriter::new(Vec::new()));
        watched.receive(&[vec![b'P'; PREFACE], frame(HEADERS, 5, 1, 1)].concat());
        watched.write_all(&frame(DATA, END, 1, 0)).await.unwrap();
        assert_eq!(traffic.0.borrow().calls, 1);
        watched.flush().await.unwrap();
        assert_eq!(traffic.0.borrow().calls, 0);
    }
}
