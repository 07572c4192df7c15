//! The stream under an HTTP/2 connection.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::engine::transport::{Failure, tls};

/// First bytes of a response in HTTP/1. No HTTP/2 server begins with them: as the head of a frame, they
/// would announce more than any client allows.
const HTTP1: &[u8] = b"HTTP/";

/// Number of bytes after which a task that reads lets other tasks run, and its own timeout. h2 handles
/// all that has arrived at once, which a server that floods may prolong for ever. Tokio looks at timers
/// only after 61 turns of tasks.
const MOST_AT_ONCE: usize = 64 << 10;

/// State shared by a connection's owner and the connection's stream.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// The task to wake when the stream is ready; `None` wakes the task that polls the stream.
    owner: Mutex<Option<Waker>>,
    begun: AtomicU8,
    /// Reason why TLS ended the connection. h2 tells it only as text.
    fault: OnceLock<Failure>,
}

/// Values of `Line::begun`: the first bytes that a server has sent.
mod begun {
    pub(super) const NOTHING: u8 = 0;
    pub(super) const FRAMES: u8 = 1;
    pub(super) const HTTP1: u8 = 2;
}

impl Line {
    /// Sets the task to wake when the stream is ready.
    pub(super) fn wake(&self, waker: &Waker) {
        let mut owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        if !owner.as_ref().is_some_and(|owner| owner.will_wake(waker)) {
            *owner = Some(waker.clone());
        }
    }

    /// Whether the server has sent nothing at all.
    pub(super) fn is_silent(&self) -> bool {
        self.begun.load(Ordering::Relaxed) == begun::NOTHING
    }

    /// Whether the server's first bytes are a response in HTTP/1.
    pub(super) fn is_http1(&self) -> bool {
        self.begun.load(Ordering::Relaxed) == begun::HTTP1
    }

    /// Returns the reason why TLS ended the connection; `None` if it did not.
    pub(super) fn fault(&self) -> Option<&Failure> {
        self.fault.get()
    }

    fn has_read(&self, bytes: &[u8]) {
        if !bytes.is_empty() && self.is_silent() {
            let length = bytes.len().min(HTTP1.len());
            let is_http1 = bytes[..length] == HTTP1[..length];
            self.begun
                .store(if is_http1 { begun::HTTP1 } else { begun::FRAMES }, Ordering::Relaxed);
        }
    }
}

/// A stream that wakes the owner of its connection. h2 wakes the task that polled the connection also
/// for each request that the same task sends, which would poll that task once more for nothing. Such an
/// owner therefore polls h2 with a waker that does nothing, and is woken only by the stream.
pub(super) struct Wire<S> {
    stream: S,
    line: Arc<Line>,
    /// Number of bytes read since the task last let others run.
    read_at_once: usize,
    /// Whether the server takes no more bytes. What it has sent may nevertheless be read, and tells why:
    /// h2 would read nothing more after an error of a write.
    is_deaf: bool,
}

impl<S> Wire<S> {
    pub(super) fn new(stream: S, line: Arc<Line>) -> Self {
        Self { stream, line, read_at_once: 0, is_deaf: false }
    }
}

impl<S: Unpin> Wire<S> {
    /// Polls the stream on behalf of the owner, if there is one.
    fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        poll: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let owner = self.line.owner.lock().unwrap_or_else(PoisonError::into_inner);
        let waker = owner.as_ref().unwrap_or(context.waker());
        poll(Pin::new(&mut self.stream), &mut Context::from_waker(waker))
    }
}

impl<S> Wire<S> {
    /// Turns an error of a write into the success `all`, and remembers that the server is deaf.
    fn heard<T>(&mut self, written: Poll<io::Result<T>>, all: T) -> Poll<io::Result<T>> {
        match written {
            Poll::Ready(Err(_)) => {
                self.is_deaf = true;
                Poll::Ready(Ok(all))
            }
            other => other,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Wire<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.read_at_once >= MOST_AT_ONCE {
            self.read_at_once = 0;
            return self.poll(context, |_, context| {
                context.waker().wake_by_ref();
                Poll::Pending
            });
        }
        let before = buffer.filled().len();
        let read = self.poll(context, |stream, context| stream.poll_read(context, buffer));
        let length = buffer.filled().len() - before;
        self.read_at_once = if read.is_pending() { 0 } else { self.read_at_once + length };
        self.line.has_read(&buffer.filled()[before..]);
        if let Poll::Ready(Err(error)) = &read
            && let Some(fault) = tls::of_exchange(error)
        {
            let _ = self.line.fault.set(fault);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_deaf {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = self.poll(context, |stream, context| stream.poll_write(context, bytes));
        self.heard(written, bytes.len())
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // The kernel takes a single piece for less in the other system call. Most requests are one.
        if let [only] = slices {
            return self.poll_write(context, only);
        }
        let length = slices.iter().map(|slice| slice.len()).sum();
        if self.is_deaf {
            return Poll::Ready(Ok(length));
        }
        let written =
            self.poll(context, |stream, context| stream.poll_write_vectored(context, slices));
        self.heard(written, length)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = self.poll(context, |stream, context| stream.poll_flush(context));
        self.heard(flushed, ())
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(context, |stream, context| stream.poll_shutdown(context))
    }
}
