//! An open WebSocket.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::{Sink, Stream as _};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};

use super::fault;
use super::remembering::Remembering;
use crate::transport::Failure;
use crate::transport::stream::Stream;
use loadgen_measure::ErrorKind;

/// Longest message and longest frame, in bytes.
const LONGEST: usize = 16 << 20;

/// Most messages, and bytes of messages, that wait for a later step. Beyond either, the oldest are
/// dropped, but never the newest.
const MOST_WAITING: usize = 1_000;
const MOST_WAITING_BYTES: usize = 1 << 20;

/// Size of a connection's read buffer, in bytes. tungstenite allocates it at once.
const BUFFER: usize = 4 << 10;

/// Bytes of messages that are written before they are sent.
const WRITTEN: usize = 16 << 10;

/// Most bytes that wait to be sent: the longest message that a step sends, with its frame, and answers to pings.
const MOST_WRITTEN: usize = LONGEST + MOST_OWED + WRITTEN;

/// Number of bytes of answers to pings that may wait before nothing more is read, and the longest head of a frame.
const MOST_OWED: usize = 64 << 10;
const FRAME: usize = 14;

/// An open WebSocket.
pub struct Socket {
    stream: WebSocketStream<Remembering>,
    /// Messages that have come and that no step has read.
    inbox: VecDeque<Bytes>,
    waiting_bytes: usize,
    /// Whether all that was written is sent.
    is_flushed: bool,
    /// Number of bytes of answers to pings that may not be sent yet.
    owed: usize,
    /// Whether a close frame was sent.
    is_closing: bool,
    /// The end of the WebSocket, after which nothing comes.
    end: Option<End>,
}

/// How a WebSocket ended.
enum End {
    /// The server closed it.
    Closed(Option<CloseFrame>),
    Failed(Failure),
}

/// The close frame that a user sends.
pub fn normal() -> CloseFrame {
    CloseFrame { code: CloseCode::Normal, reason: "".into() }
}

/// The close frame of a user that leaves, as a browser sends it when its page is closed (RFC 6455, section 7.4.1).
fn away() -> CloseFrame {
    CloseFrame { code: CloseCode::Away, reason: "".into() }
}

impl Socket {
    /// Takes over a connection after the opening handshake. `surplus` has come after the handshake.
    pub async fn new(stream: Stream, surplus: Vec<u8>) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(BUFFER)
            .write_buffer_size(WRITTEN)
            .max_write_buffer_size(MOST_WRITTEN)
            .max_message_size(Some(LONGEST))
            .max_frame_size(Some(LONGEST));
        let mut stream = Remembering::new(stream);
        stream.remember(&surplus);
        let stream =
            WebSocketStream::from_partially_read(stream, surplus, Role::Client, Some(config)).await;
        Self {
            stream,
            inbox: VecDeque::new(),
            waiting_bytes: 0,
            is_flushed: true,
            owed: 0,
            is_closing: false,
            end: None,
        }
    }

    /// Reads all that has come, answers pings, and notices the end. Keeps messages if `keeps`. Reads nothing while many
    /// answers to pings wait: a server that sends pings and reads no answers could fill the memory with them.
    pub fn poll_read(&mut self, keeps: bool, context: &mut Context<'_>) {
        while self.end.is_none() {
            if self.owed > 0 && Pin::new(&mut self.stream).poll_flush(context).is_ready() {
                self.owed = 0;
            }
            if self.owed > MOST_OWED {
                return;
            }
            let Poll::Ready(read) = Pin::new(&mut self.stream).poll_next(context) else { return };
            match read {
                Some(Ok(Message::Text(text))) if keeps => self.keep(text.into()),
                Some(Ok(Message::Binary(bytes))) if keeps => self.keep(bytes),
                Some(Ok(Message::Ping(payload))) => self.owed += FRAME + payload.len(),
                Some(Ok(Message::Close(frame))) => {
                    // tungstenite replaces codes that no server may send by one of its own.
                    let sent = self.stream.get_ref().last_close();
                    self.end = Some(match (frame, sent) {
                        (Some(frame), Some((code, reason))) if code != u16::from(frame.code) => {
                            End::Failed(fault::closed_with(code, &reason))
                        }
                        (frame, _) => End::Closed(frame),
                    });
                    // Sends the reply.
                    let _ = Pin::new(&mut self.stream).poll_flush(context);
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => self.end = Some(End::Failed(fault::of(&error))),
                None => self.end = Some(End::Closed(None)),
            }
        }
    }

    /// Closes the WebSocket because the user leaves, and waits until the server has done so, too.
    pub fn poll_away(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.end.is_some() {
            return Poll::Ready(());
        }
        if !self.is_closing && self.start(Message::Close(Some(away()))).is_err() {
            return Poll::Ready(());
        }
        if ready!(self.poll_sent(context)).is_err() {
            return Poll::Ready(());
        }
        self.poll_gone(context)
    }

    /// Waits until the server has closed the connection. Call only after the closing handshake.
    pub fn poll_gone(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while ready!(Pin::new(&mut self.stream).poll_next(context)).is_some_and(|it| it.is_ok()) {}
        Poll::Ready(())
    }

    fn keep(&mut self, message: Bytes) {
        self.waiting_bytes += message.len();
        self.inbox.push_back(message);
        while self.inbox.len() > 1
            && (self.inbox.len() > MOST_WAITING || self.waiting_bytes > MOST_WAITING_BYTES)
        {
            self.take();
        }
    }

    /// Takes the oldest message that no step has read.
    pub fn take(&mut self) -> Option<Bytes> {
        let message = self.inbox.pop_front()?;
        self.waiting_bytes -= message.len();
        Some(message)
    }

    /// Drops the messages that no step has read.
    pub fn forget(&mut self) {
        self.inbox.clear();
        self.waiting_bytes = 0;
    }

    /// Begins to send a message or a close frame.
    pub fn start(&mut self, message: Message) -> Result<(), Failure> {
        self.is_closing |= message.is_close();
        self.is_flushed = false;
        Pin::new(&mut self.stream).start_send(message).map_err(|error| fault::of(&error))
    }

    /// Sends all that was written.
    pub fn poll_sent(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        if !self.is_flushed {
            let sent = ready!(Pin::new(&mut self.stream).poll_flush(context));
            sent.map_err(|error| fault::of(&error))?;
            self.is_flushed = true;
        }
        Poll::Ready(Ok(()))
    }

    /// Returns the end of the WebSocket: `Ok` if the server has answered a close frame of the user.
    /// `None` while the WebSocket is open.
    pub fn ended(&self) -> Option<Result<(), Failure>> {
        Some(match self.end.as_ref()? {
            End::Closed(_) if self.is_closing => Ok(()),
            End::Closed(frame) => Err(fault::closed(frame.as_ref())),
            End::Failed(failure) => Err(failure.clone()),
        })
    }
}

impl Failure {
    /// Returns the failure of a step that needs an open WebSocket.
    pub(in crate::transport) fn socketless(why: &str) -> Self {
        Self::new(ErrorKind::Expectation, format!("not sent: no WebSocket is open: {why}"))
    }
}
