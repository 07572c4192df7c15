//! Sends and receives the bytes of a connection.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::session::{Session, Sink};
use crate::transport::http1::Scratch;
use crate::transport::stream::Stream;
use crate::transport::{Failure, tls};
use loadgen_measure::ErrorKind;

/// Number of bytes after which a task that reads lets other tasks run, and its own timeout: a server that
/// floods may have more to read for ever. Tokio looks at timers only after 61 turns of tasks.
const MOST_AT_ONCE: usize = 64 << 10;

/// Number of bytes of answers and resets that the server has not read, beyond which nothing more is read from it: a
/// server that asks much and reads nothing could fill the memory with them.
const MOST_ANSWERS: usize = 1 << 20;

/// The session of a connection, and the receiver of what comes. Neither is held while the system sends
/// or receives.
pub(super) trait Guarded {
    type Sink: Sink;

    fn with<T>(&mut self, work: impl FnOnce(&mut Session, &mut Self::Sink) -> T) -> T;
}

/// A connection's stream of bytes.
pub(super) struct Wire {
    stream: Stream,
    /// Bytes that are being sent, and how many of them are.
    sending: Vec<u8>,
    sent: usize,
    /// Whether TLS may hold back what was sent.
    is_unflushed: bool,
    /// Number of bytes read since the task last let others run.
    read_at_once: usize,
    /// Whether all that has come was read.
    is_read_out: bool,
    /// Whether the server takes no more bytes. What it has sent may nevertheless be read, and tells why.
    is_deaf: bool,
}

impl Wire {
    pub(super) fn new(stream: Stream) -> Self {
        let sending = Vec::new();
        Self {
            stream,
            sending,
            sent: 0,
            is_unflushed: false,
            read_at_once: 0,
            is_read_out: false,
            is_deaf: false,
        }
    }

    /// Whether all that had come was read when the connection was driven last.
    pub(super) fn is_read_out(&self) -> bool {
        self.is_read_out
    }

    /// Sends and receives as much as possible without waiting. Ready if nothing more can come.
    pub(super) fn drive(
        &mut self,
        guarded: &mut impl Guarded,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        self.is_read_out = false;
        loop {
            self.send(guarded, context);
            let (is_over, answers) =
                guarded.with(|session, _| (session.is_over(), session.answers()));
            if is_over {
                return Poll::Ready(());
            }
            if answers > MOST_ANSWERS {
                return Poll::Pending;
            }
            if self.read_at_once >= MOST_AT_ONCE {
                self.read_at_once = 0;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            if self.receive(guarded, context).is_pending() {
                (self.read_at_once, self.is_read_out) = (0, true);
                return Poll::Pending;
            }
        }
    }

    /// Sends as much as the system takes.
    fn send(&mut self, guarded: &mut impl Guarded, context: &mut Context<'_>) {
        while !self.is_deaf {
            if self.sent == self.sending.len() {
                self.sent = 0;
                guarded.with(|session, sink| session.take_output(&mut self.sending, sink));
                if self.sending.is_empty() {
                    break;
                }
            }
            let rest = &self.sending[self.sent..];
            match Pin::new(&mut self.stream).poll_write(context, rest) {
                Poll::Ready(Ok(length)) => {
                    self.sent += length;
                    self.is_unflushed = true;
                }
                Poll::Ready(Err(_)) => self.is_deaf = true,
                Poll::Pending => return,
            }
        }
        if self.is_deaf {
            return guarded.with(|session, sink| session.take_output(&mut self.sending, sink));
        }
        if self.is_unflushed {
            match Pin::new(&mut self.stream).poll_flush(context) {
                Poll::Ready(Ok(())) => self.is_unflushed = false,
                Poll::Ready(Err(_)) => self.is_deaf = true,
                Poll::Pending => {}
            }
        }
    }

    /// Receives what has come, up to the size of the buffer.
    fn receive(&mut self, guarded: &mut impl Guarded, context: &mut Context<'_>) -> Poll<()> {
        let mut scratch = Scratch::take();
        let mut buffer = ReadBuf::new(&mut scratch);
        let read = match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(read) => read,
        };
        let input = buffer.filled();
        self.read_at_once += input.len();
        guarded.with(|session, sink| match read {
            Ok(()) if input.is_empty() => session.closed(sink),
            Ok(()) => session.feed(input, sink),
            // TLS was not told of the end.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => session.closed(sink),
            Err(error) => {
                let broken = || Failure::new(ErrorKind::Reset, error.to_string());
                session.broken(tls::of_exchange(&error).unwrap_or_else(broken), sink);
            }
        });
        Poll::Ready(())
    }
}
