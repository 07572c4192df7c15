//! Sends requests to the server and reads the answers. Each transport has its own file.
//!
//! All transports give the same outcome for the same server. `http1` and `http2` are our own; `reqwest`
//! does what they can't.

mod addresses;
mod ahead;
mod answer;
mod connections;
mod content_length;
mod dialer;
mod failure;
mod fields;
mod headers;
mod http1;
mod http2;
mod reqwest;
mod resend;
mod step_request;
mod stream;
mod tls;
mod websocket;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Context;
use std::time::Instant;

use self::answer::form;
pub use self::answer::{Answer, Body, Form, Keep};
pub use self::failure::{Failure, PARTLY, PROXY, REDIRECTED};
pub use self::headers::Headers;
#[cfg(any(test, fuzzing))]
pub use self::http1::read_foreign;
pub use self::http1::{Progress, Reader};
#[cfg(any(test, fuzzing))]
pub use self::http2::http2_foreign;
pub use self::websocket::Slot;
use super::plan::{Number, Plan};
use loadgen_measure::{Connections, StreamTimes};
use loadgen_scenario::{Data, Step, TransportKind};

/// Value of the `user-agent` header, unless the step sets the header.
const USER_AGENT: &str = concat!("loadgen/", env!("CARGO_PKG_VERSION"));

/// State shared by a process's users: the server's address, and requests' constant parts.
pub enum Transport {
    /// Our own implementation of HTTP/1.1.
    Http1(http1::Http1),
    /// Our own implementation of HTTP/2.
    Http2(Box<http2::Http2>),
    /// The `reqwest` crate.
    Reqwest(Box<reqwest::Reqwest>),
}

/// Sends the requests of one user.
pub enum Link<'a> {
    /// The user's own connection.
    Http1(Box<http1::Link<'a>>),
    /// The user's own HTTP/2 connection, or its access to a shared one.
    Http2(Box<http2::Link<'a>>),
    /// The user's own `reqwest` client.
    Reqwest(Box<reqwest::Link<'a>>),
}

impl Transport {
    /// Creates the plan's transport, without opening a connection. Returns
    /// the reason if the transport cannot be created.
    pub fn new(plan: &Plan) -> Result<Self, String> {
        let kind = plan.scenario.http.transport();
        if plan.scenario.grpc.is_some() && kind != TransportKind::Http2 {
            return Err("gRPC needs the transport http2".to_owned());
        }
        match kind {
            TransportKind::Http2 | TransportKind::Reqwest if plan.scenario.uses_websocket() => {
                Err("a WebSocket needs the transport http1".to_owned())
            }
            TransportKind::Http1 => http1::Http1::new(plan).map(Self::Http1),
            TransportKind::Http2 => http2::Http2::new(plan).map(|it| Self::Http2(it.into())),
            TransportKind::Reqwest => {
                reqwest::Reqwest::new(plan).map(|it| Self::Reqwest(it.into()))
            }
        }
    }

    /// Prepares these users' connections before they send: `http1` and `http2` open them, `reqwest` only
    /// looks up the server's addresses.
    pub async fn open(&self, users: impl Iterator<Item = Number>) {
        match self {
            Self::Http1(shared) => shared.open(users).await,
            Self::Http2(shared) => shared.open(users).await,
            Self::Reqwest(shared) => shared.find_addresses().await,
        }
    }

    /// Creates the link through which `user` sends.
    pub fn link(&self, user: Number) -> Link<'_> {
        match self {
            Self::Http1(shared) => Link::Http1(Box::new(http1::Link::new(shared, user.local))),
            Self::Http2(shared) => Link::Http2(Box::new(http2::Link::new(shared, user))),
            Self::Reqwest(shared) => Link::Reqwest(Box::new(reqwest::Link::new(shared, user))),
        }
    }

    /// Returns the counts of the connections opened so far.
    pub fn connections(&self) -> Connections {
        match self {
            Self::Http1(shared) => shared.connections(),
            Self::Http2(shared) => shared.connections(),
            Self::Reqwest(shared) => shared.connections(),
        }
    }
}

impl Link<'_> {
    /// Renders the next request: the scenario's step at `index`, with its generated values. After
    /// an error, no request is ready for [`Self::exchange`].
    pub fn render(&mut self, index: usize, data: &mut Data) -> Result<(), Failure> {
        match self {
            Self::Http1(link) => link.render(index, data),
            Self::Http2(link) => link.render(index, data),
            Self::Reqwest(link) => Ok(link.render(index, data)?),
        }
    }

    /// Returns the place of the user's WebSocket; `None` if the scenario uses none.
    pub fn socket(&self) -> Option<&Arc<Slot>> {
        match self {
            Self::Http1(link) => link.socket(),
            Self::Http2(_) | Self::Reqwest(_) => None,
        }
    }

    /// Notes that the step does not end with the last message over the WebSocket, which is `shown`. A
    /// further [`Self::exchange`] waits for the next message.
    pub fn pass_over(&self, shown: String) {
        if let Some(socket) = self.socket() {
            socket.pass_over(shown);
        }
    }

    /// Ends a step that has timed out. Returns what is missing, in words.
    pub fn give_up(&self, step: &Step) -> String {
        let timeout = step.timeout;
        let of_socket = self.socket().and_then(|socket| socket.give_up(step));
        of_socket.unwrap_or_else(|| match self.stream_times(step).map_or(0, |times| times.events) {
            0 => format!("no complete response within {timeout:?}"),
            1 => format!("1 event, but no end of the stream within {timeout:?}"),
            n => format!("{n} events, but no end of the stream within {timeout:?}"),
        })
    }

    /// Keeps the headers and up to 1 MiB of the body of each answer from now on, also if nothing
    /// reads them.
    pub fn keep_samples(&mut self) {
        match self {
            Self::Http1(link) => link.keep_samples(),
            Self::Http2(link) => link.keep_samples(),
            Self::Reqwest(link) => link.keep_samples(),
        }
    }

    /// Sends the request, once more if the server did not process it, and reads the answer to the last
    /// byte. Dropping the future before its end abandons the request.
    pub async fn exchange(&mut self, step: &Step) -> Result<Answer<'_>, Failure> {
        match self {
            Self::Http1(link) => link.exchange(step).await,
            Self::Http2(link) => link.exchange(step).await,
            // Boxed, so that users of the other transports don't carry the memory for this future.
            Self::Reqwest(link) => Box::pin(link.exchange(step)).await,
        }
    }

    /// Gives a used connection time to become free for the next request. Call
    /// between requests, while no request is timed.
    pub async fn settle(&self) {
        match self {
            Self::Http1(_) | Self::Http2(_) => {}
            Self::Reqwest(_) => reqwest::settle().await,
        }
    }

    /// Time when the last exchange, of `step`, read the first byte of its answer; `None` if it read the
    /// whole answer at once, and thus without a time of its own. `reqwest` tells when it has read the head.
    pub fn first_byte(&self, step: &Step) -> Option<Instant> {
        match self {
            Self::Http1(link) => link.first_byte(step),
            Self::Http2(link) => link.first_byte(),
            Self::Reqwest(link) => link.first_byte(),
        }
    }

    /// Times of the events that the last exchange has read; `None` if its step expects no stream.
    pub fn stream_times(&self, step: &Step) -> Option<StreamTimes<'_>> {
        step.expect.stream.as_ref()?;
        match self {
            Self::Http1(link) => link.stream_times(),
            Self::Http2(link) => link.stream_times(),
            Self::Reqwest(link) => link.stream_times(),
        }
    }

    /// Awaits `wait`, and meanwhile answers what the server sends between two requests, such as PING.
    pub async fn tended<T>(&mut self, wait: impl Future<Output = T>) -> T {
        let mut wait = pin!(wait);
        poll_fn(|context| {
            let waited = wait.as_mut().poll(context);
            if waited.is_pending() {
                self.tend(context);
            }
            waited
        })
        .await
    }

    fn tend(&mut self, context: &mut Context<'_>) {
        if let Self::Http2(link) = self {
            link.tend(context);
        }
    }

    /// Whether the request of the last exchange was sent again, because the server had not processed it.
    pub fn was_sent_again(&self) -> bool {
        match self {
            Self::Http1(link) => link.resend.was_sent_again(),
            Self::Http2(link) => link.resend.was_sent_again(),
            Self::Reqwest(link) => link.resend.was_sent_again(),
        }
    }

    /// Number of body bytes that the last exchange, of `step`, has read, even if the exchange was cut
    /// short.
    pub fn received(&self, step: &Step) -> u64 {
        match self {
            Self::Http1(link) => link.received(step),
            Self::Http2(link) => link.received(),
            Self::Reqwest(link) => link.received(),
        }
    }
}
