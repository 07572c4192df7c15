//! Transports, one file each: how a request reaches the server and its answer comes back.
//!
//! Both give the same outcome for the same server. `http1` is our own, for `http://`; `reqwest`
//! does what it can't.

mod addresses;
mod connections;
mod headers;
mod http1;
mod reqwest;

use std::borrow::Cow;
use std::ops::{Deref, Range};

pub use self::headers::Headers;
use self::http1::Scratch;
#[cfg(any(test, fuzzing))]
pub use self::http1::response::fuzzing::read_foreign;
pub use self::http1::{Progress, Reader};
use super::plan::{Number, Plan};
use crate::engine::check::expectations::{is_expected, reads_body};
use crate::measure::{Connections, ErrorKind};
use crate::scenario::{Data, Step, TransportKind};

/// What a request says about who sends it, unless its step says something else.
const USER_AGENT: &str = concat!("loadgen/", env!("CARGO_PKG_VERSION"));

/// The longest body that is kept for an expectation or a counter to look at.
const LONGEST_KEPT: usize = 16 << 20;

/// What is kept of an unexpected answer, so that the error can show its beginning.
const BEGINNING: usize = 1 << 10;

/// What is kept of an answer to give the same again.
const SAMPLE: usize = 1 << 20;

/// What all users of a process share: where requests go, and all of them that never changes.
pub enum Transport {
    /// Our own HTTP/1.1.
    Http1(http1::Http1),
    /// The `reqwest` crate.
    Reqwest(Box<reqwest::Reqwest>),
}

/// What one user sends through.
pub enum Link<'a> {
    /// A connection of its own.
    Http1(http1::Link<'a>),
    /// A client of its own.
    Reqwest(Box<reqwest::Link<'a>>),
}

impl Transport {
    /// The transport that a plan takes, without any connection yet; or why there is none.
    pub fn new(plan: &Plan) -> Result<Self, String> {
        match plan.scenario.http.transport(&plan.base_url) {
            TransportKind::Http1 => http1::Http1::new(plan).map(Self::Http1),
            TransportKind::Reqwest => {
                reqwest::Reqwest::new(plan).map(|it| Self::Reqwest(it.into()))
            }
        }
    }

    /// Opens the connections of these users, where that can be done before they send.
    pub async fn open(&self, users: impl Iterator<Item = Number>) {
        match self {
            Self::Http1(shared) => shared.open(users).await,
            Self::Reqwest(shared) => shared.find_addresses().await,
        }
    }

    /// A user's way through it.
    pub fn link(&self, user: Number) -> Link<'_> {
        match self {
            Self::Http1(shared) => Link::Http1(http1::Link::new(shared, user.local)),
            Self::Reqwest(shared) => Link::Reqwest(Box::new(reqwest::Link::new(shared, user))),
        }
    }

    /// The connections so far.
    pub fn connections(&self) -> Connections {
        match self {
            Self::Http1(shared) => shared.connections(),
            Self::Reqwest(shared) => shared.connections(),
        }
    }
}

impl Link<'_> {
    /// Makes the next request: the scenario's step number `index`, with what it generates. Where
    /// that fails there is nothing to exchange.
    pub fn render(&mut self, index: usize, data: &mut Data) -> Result<(), Failure> {
        let rendered = match self {
            Self::Http1(link) => link.render(index, data),
            Self::Reqwest(link) => link.render(index, data),
        };
        rendered.map_err(|e| Failure::new(ErrorKind::Expectation, e.to_string()))
    }

    /// From here on, up to 1 MiB of each body is kept, also of one that nothing looks at.
    pub fn keep_samples(&mut self) {
        match self {
            Self::Http1(link) => link.keep_samples(),
            Self::Reqwest(link) => link.keep_samples(),
        }
    }

    /// Sends the request and reads its answer to the last byte. Whoever drops this before its end
    /// gives up the request.
    pub async fn exchange(&mut self, step: &Step) -> Result<Answer<'_>, Failure> {
        match self {
            Self::Http1(link) => link.exchange(step).await,
            // Apart, so that users of the other transport don't carry the memory for it.
            Self::Reqwest(link) => Box::pin(link.exchange(step)).await,
        }
    }

    /// Lets a connection that was used become free for the next request. Call it where no request is
    /// timed.
    pub async fn settle(&self) {
        match self {
            Self::Http1(_) => {}
            Self::Reqwest(_) => reqwest::settle().await,
        }
    }

    /// Bytes of the body that the last exchange has read, also if it did not come to its end.
    pub fn received(&self) -> u64 {
        match self {
            Self::Http1(link) => link.received(),
            Self::Reqwest(link) => link.received(),
        }
    }
}

/// An answer, read to its last byte.
#[derive(Debug)]
pub struct Answer<'a> {
    /// The status code.
    pub status: u16,
    /// The headers, where the step captures one.
    pub headers: Headers<'a>,
    /// The body, as far as it was kept: see [`Keep`].
    pub body: Body<'a>,
}

/// A body, wherever it lies.
#[derive(Debug)]
pub enum Body<'a> {
    /// In memory of the user's.
    Kept(&'a [u8]),
    /// In the thread's read buffer.
    Read(Scratch, Range<usize>),
}

impl Deref for Body<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Kept(bytes) => bytes,
            Self::Read(scratch, range) => &scratch[range.clone()],
        }
    }
}

/// How much of a body is kept to be looked at; the rest is counted and forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Keep {
    /// Nothing looks at it.
    #[default]
    Nothing,
    /// A message shows its beginning.
    Beginning,
    /// It is to be given again, unless it is long.
    Sample,
    /// An expectation or a counter reads it.
    All,
}

impl Keep {
    /// What is looked at in an answer of this status to `step`.
    pub fn of(step: &Step, status: u16) -> Self {
        if !is_expected(step, status) {
            Self::Beginning
        } else if reads_body(step) {
            Self::All
        } else {
            Self::Nothing
        }
    }

    /// How many of `more` bytes are kept beside `held` ones.
    fn room(self, held: usize, more: usize) -> Result<usize, Failure> {
        match self {
            Self::Nothing => Ok(0),
            Self::Beginning => Ok(more.min(BEGINNING.saturating_sub(held))),
            Self::Sample => Ok(more.min(SAMPLE.saturating_sub(held))),
            Self::All if held + more > LONGEST_KEPT => Err(Failure::new(
                ErrorKind::Expectation,
                "the body is longer than the 16 MiB that can be looked at",
            )),
            Self::All => Ok(more),
        }
    }
}

/// Why there is no whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind that it counts as.
    pub kind: ErrorKind,
    /// What happened.
    pub message: Cow<'static, str>,
}

impl Failure {
    fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, message: message.into() }
    }
}
