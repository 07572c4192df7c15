//! Sends a request and reads its response, over any connection.

use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{Error, RecvStream};
use http::HeaderMap;
use http::response::Parts;

use super::opening::STREAM_WINDOW;
use super::request::Rendered;
use super::wire::Line;
use crate::engine::check::expectations::is_expected;
use crate::engine::stream::Meter;
use crate::engine::transport::{Failure, Headers, Keep};
use crate::scenario::Step;

/// Number of body bytes after which a stream's flow-control window is opened again. Most bodies are
/// shorter, and cost no window update.
const RELEASE_AT: usize = STREAM_WINDOW as usize / 4;

/// A response, as far as it was read. The next response reuses the buffers.
#[derive(Debug, Default)]
pub(super) struct Response {
    /// Status and headers; `None` before they have arrived.
    pub(super) head: Option<Parts>,
    /// Time when the head was read; `None` if the whole response was there at once.
    pub(super) first_byte: Option<Instant>,
    /// Number of body bytes.
    pub(super) received: u64,
    /// Measures the streams; `None` before the first one.
    pub(super) meter: Option<Box<Meter>>,
    /// The part of the body that is kept.
    pub(super) kept: Vec<u8>,
    /// Headers after the body; `None` for none.
    pub(super) trailers: Option<HeaderMap>,
}

/// A request in flight. Dropped before its end, it resets the stream.
pub(super) struct Exchange {
    stage: Stage,
    keep: Keep,
    /// Number of body bytes read since the stream's window was opened last.
    unreleased: usize,
    /// Whether the connection has a window update to send.
    pub(super) has_released: bool,
}

enum Stage {
    Head(ResponseFuture),
    Body(RecvStream),
    Trailers(RecvStream),
    Done,
}

/// Reason why an exchange failed.
pub(super) enum Broken {
    /// The error of h2.
    Http2(Error),
    Other(Failure),
}

impl Response {
    /// Forgets the last response.
    pub(super) fn clear(&mut self) {
        (self.head, self.first_byte, self.received, self.trailers) = (None, None, 0, None);
        self.kept.clear();
    }

    /// Reads the events of the stream, if `step` expects one, from the next bytes of the body.
    fn read_events(&mut self, step: &Step, chunk: &[u8]) {
        if let (Some(expected), Some(head), Some(meter)) =
            (&step.expect.stream, &self.head, &mut self.meter)
            && is_expected(step, head.status.as_u16())
        {
            let headers = Headers::Map(&head.headers);
            meter.read(expected, |name| headers.first(name), Instant::now(), chunk);
        }
    }
}

impl Broken {
    /// Says what happened, on a connection whose stream shares `line`.
    pub(super) fn failure(self, line: &Line) -> Failure {
        match self {
            Self::Http2(error) => super::failure::failure(&error, line),
            Self::Other(failure) => failure,
        }
    }
}

impl Exchange {
    /// Queues a request, which goes out when the connection is polled. Keeps at least `least` of the
    /// response's body.
    pub(super) fn begin(
        sender: &mut SendRequest<Bytes>,
        request: Rendered,
        least: Keep,
    ) -> Result<Self, Error> {
        let Rendered { head, body } = request;
        let (response, mut stream) = sender.send_request(head, body.is_none())?;
        if let Some(body) = body {
            stream.send_data(body, true)?;
        }
        let stage = Stage::Head(response);
        Ok(Self { stage, keep: least, unreleased: 0, has_released: false })
    }

    /// Reads as much of the response to `step` as has arrived.
    pub(super) fn poll(
        &mut self,
        step: &Step,
        response: &mut Response,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Broken>> {
        let polled = self.advance(step, response, context);
        if polled.is_pending() && response.head.is_some() {
            response.first_byte.get_or_insert_with(Instant::now);
        }
        polled
    }

    fn advance(
        &mut self,
        step: &Step,
        response: &mut Response,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Broken>> {
        loop {
            match &mut self.stage {
                Stage::Head(future) => {
                    let came = ready!(Pin::new(future).poll(context)).map_err(Broken::Http2)?;
                    let (head, body) = came.into_parts();
                    self.keep = self.keep.max(Keep::of(step, head.status.as_u16()));
                    response.head = Some(head);
                    self.stage = match body.is_end_stream() {
                        true => Stage::Done,
                        false => Stage::Body(body),
                    };
                }
                Stage::Body(body) => match ready!(body.poll_data(context)) {
                    Some(Ok(chunk)) => {
                        response.read_events(step, &chunk);
                        response.received += chunk.len() as u64;
                        let room = self.keep.room(response.kept.len(), chunk.len());
                        let room = room.map_err(Broken::Other)?;
                        response.kept.extend_from_slice(&chunk[..room]);
                        self.unreleased += chunk.len();
                        if self.unreleased >= RELEASE_AT {
                            let read = mem::take(&mut self.unreleased);
                            body.flow_control().release_capacity(read).map_err(Broken::Http2)?;
                            self.has_released = true;
                        }
                        if body.is_end_stream() {
                            self.stage = Stage::Done;
                        }
                    }
                    Some(Err(error)) => return Poll::Ready(Err(Broken::Http2(error))),
                    None => {
                        let Stage::Body(body) = mem::replace(&mut self.stage, Stage::Done) else {
                            continue;
                        };
                        self.stage = Stage::Trailers(body);
                    }
                },
                Stage::Trailers(body) => {
                    response.trailers =
                        ready!(body.poll_trailers(context)).map_err(Broken::Http2)?;
                    self.stage = Stage::Done;
                }
                Stage::Done => return Poll::Ready(Ok(())),
            }
        }
    }
}
