//! The `http1` transport: one connection per user, kept alive (RFC 9112).

mod exchange;
mod first_byte;
mod request;
mod response;
mod scratch;
mod unsent;
mod upgrade;

use std::sync::Arc;
use std::time::Instant;

use url::Url;

pub(super) use self::exchange::{Exchanged, Response};
use self::request::{Buffers, Message};
#[cfg(any(test, fuzzing))]
pub use self::response::fuzzing::read_foreign;
pub use self::response::{MOST_HEADERS, Progress, Reader};
pub use self::scratch::Scratch;
pub(super) use self::unsent::Unsent;
use super::ahead::Ahead;
use super::dialer::{Dialer, Sessions};
use super::stream::Stream;
use super::websocket::{self, Slot};
use super::{Answer, Failure};
use crate::plan::{Number, Plan, Share};
use loadgen_measure::{Connections, StreamTimes};
use loadgen_scenario::{Action, Data, Reuse, Step};

/// State shared by all users: how connections are opened, and the constant parts of each request.
pub struct Http1 {
    dialer: Arc<Dialer>,
    /// Whether the next request of a user uses the same connection.
    keeps_alive: bool,
    /// Whether users have a connection for HTTP requests, to be opened before the start.
    opens: bool,
    /// This process's share of the users, which maps a user's local number to its global number.
    share: Share,
    opened: Ahead<Connection>,
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
        let (share, opened) = (plan.share, Ahead::default());
        Ok(Self { dialer, keeps_alive, opens, share, opened, messages, sockets })
    }

    /// Opens the first connection of each of these users. Stops at the first error: the remaining
    /// users connect when they send, and count the error.
    pub async fn open(&self, users: impl Iterator<Item = Number>) {
        if !self.opens || self.dialer.find().await.is_err() {
            return;
        }
        let connect = |user: Number| {
            let dialer = self.dialer.clone();
            async move {
                let mut sessions = Sessions::default();
                let stream = dialer.connect(user.global, &mut sessions).await;
                stream.ok().map(|stream| (stream, sessions))
            }
        };
        self.opened.open(users, connect).await;
    }

    /// Returns the connection opened for the user before the start, or a new one.
    async fn connection(&self, user: u32, sessions: &mut Sessions) -> Result<Stream, Failure> {
        if let Some((mut stream, of_user)) = self.opened.take(user) {
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
    response: Response,
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
            response: Response::default(),
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
        self.response.keep_samples();
    }

    /// Number of bytes of the body or of the message that `step` has read last.
    pub fn received(&self, step: &Step) -> u64 {
        match &self.socket {
            Some(socket) if step.action.needs_socket() => socket.received(),
            _ => self.response.received(),
        }
    }

    /// Time when the last exchange, of `step`, read the first byte of its answer. A message over a
    /// WebSocket is read as a whole.
    pub fn first_byte(&self, step: &Step) -> Option<Instant> {
        match step.action.needs_socket() {
            true => None,
            false => self.response.first_byte(),
        }
    }

    pub fn stream_times(&self) -> Option<StreamTimes<'_>> {
        self.response.stream_times()
    }

    pub async fn exchange(&mut self, step: &Step) -> Result<Answer<'_>, Failure> {
        // Boxed, so that users without a WebSocket don't carry the memory for it.
        match step.action {
            Action::Request => {}
            Action::Connect => return Box::pin(self.upgrade(step)).await,
            _ => return Box::pin(self.converse(step)).await,
        }
        self.response.begin(step);
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
        let Exchanged { answer, stream, version } =
            self.response.exchange(stream, request, step).await?;
        if is_new {
            self.shared.dialer.speaks(version);
        }
        self.idle = stream.filter(|_| self.shared.keeps_alive);
        Ok(answer)
    }
}
