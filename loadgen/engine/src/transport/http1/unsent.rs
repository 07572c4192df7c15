//! Sends a request whose body may lie in several places in memory.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;

use loadgen_scenario::Part;

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

impl<'a> Pieces<'a> {
    /// Returns the bytes of the part with this index; `None` after the last part.
    fn get(&self, index: usize) -> Option<&'a [u8]> {
        match self.parts.get(index)? {
            Part::File(file) => Some(file.bytes()),
            Part::Text(_) => {
                let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
                Some(&self.text.as_bytes()[begin..self.ends[index]])
            }
        }
    }
}

/// The part of a request that is still to be sent.
pub(in crate::transport) struct Unsent<'a> {
    /// The next bytes to send; empty only if all is sent.
    next: &'a [u8],
    /// The bytes after these.
    then: &'a [u8],
    /// The pieces of the body and the index of the first one that is not in `next`; `None` if `next` is
    /// all.
    later: Option<(Pieces<'a>, usize)>,
}

impl<'a> Unsent<'a> {
    /// Creates a request that lies in one place.
    pub(in crate::transport) fn new(bytes: &'a [u8]) -> Self {
        Self::of(bytes, &[], None)
    }

    /// Creates a request whose head lies in one place, followed by a body in another, or by the pieces of one.
    pub(super) fn of(head: &'a [u8], body: &'a [u8], pieces: Option<Pieces<'a>>) -> Self {
        let mut unsent = Self { next: head, then: body, later: pieces.map(|pieces| (pieces, 0)) };
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
        self.next.is_empty()
    }

    /// Sends as much as `stream` takes at once, without a copy.
    pub(super) fn poll_send(
        &mut self,
        stream: &mut (impl AsyncWrite + Unpin),
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let sent = if self.then.is_empty() && self.later.is_none() {
            Pin::new(stream).poll_write(context, self.next)
        } else {
            let mut slices = [IoSlice::new(&[]); AT_ONCE];
            slices[0] = IoSlice::new(self.next);
            slices[1] = IoSlice::new(self.then);
            if let Some((pieces, first)) = self.later {
                for (slice, index) in slices[2..].iter_mut().zip(first..) {
                    *slice = IoSlice::new(pieces.get(index).unwrap_or_default());
                }
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
            let Some((pieces, first)) = &mut self.later else { return };
            let Some(piece) = pieces.get(*first) else { return };
            (self.next, *first) = (piece, *first + 1);
        }
    }

    /// Returns the bytes that are still to be sent.
    pub(super) fn rest(mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        while !self.is_empty() {
            rest.extend_from_slice(self.next);
            self.advance(self.next.len());
        }
        rest
    }
}
