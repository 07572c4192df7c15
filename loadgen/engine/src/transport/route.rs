//! One server, over one of the transports, and a user's way to it.

use crate::transport::request_body::RequestBody;
use std::sync::Arc;
use std::task::Context;
use std::time::Instant;

use super::fields::Fields;
use super::redirect::Request;
use super::{Answer, Failure, Headers, http1, http2, reqwest};
use crate::plan::{Number, Plan};
use loadgen_measure::{Connections, ErrorKind, StreamTimes};
use loadgen_scenario::{Data, Step, TransportKind};

/// State shared by a process's users to reach one server: its address, and the constant parts of requests.
#[derive(Clone)]
pub(super) enum Server {
    /// Our own implementation of HTTP/1.1.
    Http1(Arc<http1::Http1>),
    /// Our own implementation of HTTP/2.
    Http2(Arc<http2::Http2>),
    /// The `reqwest` crate.
    Reqwest(Arc<reqwest::Reqwest>),
}

/// Sends the requests of one user to one server.
pub(super) enum Route {
    /// The user's own connection.
    Http1(Box<http1::Link>),
    /// The user's own HTTP/2 connection, or its access to a shared one.
    Http2(Box<http2::Link>),
    /// The user's own `reqwest` client.
    Reqwest(Box<reqwest::Link>),
}

/// Where a route has read a response to. May hold the thread's read buffer, and so must not be held across an await.
pub(super) enum Came {
    Http1(http1::Sent),
    /// `None` if the response is in the memory of the route.
    Http2(Option<http1::Came>),
    Reqwest(reqwest::Came),
}

impl Server {
    /// Prepares the server of a plan, without opening a connection. Returns the reason if this is impossible.
    pub(super) fn new(plan: &Plan, kind: TransportKind) -> Result<Self, String> {
        Ok(match kind {
            TransportKind::Http1 => Self::Http1(http1::Http1::new(plan)?.into()),
            TransportKind::Http2 => Self::Http2(http2::Http2::new(plan)?.into()),
            TransportKind::Reqwest => Self::Reqwest(reqwest::Reqwest::new(plan)?.into()),
        })
    }

    /// Prepares these users' connections before they send: `http1` and `http2` open them, `reqwest` only
    /// looks up the server's addresses.
    pub(super) async fn open(&self, users: impl Iterator<Item = Number>) {
        match self {
            Self::Http1(shared) => shared.open(users).await,
            Self::Http2(shared) => shared.open(users).await,
            Self::Reqwest(shared) => shared.find_addresses().await,
        }
    }

    /// Creates the way of `user` to the server.
    pub(super) fn route(&self, user: Number) -> Route {
        match self.clone() {
            Self::Http1(shared) => Route::Http1(Box::new(http1::Link::new(shared, user.local))),
            Self::Http2(shared) => Route::Http2(Box::new(http2::Link::new(shared, user))),
            Self::Reqwest(shared) => Route::Reqwest(Box::new(reqwest::Link::new(shared, user))),
        }
    }

    /// Returns the counts of the connections opened so far.
    pub(super) fn connections(&self) -> Connections {
        match self {
            Self::Http1(shared) => shared.connections(),
            Self::Http2(shared) => shared.connections(),
            Self::Reqwest(shared) => shared.connections(),
        }
    }
}

impl Route {
    /// Renders the next request: the scenario's step at `index`, with its generated values. After
    /// an error, no request is ready for [`Self::send`].
    pub(super) fn render(&mut self, index: usize, data: &mut Data) -> Result<(), Failure> {
        match self {
            Self::Http1(link) => link.render(index, data),
            Self::Http2(link) => link.render(index, data),
            Self::Reqwest(link) => link.render(index, data),
        }
    }

    /// Makes a request that no step has the next one. `reqwest` follows redirects itself.
    pub(super) fn prepare(&mut self, request: &Request) {
        match self {
            Self::Http1(link) => link.prepare(request),
            Self::Http2(link) => link.prepare(request),
            Self::Reqwest(_) => {}
        }
    }

    /// Adds a field, with a name in lower case, to the next request.
    pub(super) fn add_field(&mut self, name: &str, value: &str) {
        match self {
            Self::Http1(link) => link.add_field(name, value),
            Self::Http2(link) => link.add_field(name, value),
            Self::Reqwest(link) => link.add_field(name, value),
        }
    }

    /// Returns path and query of the request that was rendered last.
    pub(super) fn target(&self) -> &str {
        match self {
            Self::Http1(link) => link.target(),
            Self::Http2(link) => link.target(),
            Self::Reqwest(_) => "/",
        }
    }

    /// Returns the fields of the request that was rendered last, without added ones; and its body, which may be
    /// left out unless `with_body`.
    pub(super) fn rendered(&self, with_body: bool) -> (Fields, RequestBody) {
        match self {
            Self::Http1(link) => link.rendered(with_body),
            Self::Http2(link) => link.rendered(),
            Self::Reqwest(_) => <_>::default(),
        }
    }

    /// Returns status and headers of the last response. The headers are there if the step reads any, if they set
    /// cookies that the scenario keeps, or with a redirect that the step may follow.
    pub(super) fn head(&self) -> (u16, Headers<'_>) {
        match self {
            Self::Http1(link) => link.head(),
            Self::Http2(link) => link.head(),
            Self::Reqwest(_) => (0, Headers::Unkept),
        }
    }

    /// Sends the next request, once more if the server did not process it, and reads the response to the last
    /// byte. Dropping the future before its end abandons the request.
    pub(super) async fn send(&mut self, step: &Step) -> Result<Came, Failure> {
        match self {
            Self::Http1(link) => link.send(step).await.map(Came::Http1),
            Self::Http2(link) => link.send(step).await.map(Came::Http2),
            // Boxed, so that users of the other transports don't carry the memory for this future.
            Self::Reqwest(link) => Box::pin(link.send(step)).await.map(Came::Reqwest),
        }
    }

    /// Returns the answer to `step`, which has come last.
    pub(super) fn answer(&mut self, came: Came, step: &Step) -> Result<Answer<'_>, Failure> {
        match (self, came) {
            (Self::Http1(link), Came::Http1(came)) => Ok(link.answer(came, step)),
            (Self::Http2(link), Came::Http2(came)) => link.answer(came, step),
            (Self::Reqwest(link), Came::Reqwest(came)) => Ok(link.answer(came, step)),
            // Unreachable: a response is asked for where it has come.
            _ => Err(Failure::new(ErrorKind::Protocol, "no response")),
        }
    }

    /// Keeps the headers and up to 1 MiB of the body of each response from now on, also if nothing reads them.
    pub(super) fn keep_samples(&mut self) {
        match self {
            Self::Http1(link) => link.keep_samples(),
            Self::Http2(link) => link.keep_samples(),
            Self::Reqwest(link) => link.keep_samples(),
        }
    }

    /// See [`super::Link::first_byte`].
    pub(super) fn first_byte(&self, step: &Step) -> Option<Instant> {
        match self {
            Self::Http1(link) => link.first_byte(step),
            Self::Http2(link) => link.first_byte(),
            Self::Reqwest(link) => link.first_byte(),
        }
    }

    /// Times of the events of the last stream; `None` before the first.
    pub(super) fn stream_times(&self) -> Option<StreamTimes<'_>> {
        match self {
            Self::Http1(link) => link.stream_times(),
            Self::Http2(link) => link.stream_times(),
            Self::Reqwest(link) => link.stream_times(),
        }
    }

    /// Answers what the server sends while the user waits.
    pub(super) fn tend(&mut self, context: &mut Context<'_>) {
        if let Self::Http2(link) = self {
            link.tend(context);
        }
    }

    /// Whether the last request was sent again.
    pub(super) fn was_sent_again(&self) -> bool {
        match self {
            Self::Http1(link) => link.resend.was_sent_again(),
            Self::Http2(link) => link.resend.was_sent_again(),
            Self::Reqwest(link) => link.resend.was_sent_again(),
        }
    }

    /// Number of body bytes of the last response, even if it was cut short.
    pub(super) fn received(&self, step: &Step) -> u64 {
        match self {
            Self::Http1(link) => link.received(step),
            Self::Http2(link) => link.received(),
            Self::Reqwest(link) => link.received(),
        }
    }
}
