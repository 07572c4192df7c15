//! The `http1` transport: one connection per user, kept alive (RFC 9112).

mod exchange;
mod first_byte;
mod go_ahead;
mod idle;
mod request;
mod response;
mod scratch;
mod unsent;
mod upgrade;

use crate::transport::request_body::RequestBody;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

pub use self::exchange::Came;
pub(super) use self::exchange::Response;
pub(super) use self::idle::Idle;
#[cfg(any(test, fuzzing))]
pub(super) use self::request::written;
use self::request::{Buffers, Message, Via};
#[cfg(any(test, fuzzing))]
pub use self::response::fuzzing::read_foreign;
pub use self::response::{Progress, Reader, read_head};
pub use self::scratch::Scratch;
pub(super) use self::unsent::Unsent;
use super::ahead::Ahead;
use super::dialer::{Dialer, Sessions};
use super::failure::{Failure, Work};
use super::fields::Fields;
use super::redirect::Request;
use super::resend::Resend;
use super::websocket::{self, Slot};
use super::{Answer, Body, Headers};
use crate::plan::{Number, Plan, Share};
use loadgen_measure::{Connections, StreamTimes};
use loadgen_scenario::{Action, Data, Method, Reuse, Step};

/// State shared by all users: how connections are opened, and the constant parts of each request.
pub struct Http1 {
    dialer: Arc<Dialer>,
    /// Whether the next request of a user uses the same connection.
    keeps_alive: bool,
    /// Whether users have a connection for HTTP requests, to be opened before the start.
    opens: bool,
    /// Whether requests that the server did not process are sent again.
    resends: bool,
    /// This process's share of the users, which maps a user's local number to its global number.
    share: Share,
    opened: Ahead<Connection>,
    messages: Vec<Message>,
    via: Via,
    /// Whether users keep the cookies of responses.
    keeps_cookies: bool,
    /// Messages over WebSockets; `None` if the scenario uses no WebSocket.
    sockets: Option<Box<websocket::Messages>>,
}

/// A user's connection, and the sessions that its next connection can resume.
type Connection = (Idle, Sessions);

impl Http1 {
    /// Creates the transport for a plan, without opening a connection.
    pub fn new(plan: &Plan) -> Result<Self, String> {
        let server = plan.server()?;
        let url = &server.url;
        let dialer: Arc<Dialer> = Dialer::new(plan, &server)?.into();
        let keeps_alive = plan.scenario.http.connection != Reuse::PerRequest;
        let steps = plan.scenario.steps.iter();
        let via = Via::of(url, dialer.proxy());
        let messages = steps.map(|step| Message::new(step, url, &via, !keeps_alive)).collect();
        let sockets = websocket::Messages::of(&plan.scenario);
        // Each WebSocket opens a connection of its own.
        let opens = keeps_alive && plan.scenario.uses_http();
        let (share, opened, resends) = (plan.share, Ahead::default(), plan.scenario.http.resends);
        let keeps_cookies = plan.scenario.http.cookies;
        Ok(Self {
            dialer,
            keeps_alive,
            opens,
            resends,
            share,
            opened,
            messages,
            via,
            keeps_cookies,
            sockets,
        })
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
                let stream = dialer.connect(user.global, true, &mut sessions).await;
                stream.ok().map(|stream| (Idle::new(stream, dialer.life()), sessions))
            }
        };
        self.opened.open(users, connect).await;
    }

    /// Returns the connection opened for the user before the start, or a new one.
    async fn connection(&self, user: u32, sessions: &mut Sessions) -> Result<Idle, Failure> {
        if let Some((idle, of_user)) = self.opened.take(user) {
            *sessions = of_user;
            if let Some(idle) = self.usable(idle) {
                return Ok(idle);
            }
        }
        let stream = self.dialer.connect(self.share.number(user).global, true, sessions).await?;
        Ok(Idle::new(stream, self.dialer.life()))
    }

    /// Returns the connection if it can carry the next request.
    fn usable(&self, idle: Idle) -> Option<Idle> {
        self.unspent(idle).and_then(|mut idle| idle.is_open().then_some(idle))
    }

    /// Returns the connection unless its life is over, which then ends it.
    fn unspent(&self, mut idle: Idle) -> Option<Idle> {
        if !idle.is_spent() {
            return Some(idle);
        }
        // The server may have ended it before.
        if idle.is_open() {
            self.dialer.renewed();
        }
        None
    }

    /// Returns the counts of the connections opened so far.
    pub fn connections(&self) -> Connections {
        self.dialer.connections()
    }
}

/// Outcome of a step's request.
pub enum Sent {
    /// A response.
    Response(Came),
    /// The opening of a WebSocket.
    Opened,
    /// A message over the WebSocket; empty for a step that awaits none.
    Message(Bytes),
}

/// A user's connection, with the buffers that its requests reuse.
pub struct Link {
    shared: Arc<Http1>,
    /// The user's number within the process.
    user: u32,
    /// The open connection between two requests; `None` during a request, or if the connection
    /// cannot be reused. An abandoned request closes its connection.
    idle: Option<Idle>,
    sessions: Sessions,
    buffers: Buffers,
    /// Index of the step whose request was rendered last.
    index: u32,
    /// Method of the next request, if no step has it.
    prepared: Option<Method>,
    pub(super) resend: Resend,
    response: Response,
    /// The user's WebSocket; `None` if the scenario uses none.
    socket: Option<Arc<Slot>>,
}

impl Link {
    pub fn new(shared: Arc<Http1>, user: u32) -> Self {
        let socket = shared.sockets.as_ref().map(|all| Arc::new(Slot::new(all.keeps)));
        let response = Response::new(shared.keeps_cookies);
        Self {
            resend: Resend::new(shared.resends),
            shared,
            user,
            idle: None,
            sessions: Sessions::default(),
            buffers: Buffers::default(),
            index: 0,
            prepared: None,
            response,
            socket,
        }
    }

    pub fn render(&mut self, index: usize, data: &mut Data) -> Result<(), Failure> {
        self.resend.begin();
        if let Some(all) = &self.shared.sockets
            && let Some(outgoing) = all.get(index)
        {
            return self.prepare_message(outgoing, data);
        }
        // A scenario has far fewer steps than `u32::MAX`.
        self.index = u32::try_from(index).unwrap_or(u32::MAX);
        self.prepared = None;
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

    /// Sends the next request, once more if the server did not process it, and reads the response; or does over the
    /// user's WebSocket what `step` says.
    pub async fn send(&mut self, step: &Step) -> Result<Sent, Failure> {
        // Boxed, so that users without a WebSocket don't carry the memory for it.
        match step.action {
            Action::Request => {}
            Action::Connect => return Box::pin(self.upgrade(step)).await,
            _ => return Box::pin(self.converse(step)).await,
        }
        loop {
            match self.send_once(step).await {
                Ok(came) => return Ok(Sent::Response(came)),
                Err(failure) if self.resend.again(&failure, self.is_idempotent(step)) => {}
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Whether sending the next request twice has the effect of sending it once.
    fn is_idempotent(&self, step: &Step) -> bool {
        self.prepared.as_ref().unwrap_or(&step.method).is_idempotent()
    }

    /// Returns the answer to `step`, which has come last.
    pub fn answer(&self, sent: Sent, step: &Step) -> Answer<'_> {
        match sent {
            Sent::Response(came) => self.response.answer(came, step),
            Sent::Opened => {
                let headers = self.response.headers();
                Answer { headers, ..Answer::of_socket(Body::Kept(&[])) }
            }
            Sent::Message(message) => Answer::of_socket(Body::Message(message)),
        }
    }

    /// Makes a request that no step has the next one.
    pub fn prepare(&mut self, request: &Request) {
        self.resend.begin();
        self.buffers.replace(request, &self.shared.via);
        self.prepared = Some(request.method.clone());
    }

    /// Adds a field, with a name in lower case, to the next request.
    pub fn add_field(&mut self, name: &str, value: &str) {
        let message = self.shared.messages.get(self.index as usize);
        self.buffers.add_field(message, name, value);
    }

    /// Returns path and query of the request that was rendered last.
    pub fn target(&self) -> &str {
        let target = self.message().map_or("/", |message| self.buffers.target(message));
        self.shared.via.path(target)
    }

    /// Returns the fields of the request that was rendered last, without added ones; and its body, if wanted.
    pub fn rendered(&self, with_body: bool) -> (Fields, RequestBody) {
        let parts = |message| self.buffers.parts(message, &self.shared.via, with_body);
        self.message().map(parts).unwrap_or_default()
    }

    /// Returns status and headers of the last response.
    pub fn head(&self) -> (u16, Headers<'_>) {
        (self.response.status(), self.response.headers())
    }

    /// The message of the step whose request was rendered last; `None` on the way to a server that no step names.
    fn message(&self) -> Option<&Message> {
        self.shared.messages.get(self.index as usize)
    }

    /// Sends the next request, and reads the response.
    async fn send_once(&mut self, step: &Step) -> Result<Came, Failure> {
        self.response.begin(step);
        let idle = self.idle.take().and_then(|idle| self.shared.usable(idle));
        let is_used = idle.is_some();
        let idle = match idle {
            Some(idle) => idle,
            // Boxed, so that users with a connection don't carry the memory for opening one.
            None => {
                let opening = self.shared.connection(self.user, &mut self.sessions);
                Box::pin(opening).await?
            }
        };
        let (stream, life) = idle.begin();
        let message = self.shared.messages.get(self.index as usize);
        let request = self.buffers.unsent(message);
        let received = self.response.exchange(stream, request, step).await;
        // A server that accepts a connection and does not answer has failed.
        let received = received.map_err(|it| if is_used { it } else { it.with(Work::Possible) })?;
        if !is_used {
            self.shared.dialer.speaks(self.response.version());
        }
        let (idle, came) = received.into_idle(life);
        let idle = idle.filter(|_| self.shared.keeps_alive);
        self.idle = idle.and_then(|idle| self.shared.unspent(idle));
        Ok(came)
    }
}
