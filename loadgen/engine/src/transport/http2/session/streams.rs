//! The requests in flight on a connection.

use std::collections::{BTreeSet, VecDeque};

use super::Token;
use super::window::ReceiveWindow;
use crate::transport::failure::Work;
use crate::transport::fields::Fields;
use crate::transport::http2::code::{Breach, breach};
use crate::transport::http2::frame;
use crate::transport::http2::hpack::Head;
use crate::transport::request_body::RequestBody;

/// Largest number of reset streams that are remembered, so that their late frames are ignored.
const MOST_LATE: usize = 1 << 16;

/// The streams of a connection.
#[derive(Default)]
pub(super) struct Streams {
    /// The open streams, in the order of their numbers and of their tokens.
    pub(super) open: VecDeque<Stream>,
    /// The requests that wait for a stream: they began after those that have one.
    pub(super) waiting: VecDeque<Waiting>,
    /// Number of open streams whose request has a body that is not yet sent.
    pub(super) sending: usize,
    /// Number of streams that were opened.
    opened: u32,
    /// Streams that were reset, and for which frames may still come.
    late: BTreeSet<u32>,
    /// Up to this stream, no longer known whether frames may still come.
    unknown_up_to: u32,
    /// The last stream that the server answers; `None` if it answers all.
    last: Option<u32>,
}

/// A request in flight.
pub(super) struct Stream {
    pub(super) token: Token,
    /// Number of the stream.
    pub(super) id: u32,
    /// Whether anything of a response has come, also of an interim one.
    pub(super) has_begun: bool,
    /// Whether the head of the response has come.
    pub(super) has_head: bool,
    /// Length of the body, as the method and the head of the response announce it.
    pub(super) announced: Announced,
    /// Number of body bytes that the server accepts.
    pub(super) send_window: i64,
    /// Number of body bytes that the server may send before they are read.
    pub(super) receive_window: ReceiveWindow,
    /// The part of the request's body that is not yet sent.
    pub(super) body: RequestBody,
}

/// Length of the body of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Announced {
    /// Any number of bytes.
    Any,
    /// A number of bytes, of which this many are still to come.
    Length(u64),
    /// No body, because of the method or the status (RFC 9110, section 6.4.1).
    Nothing,
}

/// A request for which the server allows no stream yet.
pub(super) struct Waiting {
    pub(super) token: Token,
    fields: Fields,
    constant: usize,
    step: Option<usize>,
    added: Fields,
    pub(super) body: RequestBody,
}

impl Streams {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.waiting.is_empty()
    }

    /// Returns the number of the next stream.
    pub(super) fn next_id(&mut self) -> u32 {
        self.opened += 1;
        2 * self.opened - 1
    }

    /// Whether the stream was never opened.
    pub(super) fn is_idle(&self, id: u32) -> bool {
        id.is_multiple_of(2) || id > 2 * self.opened
    }

    /// Returns the position of a request's open stream.
    pub(super) fn find(&self, token: Token) -> Option<usize> {
        self.open.binary_search_by_key(&token, |stream| stream.token).ok()
    }

    /// Returns the position of an open stream.
    pub(super) fn find_id(&self, id: u32) -> Option<usize> {
        self.open.binary_search_by_key(&id, |stream| stream.id).ok()
    }

    /// Removes an open stream.
    pub(super) fn remove(&mut self, index: usize) -> Option<Stream> {
        let stream = self.open.remove(index)?;
        self.sending -= usize::from(!stream.body.is_empty());
        Some(stream)
    }

    /// Notes that a stream was reset: frames that the server has sent before it knew are ignored.
    pub(super) fn expect_late(&mut self, id: u32) {
        self.late.insert(id);
        if self.late.len() > MOST_LATE {
            let first = self.late.pop_first().unwrap_or(0);
            self.unknown_up_to = self.unknown_up_to.max(first);
        }
    }

    /// Notes that no frame comes for a stream any more.
    pub(super) fn forget(&mut self, id: u32) {
        if !self.late.is_empty() {
            self.late.remove(&id);
        }
    }

    /// Whether frames may still come for a stream that is not open.
    pub(super) fn may_be_late(&self, id: u32) -> bool {
        id <= self.unknown_up_to
            || self.last.is_some_and(|last| id > last)
            || self.late.contains(&id)
    }

    /// Removes the requests that the server does not answer, if `last` is the last stream that it does. Returns
    /// their tokens, and what is known of the server's work.
    pub(super) fn end_after(&mut self, last: u32) -> Vec<(Token, Work)> {
        self.last = Some(last);
        let first = self.open.partition_point(|stream| stream.id <= last);
        let unseen = self.open.split_off(first);
        self.sending -= unseen.iter().filter(|stream| !stream.body.is_empty()).count();
        let waiting = self.waiting.drain(..).map(|waiting| (waiting.token, Work::None));
        let unseen = unseen.into_iter().map(|stream| (stream.token, stream.refused()));
        unseen.chain(waiting).collect()
    }

    /// Removes all requests, because the connection has ended. Returns their tokens, and what is known of the
    /// server's work.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (Token, Work)> + use<> {
        let Self { open, waiting, .. } = std::mem::take(self);
        let open = open.into_iter().map(|stream| match stream.has_begun {
            true => (stream.token, Work::Possible),
            false => (stream.token, Work::Unanswered),
        });
        open.chain(waiting.into_iter().map(|waiting| (waiting.token, Work::None)))
    }
}

impl Stream {
    /// The server's work, as known if it says that it did not process the request.
    pub(super) fn refused(&self) -> Work {
        if self.has_begun { Work::Possible } else { Work::None }
    }

    /// Counts the part of the body that comes next.
    pub(super) fn expect(&mut self, length: usize) -> Result<(), Breach> {
        let length = length as u64;
        match self.announced {
            _ if !self.has_head => return breach("a body without a head"),
            Announced::Length(left) if length > left => {
                return breach("the body is longer than its content-length");
            }
            Announced::Nothing if length > 0 => {
                return breach("a body, though the method or the status has none");
            }
            Announced::Length(left) => self.announced = Announced::Length(left - length),
            Announced::Any | Announced::Nothing => {}
        }
        Ok(())
    }

    /// Counts bytes that were read, and opens the window again after many.
    pub(super) fn release(&mut self, length: usize, out: &mut Vec<u8>) {
        // No more than a window.
        if let Some(by) = self.receive_window.release(length as u32) {
            frame::open_window(self.id, by, out);
        }
    }
}

impl Waiting {
    pub(super) fn new(token: Token, head: Head<'_>, body: RequestBody) -> Self {
        let Head { fields, constant, step, added } = head;
        Self { token, fields: fields.clone(), constant, step, added: added.clone(), body }
    }

    pub(super) fn head(&self) -> Head<'_> {
        Head { fields: &self.fields, constant: self.constant, step: self.step, added: &self.added }
    }
}
