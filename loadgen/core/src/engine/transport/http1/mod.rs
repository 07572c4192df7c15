//! The `http1` transport: one connection per user, kept alive (RFC 9112).

mod request;
mod response;
mod scratch;
mod unsent;
mod upgrade;

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::{JoinError, JoinSet};
use url::Url;

use self::request::{Buffers, Message};
#[cfg(any(test, fuzzing))]
pub use self::response::fuzzing::read_foreign;
pub use self::response::{MOST_HEADERS, Progress, Reader};
pub use self::scratch::Scratch;
use self::unsent::Unsent;
use super::dialer::{Dialer, Sessions};
use super::stream::Stream;
use super::websocket::{self, Slot};
use super::{Answer, Body, Failure, Headers, Keep, tls};
use crate::engine::check::expectations::reads_headers;
use crate::engine::content_encoding::Encoded;
use crate::engine::plan::{Number, Plan, Share};
use crate::measure::{Connections, ErrorKind};
use crate::scenario::{Action, Data, Method, Reuse, Step};

/// Number of connections opened concurrently before the start. Stays below the shortest usual
/// backlog of a listening server (128).
const AT_ONCE: usize = 100;

/// State shared by all users: how connections are opened, and the constant parts of each request.
pub struct Http1 {
    dialer: Arc<Dialer>,
    /// Whether the next request of a user uses the same connection.
    keeps_alive: bool,
    /// Whether users have a connection for HTTP requests, to be opened before the start.
    opens: bool,
    /// This process's share of the users, which maps a user's local number to its global number.
    share: Share,
    /// Connections opened before the start and still unused, by
    /// their user's number within the process.
    opened: Mutex<HashMap<u32, Connection>>,
    messages: Vec<Message>,
    /// Messages over WebSockets; `None` if the scenario uses no WebSocket.
    sockets: Option<Box<websocket::Messages>>,
}

/// A user's connection, and the sessions that its next connection can resume.
type Connection = (Stream, Sessions);

impl Http1 {
    /// Creates the transport for a plan, without opening a connection.
    pub fn new(plan: &Plan) -> Result<Self, String> {
        let url = Url::parse(&plan.base_url).map_err(|e| format!("{}: {e}", plan.base_url))?;
        let dialer = Dialer::new(plan, &url)?.into();
        let keeps_alive = plan.scenario.http.connection == Reuse::KeepAlive;
        let steps = plan.scenario.steps.iter();
        let messages = steps.map(|step| Message::new(step, &url, !keeps_alive)).collect();
        let sockets = websocket::Messages::of(&plan.scenario);
        // Each WebSocket opens a connection of its own.
        let opens = keeps_alive && plan.scenario.uses_http();
        let (share, opened) = (plan.share, Mutex::default());
        Ok(Self { dialer, keeps_alive, opens, share, opened, messages, sockets })
    }

    /// Opens the first connection of each of these users. Stops at the first error: the remaining
    /// users connect when they send, and count the error.
    pub async fn open(&self, users: impl Iterator<Item = Number>) {
        if !self.opens || self.dialer.find().await.is_err() {
            return;
        }
        let mut opening = JoinSet::new();
        for user in users {
            if opening.len() >= AT_ONCE && !self.keep(opening.join_next().await) {
                return;
            }
            let dialer = self.dialer.clone();
            opening.spawn(async move {
                let mut sessions = Sessions::default();
                let stream = dialer.connect(user.global, &mut sessions).await;
                stream.ok().map(|stream| (user.local, (stream, sessions)))
            });
        }
        while self.keep(opening.join_next().await) {}
    }

    /// Stores an opened connection for its user. Returns `false`
    /// if `opened` contains no connection.
    fn keep(&self, opened: Option<Result<Option<(u32, Connection)>, JoinError>>) -> bool {
        let Some(Ok(Some((user, connection)))) = opened else { return false };
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).insert(user, connection);
        true
    }

    /// Returns the connection opened for the user before the start, or a new one.
    async fn connection(&self, user: u32, sessions: &mut Sessions) -> Result<Stream, Failure> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner).remove(&user);
        if let Some((mut stream, of_user)) = opened {
            *sessions = of_user;
            if stream.is_quiet() {
                return Ok(stream);
            }
        }
        self.dialer.connect(self.share.number(user).global, sessions).await
    }

    /// Returns the counts of the connections opened so far.
    pub fn connections(&self) -> Connections {
        self.dialer.connections()
    }
}

/// A user's connection, with the buffers that its requests reuse.
pub struct Link<'a> {
    shared: &'a Http1,
    /// The user's number within the process.
    user: u32,
    /// The open connection between two requests; `None` during a request, or if the connection
    /// cannot be reused. An abandoned request closes its connection.
    idle: Option<Stream>,
    sessions: Sessions,
    buffers: Buffers,
    /// Index of the step whose request was rendered last.
    index: u32,
    /// Whether all headers are kept, also those that nothing reads.
    samples: bool,
    reader: Reader,
    /// The user's WebSocket; `None` if the scenario uses none.
    socket: Option<Arc<Slot>>,
}

impl<'a> Link<'a> {
    pub fn new(shared: &'a Http1, user: u32) -> Self {
        Self {
            shared,
            user,
            idle: None,
            sessions: Sessions::default(),
            buffers: Buffers::default(),
            index: 0,
            samples: false,
            reader: Reader::default(),
            socket: shared.sockets.as_ref().map(|all| Arc::new(Slot::new(all.keeps))),
        }
    }

    pub fn render(&mut self, index: usize, data: &mut Data) -> Result<(), Failure> {
        if let Some(all) = &self.shared.sockets
            && let Some(outgoing) = all.get(index)
        {
            return self.prepare(outgoing, data);
        }
        // A scenario has far fewer steps than `u32::MAX`.
        self.index = u32::try_from(index).unwrap_or(u32::MAX);
        Ok(self.shared.messages[index].render(data, &mut self.buffers)?)
    }

    /// Returns the place of the user's WebSocket; `None` if the scenario uses none.
    pub fn socket(&self) -> Option<&Arc<Slot>> {
        self.socket.as_ref()
    }

    pub fn keep_samples(&mut self) {
        self.samples = true;
        self.reader.keep_at_least(Keep::Sample);
    }

    /// Number of bytes of the body or of the message that `step` has read last.
    pub fn received(&self, step: &Step) -> u64 {
        match &self.socket {
            Some(socket) if step.action.needs_socket() => socket.received(),
            _ => self.reader.bytes(),
        }
    }

    pub async fn exchange(&mut self, step: &Step) -> Result<Answer<'_>, Failure> {
        // Boxed, so that users without a WebSocket don't carry the memory for it.
        match step.action {
            Action::Request => {}
            Action::Connect => return Box::pin(self.upgrade(step)).await,
            _ => return Box::pin(self.converse(step)).await,
        }
        self.reader.begin(step.method == Method::HEAD);
        let headers = self.samples || reads_headers(step);
        if headers {
            self.reader.keep_head();
        }
        let idle = self.idle.take().and_then(|mut stream| stream.is_quiet().then_some(stream));
        let (stream, is_new) = match idle {
            Some(stream) => (stream, false),
            // Boxed, so that users with a connection don't carry the memory for opening one.
            None => {
                let opening = self.shared.connection(self.user, &mut self.sessions);
                (Box::pin(opening).await?, true)
            }
        };
        let request = self.shared.messages[self.index as usize].unsent(&self.buffers);
        let mut exchange =
            Exchange { stream, request, sending: Sending::Writes, reader: &mut self.reader, step };
        let (scratch, progress) = poll_fn(|context| exchange.poll(context)).await?;
        let (stream, sent) = (exchange.stream, exchange.sending == Sending::Sent);
        let Progress::Whole { body, keep_alive } = progress else {
            // Unreachable: `poll` is ready only with a whole answer.
            return Err(Failure::new(ErrorKind::Protocol, "incomplete response"));
        };
        if is_new {
            self.shared.dialer.speaks(self.reader.version());
        }
        if keep_alive && sent && self.shared.keeps_alive {
            self.idle = Some(stream);
        }
        let status = self.reader.status();
        let body = match body {
            Some(range) => Body::Read(scratch, range),
            None => Body::Kept(self.reader.kept()),
        };
        let head = Headers::Head(self.reader.head());
        let encoded = || Box::new(Encoded::new(head.joined("content-encoding")));
        let encoding = self.reader.is_encoded().then(encoded);
        let headers = if headers { head } else { Headers::Unkept };
        Ok(Answer { status, headers, body, encoding })
    }
}

/// A request in flight, until its answer is read.
struct Exchange<'a> {
    stream: Stream,
    /// The part of the request that is still to be sent.
    request: Unsent<'a>,
    sending: Sending,
    reader: &'a mut Reader,
    step: &'a Step,
}

/// How far a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sending {
    /// Bytes are left to be written.
    Writes,
    /// All is written, and TLS may hold some of it back.
    Flushes,
    Sent,
    /// The server accepts no more of the request. An answer may nevertheless arrive.
    Broken,
}

impl Exchange<'_> {
    /// Sends and reads as much as possible. A server may answer before it has read the request.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(Scratch, Progress), Failure>> {
        self.send(context);
        let mut scratch = Scratch::take();
        loop {
            let mut buffer = ReadBuf::new(&mut scratch);
            let read = ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer));
            let length = buffer.filled().len();
            let progress = match read {
                Ok(()) if length == 0 => self.reader.end(),
                Ok(()) => {
                    self.reader.feed(&scratch[..length], |status| Keep::of(self.step, status))
                }
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Err(response::cut_off()),
                Err(e) => Err(tls::of_exchange(&e)
                    .unwrap_or_else(|| Failure::new(ErrorKind::Reset, e.to_string()))),
            };
            match progress {
                Ok(Progress::Partial) => {}
                Ok(whole) => return Poll::Ready(Ok((scratch, whole))),
                Err(failure) => return Poll::Ready(Err(failure)),
            }
        }
    }

    /// Sends as much of the request as the connection takes.
    fn send(&mut self, context: &mut Context<'_>) {
        while self.sending == Sending::Writes {
            self.sending = match self.request.poll_send(&mut self.stream, context) {
                Poll::Ready(Ok(())) if self.request.is_empty() => Sending::Flushes,
                Poll::Ready(Ok(())) => Sending::Writes,
                Poll::Ready(Err(_)) => Sending::Broken,
                Poll::Pending => return,
            };
        }
        if self.sending == Sending::Flushes {
            self.sending = match Pin::new(&mut self.stream).poll_flush(context) {
                Poll::Ready(Ok(())) => Sending::Sent,
                Poll::Ready(Err(_)) => Sending::Broken,
                Poll::Pending => return,
            };
        }
    }
}
