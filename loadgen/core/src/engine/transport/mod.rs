//! Sends requests to the server and reads the answers. Each transport has its own file.
//!
//! Both transports give the same outcome for the same server. `http1` is our own implementation of
//! HTTP/1.1; `reqwest` does what `http1` can't.

mod addresses;
mod connections;
mod dialer;
mod headers;
mod http1;
mod reqwest;
mod stream;
mod tls;
mod websocket;

use std::borrow::Cow;
use std::ops::{Deref, Range};
use std::sync::Arc;

use bytes::Bytes;

pub use self::headers::Headers;
use self::http1::Scratch;
#[cfg(any(test, fuzzing))]
pub use self::http1::read_foreign;
pub use self::http1::{Progress, Reader};
pub use self::websocket::Slot;
use super::plan::{Number, Plan};
use crate::engine::check::expectations::{is_expected, reads_body};
use crate::engine::content_encoding::{Encoded, Undecodable};
use crate::measure::{Connections, ErrorKind};
use crate::scenario::{Data, RenderError, Step, TransportKind};

/// Value of the `user-agent` header, unless the step sets the header.
const USER_AGENT: &str = concat!("loadgen/", env!("CARGO_PKG_VERSION"));

/// Longest body, in bytes, that is kept for an expectation, a counter or a capture.
const LONGEST_KEPT: usize = 16 << 20;

/// Number of bytes kept of an unexpected answer's body, so that the error can show its beginning.
const BEGINNING: usize = 1 << 10;

/// Maximum number of bytes kept of a body, so that a null server can send the same answer again.
const SAMPLE: usize = 1 << 20;

/// State shared by a process's users: the server's address, and requests' constant parts.
pub enum Transport {
    /// Our own implementation of HTTP/1.1.
    Http1(http1::Http1),
    /// The `reqwest` crate.
    Reqwest(Box<reqwest::Reqwest>),
}

/// Sends the requests of one user.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all users have the larger one, and boxes would cost each request a pointer"
)]
pub enum Link<'a> {
    /// The user's own connection.
    Http1(http1::Link<'a>),
    /// The user's own `reqwest` client.
    Reqwest(Box<reqwest::Link<'a>>),
}

impl Transport {
    /// Creates the plan's transport, without opening a connection. Returns
    /// the reason if the transport cannot be created.
    pub fn new(plan: &Plan) -> Result<Self, String> {
        match plan.scenario.http.transport() {
            TransportKind::Reqwest if plan.scenario.uses_websocket() => {
                Err("a WebSocket needs the transport http1".to_owned())
            }
            TransportKind::Http1 => http1::Http1::new(plan).map(Self::Http1),
            TransportKind::Reqwest => {
                reqwest::Reqwest::new(plan).map(|it| Self::Reqwest(it.into()))
            }
        }
    }

    /// Prepares these users' connections before they send: `http1` opens them, `reqwest` only looks
    /// up the server's addresses.
    pub async fn open(&self, users: impl Iterator<Item = Number>) {
        match self {
            Self::Http1(shared) => shared.open(users).await,
            Self::Reqwest(shared) => shared.find_addresses().await,
        }
    }

    /// Creates the link through which `user` sends.
    pub fn link(&self, user: Number) -> Link<'_> {
        match self {
            Self::Http1(shared) => Link::Http1(http1::Link::new(shared, user.local)),
            Self::Reqwest(shared) => Link::Reqwest(Box::new(reqwest::Link::new(shared, user))),
        }
    }

    /// Returns the counts of the connections opened so far.
    pub fn connections(&self) -> Connections {
        match self {
            Self::Http1(shared) => shared.connections(),
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
            Self::Reqwest(link) => Ok(link.render(index, data)?),
        }
    }

    /// Returns the place of the user's WebSocket; `None` if the scenario uses none.
    pub fn socket(&self) -> Option<&Arc<Slot>> {
        match self {
            Self::Http1(link) => link.socket(),
            Self::Reqwest(_) => None,
        }
    }

    /// Notes that `step` does not end with the last message over the WebSocket, which is `shown`. A
    /// further [`Self::exchange`] waits for the next message.
    pub fn pass_over(&self, shown: String) {
        if let Some(socket) = self.socket() {
            socket.pass_over(shown);
        }
    }

    /// Ends a step that has timed out. Returns what is missing, in words.
    pub fn give_up(&self, step: &Step) -> String {
        let of_socket = self.socket().and_then(|socket| socket.give_up(step));
        of_socket.unwrap_or_else(|| format!("no complete response within {:?}", step.timeout))
    }

    /// Keeps the headers and up to 1 MiB of the body of each answer from now on, also if nothing
    /// reads them.
    pub fn keep_samples(&mut self) {
        match self {
            Self::Http1(link) => link.keep_samples(),
            Self::Reqwest(link) => link.keep_samples(),
        }
    }

    /// Sends the request and reads the answer to the last byte. Dropping the future before its
    /// end abandons the request.
    pub async fn exchange(&mut self, step: &Step) -> Result<Answer<'_>, Failure> {
        match self {
            Self::Http1(link) => link.exchange(step).await,
            // Boxed, so that users of the other transport don't carry the memory for this future.
            Self::Reqwest(link) => Box::pin(link.exchange(step)).await,
        }
    }

    /// Gives a used connection time to become free for the next request. Call
    /// between requests, while no request is timed.
    pub async fn settle(&self) {
        match self {
            Self::Http1(_) => {}
            Self::Reqwest(_) => reqwest::settle().await,
        }
    }

    /// Number of body bytes that the last exchange, of `step`, has read, even if the exchange was cut
    /// short.
    pub fn received(&self, step: &Step) -> u64 {
        match self {
            Self::Http1(link) => link.received(step),
            Self::Reqwest(link) => link.received(),
        }
    }
}

/// An answer, read to its last byte.
#[derive(Debug)]
pub struct Answer<'a> {
    /// The status code.
    pub status: u16,
    /// The headers, kept only if the step reads a header, or after [`Link::keep_samples`].
    pub headers: Headers<'a>,
    /// The part of the body that was kept, as received: see [`Keep`].
    pub body: Body<'a>,
    /// Encoding of the body; `None` for a plain body, and for a body of which nothing is kept.
    pub encoding: Option<Box<Encoded>>,
}

impl Answer<'_> {
    /// Returns the body, decompressed at the first call. Call only after the latency is measured.
    pub fn plain(&self) -> Result<&[u8], Undecodable> {
        match &self.encoding {
            None => Ok(&self.body),
            Some(encoded) => encoded.plain(&self.body),
        }
    }

    /// Returns the value of the `content-encoding` header; empty for a plain body.
    pub fn codings(&self) -> &str {
        self.encoding.as_ref().map_or("", |encoded| encoded.codings())
    }

    /// Returns at least the beginning of the body, decompressed, for display.
    pub fn beginning(&self) -> Cow<'_, [u8]> {
        let Some(encoded) = &self.encoding else { return Cow::Borrowed(&self.body) };
        match encoded.beginning(&self.body) {
            plain if plain.is_empty() && !self.body.is_empty() => {
                let codings = self.codings().chars().take(80).collect::<String>();
                Cow::Owned(format!("a body with content-encoding {codings:?}").into_bytes())
            }
            plain => Cow::Owned(plain),
        }
    }
}

/// A body, in one of two places in memory.
#[derive(Debug)]
pub enum Body<'a> {
    /// In the user's own memory.
    Kept(&'a [u8]),
    /// In the thread's read buffer, at this range.
    Read(Scratch, Range<usize>),
    /// A message over a WebSocket.
    Message(Bytes),
}

impl Deref for Body<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Kept(bytes) => bytes,
            Self::Read(scratch, range) => &scratch[range.clone()],
            Self::Message(bytes) => bytes,
        }
    }
}

/// Amount of a body that is kept for reading. The rest is counted and dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Keep {
    /// Nothing, because nothing reads the body.
    #[default]
    Nothing,
    /// The beginning, up to 1 KiB, for an error message.
    Beginning,
    /// The first 1 MiB, so that a null server can send the same answer again.
    Sample,
    /// All, for an expectation, a counter or a capture. A body longer than 16 MiB is an error.
    All,
}

impl Keep {
    /// Returns how much to keep of the body of an answer to `step` with this status code.
    pub fn of(step: &Step, status: u16) -> Self {
        if !is_expected(step, status) {
            Self::Beginning
        } else if reads_body(step) {
            Self::All
        } else {
            Self::Nothing
        }
    }

    /// Returns how many of the next `more` bytes to keep, if `held` bytes are kept already.
    fn room(self, held: usize, more: usize) -> Result<usize, Failure> {
        match self {
            Self::Nothing => Ok(0),
            Self::Beginning => Ok(more.min(BEGINNING.saturating_sub(held))),
            Self::Sample => Ok(more.min(SAMPLE.saturating_sub(held))),
            Self::All if held + more > LONGEST_KEPT => Err(Failure::new(
                ErrorKind::Expectation,
                "the body is longer than 16 MiB, the limit for checks",
            )),
            Self::All => Ok(more),
        }
    }
}

/// The reason why there is no whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind of error to count.
    pub kind: ErrorKind,
    /// A description for people.
    pub message: Cow<'static, str>,
}

impl Failure {
    fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl From<RenderError> for Failure {
    fn from(error: RenderError) -> Self {
        Self::new(ErrorKind::Expectation, error.to_string())
    }
}
