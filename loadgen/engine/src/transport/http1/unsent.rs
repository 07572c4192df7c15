//! Sends a request whose body may lie in several places in memory.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;

use crate::transport::Failure;
use crate::transport::request_body::RequestBody;
use loadgen_scenario::{Content, OnDisk, Part};

/// Largest number of pieces in one system call.
const AT_ONCE: usize = 16;

/// A rendered body with files.
#[derive(Clone, Copy)]
pub(super) struct Pieces<'a> {
    /// The parts of the body.
    pub(super) parts: &'a [Part],
    /// The rendered texts of all parts.
    pub(super) text: &'a str,
    /// For each part, the end of the texts up to the part, in `text`.
    pub(super) ends: &'a [usize],
}

/// A part of a body.
enum Piece<'a> {
    Bytes(&'a [u8]),
    OnDisk(&'a OnDisk),
}

impl<'a> Pieces<'a> {
    /// Returns the part with this index; `None` after the last part.
    fn get(&self, index: usize) -> Option<Piece<'a>> {
        Some(match self.parts.get(index)? {
            Part::File(file) => match &file.content {
                Content::Kept(bytes) => Piece::Bytes(bytes),
                Content::OnDisk(file) => Piece::OnDisk(file),
            },
            Part::Text(_) => {
                let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
                Piece::Bytes(&self.text.as_bytes()[begin..self.ends[index]])
            }
        })
    }

    /// Returns the bytes of the part with this index, if they are in memory.
    fn bytes(&self, index: usize) -> Option<&'a [u8]> {
        match self.get(index)? {
            Piece::Bytes(bytes) => Some(bytes),
            Piece::OnDisk(_) => None,
        }
    }
}

/// The part of a request that is still to be sent.
pub(in crate::transport) struct Unsent<'a> {
    /// The next bytes to send.
    next: &'a [u8],
    /// The bytes after these.
    then: &'a [u8],
    /// The body after these, if the request owns it or has to read it from a file. All is sent if this is `None` and
    /// `next` is empty. Boxed, because most requests have none.
    owned: Option<Box<RequestBody>>,
    /// The pieces of the body after these, and the index of the first one; `None` if there are none.
    later: Option<(Pieces<'a>, usize)>,
    /// Why a file could not be read.
    unreadable: Option<Box<Failure>>,
}

impl<'a> Unsent<'a> {
    /// Creates a request with a body of its own.
    pub(in crate::transport) fn new(head: &'a [u8], body: RequestBody) -> Self {
        let owned = (!body.is_empty()).then(|| Box::new(body));
        Self { next: head, then: &[], owned, later: None, unreadable: None }
    }

    /// Creates a request whose head lies in one place, followed by a body in another, or by the pieces of one.
    pub(super) fn of(head: &'a [u8], body: &'a [u8], pieces: Option<Pieces<'a>>) -> Self {
        let later = pieces.map(|pieces| (pieces, 0));
        let mut unsent = Self { next: head, then: body, owned: None, later, unreadable: None };
        unsent.advance(0);
        unsent
    }

    /// Returns the number of bytes up to the end of the head.
    pub(super) fn head(&self) -> usize {
        memchr::memmem::find(self.next, b"\r\n\r\n").map_or(self.next.len(), |at| at + 4)
    }

    /// Sends at most the first `most` bytes, which are in one place. Returns how many were sent.
    pub(super) fn poll_send_some(
        &mut self,
        most: usize,
        stream: &mut (impl AsyncWrite + Unpin),
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let bytes = &self.next[..most.min(self.next.len())];
        let sent = Pin::new(stream).poll_write(context, bytes);
        sent.map_ok(|sent| {
            self.advance(sent);
            sent
        })
    }

    /// Returns whether all is sent.
    pub(super) fn is_empty(&self) -> bool {
        self.next.is_empty() && self.owned.is_none()
    }

    /// Returns why a file could not be read, if that is so: nothing more can be sent.
    pub(super) fn unreadable(&mut self) -> Option<Failure> {
        self.unreadable.take().map(|failure| *failure)
    }

    /// Sends as much as `stream` takes at once, without a copy. Returns an error also if a file cannot be read: see
    /// [`Self::unreadable`].
    pub(super) fn poll_send(
        &mut self,
        stream: &mut (impl AsyncWrite + Unpin),
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if self.next.is_empty()
            && let Some(body) = &mut self.owned
            && let Err(failure) = body.next()
        {
            self.unreadable = Some(Box::new(failure));
            return Poll::Ready(Err(io::ErrorKind::Other.into()));
        }
        let sent = if self.then.is_empty() && self.owned.is_none() && self.later.is_none() {
            Pin::new(stream).poll_write(context, self.next)
        } else {
            let mut slices = [IoSlice::new(&[]); AT_ONCE];
            slices[0] = IoSlice::new(self.next);
            slices[1] = IoSlice::new(self.then);
            match (&self.owned, self.later) {
                (Some(body), _) => slices[2] = IoSlice::new(body.ready()),
                (None, Some((pieces, first))) => {
                    let bytes = (first..).map_while(|index| pieces.bytes(index));
                    for (slice, bytes) in slices[2..].iter_mut().zip(bytes) {
                        *slice = IoSlice::new(bytes);
                    }
                }
                (None, None) => {}
            }
            Pin::new(stream).poll_write_vectored(context, &slices)
        };
        sent.map_ok(|sent| self.advance(sent))
    }

    /// Leaves out the first `sent` bytes.
    fn advance(&mut self, mut sent: usize) {
        loop {
            let here = sent.min(self.next.len());
            self.next = &self.next[here..];
            sent -= here;
            if !self.next.is_empty() {
                return;
            }
            if !self.then.is_empty() {
                self.next = std::mem::take(&mut self.then);
                continue;
            }
            if let Some(body) = &mut self.owned {
                let here = sent.min(body.ready().len());
                body.advance(here);
                sent -= here;
                if !body.is_empty() {
                    return;
                }
                self.owned = None;
            }
            let Some((pieces, first)) = &mut self.later else { return };
            let Some(piece) = pieces.get(*first) else { return };
            *first += 1;
            match piece {
                Piece::Bytes(bytes) => self.next = bytes,
                Piece::OnDisk(file) => {
                    let mut body = RequestBody::default();
                    body.push_file(file);
                    self.owned = Some(Box::new(body));
                }
            }
        }
    }

    /// Returns what is still to be sent. Bytes are copied, and files are not read.
    pub(super) fn rest(mut self) -> RequestBody {
        let mut rest = RequestBody::default();
        loop {
            rest.push(Bytes::copy_from_slice(self.next));
            if let Some(body) = self.owned.take() {
                rest.append(*body);
            }
            self.advance(self.next.len());
            if self.is_empty() {
                return rest;
            }
        }
    }
}
