//! A response, and how far it has come.

use std::mem;
use std::task::Poll;
use std::time::Instant;

use super::session::{Piece, Token};
use crate::check::expectations::is_expected;
use crate::stream::Meter;
use crate::transport::fields::Fields;
use crate::transport::{Failure, Headers, Keep};
use loadgen_scenario::Step;

/// A response, as far as it was read. The next response reuses the buffers.
#[derive(Debug, Default)]
pub(super) struct Response {
    /// The status; `None` before the head has come.
    pub(super) status: Option<u16>,
    pub(super) fields: Fields,
    /// Time when the head was read; `None` if the whole response was there at once.
    pub(super) first_byte: Option<Instant>,
    /// Number of body bytes.
    pub(super) received: u64,
    /// Measures the streams; `None` before the first one.
    pub(super) meter: Option<Box<Meter>>,
    /// The part of the body that is kept.
    pub(super) kept: Vec<u8>,
    /// Fields after the body; empty if there are none.
    pub(super) trailers: Fields,
}

/// A request in flight.
#[derive(Debug)]
pub(super) struct Exchange {
    /// Number of the request on its connection.
    pub(super) token: Token,
    keep: Keep,
    /// How the response ended; `None` before its end.
    end: Option<Result<(), Failure>>,
    /// Whether loadgen ends the stream of events here, although the response goes on.
    closes: bool,
}

impl Response {
    /// Forgets the last response.
    pub(super) fn clear(&mut self) {
        (self.status, self.first_byte, self.received) = (None, None, 0);
        self.kept.clear();
        self.trailers.clear();
    }

    /// Reads the events of the stream, if `step` expects one, from the next bytes of the body. Returns whether loadgen
    /// ends the stream here.
    fn read_events(&mut self, step: &Step, bytes: &[u8]) -> bool {
        if let (Some(expected), Some(status), Some(meter)) =
            (&step.expect.stream, self.status, &mut self.meter)
            && is_expected(step, status)
        {
            let headers = Headers::Fields(&self.fields);
            meter.read(expected, |name| headers.first(name), Instant::now(), bytes);
            return meter.is_at_close(expected);
        }
        false
    }
}

impl Exchange {
    /// Awaits the response to a request. Keeps at least `least` of its body.
    pub(super) fn new(token: Token, least: Keep) -> Self {
        Self { token, keep: least, end: None, closes: false }
    }

    /// Takes the next piece of the response to `step`.
    pub(super) fn take(&mut self, step: &Step, response: &mut Response, piece: Piece<'_>) {
        match piece {
            Piece::Head(status, fields) => {
                self.keep = self.keep.max(Keep::of(step, status));
                response.status = Some(status);
                mem::swap(&mut response.fields, fields);
            }
            Piece::Data(bytes) => {
                // What comes with the last event is a part of the response.
                self.closes |= response.read_events(step, bytes);
                response.received += bytes.len() as u64;
                match self.keep.room(response.kept.len(), bytes.len()) {
                    Ok(room) => response.kept.extend_from_slice(&bytes[..room]),
                    Err(failure) => self.end = Some(Err(failure)),
                }
            }
            Piece::Trailers(fields) => mem::swap(&mut response.trailers, fields),
            Piece::End(how) => {
                self.closes = false;
                self.end.get_or_insert(how);
            }
        }
    }

    /// Whether loadgen has ended the stream before the server.
    pub(super) fn closes(&self) -> bool {
        self.closes
    }

    /// Tells how the response ended. Notes the time if only its beginning has come.
    pub(super) fn poll(&mut self, response: &mut Response) -> Poll<Result<(), Failure>> {
        if let Some(end) = self.end.take() {
            return Poll::Ready(end);
        }
        if self.closes {
            response.meter.iter_mut().for_each(|meter| meter.close());
            return Poll::Ready(Ok(()));
        }
        if response.status.is_some() {
            response.first_byte.get_or_insert_with(Instant::now);
        }
        Poll::Pending
    }
}
