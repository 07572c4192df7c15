//! A whole answer, and how much of its body is kept.

use std::borrow::Cow;
use std::ops::{Deref, Range};

use bytes::Bytes;

use super::http1::Scratch;
use super::{Failure, Headers};
use crate::check::expectations::{is_expected, reads_body};
use crate::content_encoding::{self, Encoded, Undecodable};
use crate::grpc::Reply;
use crate::stream::Streamed;
use loadgen_measure::ErrorKind;
use loadgen_scenario::{Action, Step};

/// Longest body, in bytes, that is kept for an expectation, a counter or a capture.
pub(super) const LONGEST_KEPT: usize = 16 << 20;

/// Number of bytes kept of an unexpected answer's body, so that the error can show its beginning.
pub(super) const BEGINNING: usize = 1 << 10;

/// Maximum number of bytes kept of a body, so that a null server can send the same answer again.
pub(super) const SAMPLE: usize = 1 << 20;

/// An answer, read to its last byte.
#[derive(Debug)]
pub struct Answer<'a> {
    /// The status code.
    pub status: u16,
    /// The headers, kept only if the step reads a header, or after [`super::Link::keep_samples`].
    pub headers: Headers<'a>,
    /// The part of the body that was kept, as received: see [`Keep`].
    pub body: Body<'a>,
    /// Form of the body; `None` for a plain body, and for a body of which nothing is kept.
    pub form: Option<Box<Form<'a>>>,
    /// Result of reading the stream; `None` if the step expects no stream. Empty for an unexpected status.
    pub streamed: Option<Streamed>,
}

/// Form of a body that is not plain.
#[derive(Debug)]
pub enum Form<'a> {
    /// Compressed.
    Encoded(Encoded),
    /// The message of a gRPC call, if the call has one.
    Reply(Reply<'a>),
}

impl Answer<'_> {
    /// Returns the body, decompressed at the first call; or the JSON form of the message of a gRPC
    /// call. Call only after the latency is measured.
    pub fn plain(&self) -> Result<&[u8], Undecodable> {
        match self.form.as_deref() {
            None => Ok(&self.body),
            Some(Form::Encoded(encoded)) => encoded.plain(&self.body),
            Some(Form::Reply(reply)) => reply.json(&self.body),
        }
    }

    /// Returns the value of the `content-encoding` header; empty for a plain body.
    pub fn codings(&self) -> &str {
        match self.form.as_deref() {
            Some(Form::Encoded(encoded)) => encoded.codings(),
            Some(Form::Reply(_)) | None => "",
        }
    }

    /// Returns how a gRPC call ended; `None` for any other answer.
    pub fn reply(&self) -> Option<&Reply<'_>> {
        match self.form.as_deref() {
            Some(Form::Reply(reply)) => Some(reply),
            Some(Form::Encoded(_)) | None => None,
        }
    }

    /// Returns at least the beginning of the body, decompressed or in its JSON form, for display.
    pub fn beginning(&self) -> Cow<'_, [u8]> {
        let encoded = match self.form.as_deref() {
            None => return Cow::Borrowed(&self.body),
            Some(Form::Encoded(encoded)) => encoded,
            Some(Form::Reply(reply)) => {
                let undecoded = |wrong: Undecodable| Cow::Owned(wrong.got.into_bytes());
                return reply.json(&self.body).map_or_else(undecoded, Cow::Borrowed);
            }
        };
        match encoded.beginning(&self.body) {
            plain if plain.is_empty() && !self.body.is_empty() => {
                let codings = self.codings().chars().take(80).collect::<String>();
                Cow::Owned(format!("a body with content-encoding {codings:?}").into_bytes())
            }
            plain => Cow::Owned(plain),
        }
    }
}

/// A body, where it is in memory.
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
        } else if step.action == Action::Call {
            // How long the message is, and whether another one follows.
            Self::Beginning
        } else {
            Self::Nothing
        }
    }

    /// Returns how many of the next `more` bytes to keep, if `held` bytes are kept already.
    pub(super) fn room(self, held: usize, more: usize) -> Result<usize, Failure> {
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

/// Returns the form of a body with these headers; `None` for a plain body, or if nothing is kept.
pub(super) fn form(headers: Headers<'_>, keep: Keep) -> Option<Box<Form<'static>>> {
    const NAME: &str = "content-encoding";
    headers.first(NAME).filter(|_| keep > Keep::Nothing)?;
    let codings = headers.joined(NAME);
    let is_encoded = content_encoding::is_encoded(codings.as_bytes());
    is_encoded.then(|| Box::new(Form::Encoded(Encoded::new(codings))))
}
