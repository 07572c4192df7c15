//! Sends a request over an open connection and reads the response.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::first_byte::FirstByte;
use super::go_ahead::GoAhead;
use super::idle::Idle;
use super::response::{KeepHead, Progress, Reader, cut_off};
use super::scratch::Scratch;
use super::unsent::Unsent;
use crate::check::expectations::{is_expected, reads_headers};
use crate::content_encoding::Encoded;
use crate::stream::{Meter, Streamed};
use crate::transport::failure::{Failure, PARTLY, Work};
use crate::transport::lifetime::Life;
use crate::transport::stream::Stream;
use crate::transport::{Answer, Body, Form, Headers, Keep, tls};
use loadgen_measure::{ErrorKind, StreamTimes};
use loadgen_scenario::{Action, ExpectedStream, Method, Step};

/// A user's response, with what is measured of it. The next response uses the same memory.
#[derive(Default)]
pub(in crate::transport) struct Response {
    reader: Reader,
    first_byte: FirstByte,
    /// Measures the streams; `None` before the first one.
    meter: Option<Box<Meter>>,
    /// Whether all headers are kept, also those that nothing reads.
    samples: bool,
    /// Whether headers that set cookies are kept.
    cookies: bool,
}

/// A response that was read, and the connection over which it came.
pub(in crate::transport) struct Received {
    pub(in crate::transport) stream: Stream,
    /// Whether the connection can carry the next request.
    is_reusable: bool,
    /// Number of seconds after which the server closes the idle connection; `None` if it has not said so.
    idle_s: Option<u32>,
    pub(in crate::transport) came: Came,
}

/// Where a response was read to. Holds the thread's read buffer, and so must not be held across an await.
pub struct Came {
    scratch: Scratch,
    /// Part of the read buffer that is the body; `None` if the body was kept elsewhere.
    body: Option<Range<usize>>,
    streamed: Option<Streamed>,
}

impl Response {
    /// Creates the memory of a user. `cookies` tells whether headers that set cookies are kept.
    pub(in crate::transport) fn new(cookies: bool) -> Self {
        Self { cookies, ..Self::default() }
    }

    /// Keeps the headers and up to 1 MiB of the body of each response from now on.
    pub(in crate::transport) fn keep_samples(&mut self) {
        self.samples = true;
        self.reader.keep_at_least(Keep::Sample);
    }

    /// Number of body bytes so far.
    pub(in crate::transport) fn received(&self) -> u64 {
        self.reader.bytes()
    }

    /// Time when the first byte was read; `None` if the whole response came with one read.
    pub(in crate::transport) fn first_byte(&self) -> Option<Instant> {
        self.first_byte.at(&self.reader)
    }

    /// Times of the events of the last stream; `None` before the first stream.
    pub(in crate::transport) fn stream_times(&self) -> Option<StreamTimes<'_>> {
        self.meter.as_ref().map(|meter| meter.times())
    }

    /// Forgets the last response, and expects the one to `step`.
    pub(in crate::transport) fn begin(&mut self, step: &Step) {
        self.reader.begin(step.method == Method::HEAD);
        self.first_byte = FirstByte::default();
        if step.expect.stream.is_some() {
            self.reader.keep_fresh();
            Meter::begin(&mut self.meter);
        }
        let keeps = KeepHead {
            always: self.keeps_headers(step),
            if_it_sets_cookies: self.cookies,
            if_it_redirects: step.redirects > 0,
        };
        self.reader.keep_head(keeps);
    }

    fn keeps_headers(&self, step: &Step) -> bool {
        self.samples || step.action == Action::Connect || reads_headers(step)
    }

    /// Sends `request` over `stream`, and reads the response to `step`, for which this has begun. The response
    /// stays where it was read: see [`Self::answer`].
    pub(in crate::transport) async fn exchange(
        &mut self,
        stream: Stream,
        request: Unsent<'_>,
        step: &Step,
    ) -> Result<Received, Failure> {
        let Self { reader, first_byte, meter, .. } = self;
        let events = step.expect.stream.as_ref().zip(meter.as_deref_mut());
        let (sending, has_sent) = (Sending::Writes, false);
        let go_ahead = GoAhead::of(step, || request.head());
        let mut exchange = Exchange {
            stream,
            request,
            go_ahead,
            sending,
            has_sent,
            reader,
            first_byte,
            step,
            events,
        };
        let (scratch, progress) = poll_fn(|context| exchange.poll(context)).await?;
        let streamed = exchange.streamed();
        let Progress::Whole { body, keep_alive } = progress else {
            // Unreachable: `poll` is ready only with a whole answer.
            return Err(Failure::new(ErrorKind::Protocol, "incomplete response"));
        };
        let is_reusable = keep_alive && exchange.sending == Sending::Sent;
        let (stream, came) = (exchange.stream, Came { scratch, body, streamed });
        Ok(Received { stream, is_reusable, idle_s: self.reader.idle_s(), came })
    }

    /// Returns the response to `step` that has come.
    pub(in crate::transport) fn answer(&self, came: Came, step: &Step) -> Answer<'_> {
        let Came { scratch, body, streamed } = came;
        let reader = &self.reader;
        let body = match body {
            Some(range) => Body::Read(scratch, range),
            None => Body::Kept(reader.kept()),
        };
        let head = Headers::Head(reader.head());
        let encoded = || Form::Encoded(Encoded::new(head.joined("content-encoding")));
        let form = reader.is_encoded().then(|| Box::new(encoded()));
        let headers = if self.keeps_headers(step) { head } else { Headers::Unkept };
        Answer { status: reader.status(), headers, body, form, streamed }
    }

    /// HTTP version of the response.
    pub(in crate::transport) fn version(&self) -> &'static str {
        self.reader.version()
    }

    /// Status code of the response.
    pub(in crate::transport) fn status(&self) -> u16 {
        self.reader.status()
    }

    /// Headers of the response, if they are kept.
    pub(in crate::transport) fn headers(&self) -> Headers<'_> {
        match self.reader.head() {
            [] => Headers::Unkept,
            head => Headers::Head(head),
        }
    }

    /// Takes the bytes that came after a response with the status 101: they belong to the protocol to
    /// which the connection has switched.
    pub(super) fn take_surplus(&mut self) -> Vec<u8> {
        self.reader.take_surplus()
    }
}

impl Received {
    /// Returns the connection if it can carry the next request, and where the response was read to. `life` is the
    /// remaining life of the connection.
    pub(in crate::transport) fn into_idle(self, life: Option<Life>) -> (Option<Idle>, Came) {
        let idle = self.is_reusable.then(|| Idle::used(self.stream, life, self.idle_s));
        (idle, self.came)
    }
}

/// A request in flight, until its answer is read.
struct Exchange<'r, 'a> {
    stream: Stream,
    /// The part of the request that is still to be sent.
    request: Unsent<'r>,
    /// The wait before the body; `None` if there is none, or no more.
    go_ahead: Option<Box<GoAhead>>,
    sending: Sending,
    /// Whether the system has taken a byte of the request.
    has_sent: bool,
    reader: &'a mut Reader,
    first_byte: &'a mut FirstByte,
    step: &'r Step,
    /// The expected events and their measurement, if the step expects a stream.
    events: Option<(&'r ExpectedStream, &'a mut Meter)>,
}

/// How far a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sending {
    /// Bytes are left to be written.
    Writes,
    /// All is written, and TLS may hold some of it back.
    Flushes,
    Sent,
    /// The server accepts no more of the request. An answer may nevertheless arrive.
    Broken,
}

impl Exchange<'_, '_> {
    /// Sends and reads as much as possible. A server may answer before it has read the request.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(Scratch, Progress), Failure>> {
        self.send(context);
        let mut scratch = Scratch::take();
        loop {
            if let Some(failure) = self.request.unreadable() {
                return Poll::Ready(Err(failure));
            }
            let mut buffer = ReadBuf::new(&mut scratch);
            let read = ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer));
            let length = buffer.filled().len();
            let progress = match read {
                Ok(()) if length == 0 => self.reader.end(),
                Ok(()) => self.feed(&scratch[..length]),
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Err(cut_off()),
                Err(e) => Err(tls::of_exchange(&e)
                    .unwrap_or_else(|| Failure::new(ErrorKind::Reset, e.to_string()))),
            };
            match progress {
                Ok(Progress::Partial) if self.is_at_close() => {
                    let whole = Progress::Whole { body: None, keep_alive: false };
                    return Poll::Ready(Ok((scratch, whole)));
                }
                Ok(Progress::Partial) if self.go_ahead.is_some() && self.reader.continues() => {
                    self.go_ahead = None;
                    self.send(context);
                    self.first_byte.note(self.reader);
                }
                Ok(Progress::Partial) => self.first_byte.note(self.reader),
                Ok(whole) => return Poll::Ready(Ok((scratch, whole))),
                Err(failure) => return Poll::Ready(Err(self.judged(failure))),
            }
        }
    }

    /// Whether loadgen ends the stream here, although the response goes on. If so, notes it.
    fn is_at_close(&mut self) -> bool {
        let Some((stream, meter)) = &mut self.events else { return false };
        let is_there = meter.is_at_close(stream);
        if is_there {
            meter.close();
        }
        is_there
    }

    /// Adds what is known of the server's work for the request.
    fn judged(&self, failure: Failure) -> Failure {
        match failure.kind {
            ErrorKind::Reset if !self.has_sent => failure.with(Work::None),
            ErrorKind::Reset if self.reader.is_untouched() => failure.with(Work::Unanswered),
            ErrorKind::Reset => {
                Failure::new(ErrorKind::Reset, format!("{}, {PARTLY}", failure.message))
            }
            _ => failure,
        }
    }

    /// Sends as much of the request as the connection takes, but no body before its time.
    fn send(&mut self, context: &mut Context<'_>) {
        while self.sending == Sending::Writes {
            let sent = match &mut self.go_ahead {
                None => self.request.poll_send(&mut self.stream, context),
                Some(wait) if wait.left == 0 => {
                    // What TLS holds back of the head goes out before the wait.
                    let _ = Pin::new(&mut self.stream).poll_flush(context);
                    match wait.poll(context) {
                        Poll::Ready(()) => self.go_ahead = None,
                        Poll::Pending => return,
                    }
                    continue;
                }
                Some(wait) => {
                    let sent = self.request.poll_send_some(wait.left, &mut self.stream, context);
                    sent.map_ok(|sent| wait.left -= sent)
                }
            };
            // TLS may have sent a part before it failed.
            self.has_sent |= match sent {
                Poll::Ready(Ok(())) => true,
                Poll::Ready(Err(_)) => !matches!(self.stream, Stream::Plain(_) | Stream::Unix(_)),
                Poll::Pending => false,
            };
            self.sending = match sent {
                Poll::Ready(Ok(())) if self.request.is_empty() => Sending::Flushes,
                Poll::Ready(Ok(())) => Sending::Writes,
                Poll::Ready(Err(_)) => Sending::Broken,
                Poll::Pending => return,
            };
        }
        if self.sending == Sending::Flushes {
            self.sending = match Pin::new(&mut self.stream).poll_flush(context) {
                Poll::Ready(Ok(())) => Sending::Sent,
                Poll::Ready(Err(_)) => Sending::Broken,
                Poll::Pending => return,
            };
        }
    }

    /// Reads the bytes of the answer that have come. The events that they complete have come now.
    fn feed(&mut self, input: &[u8]) -> Result<Progress, Failure> {
        let at = self.events.as_ref().map(|_| Instant::now());
        let progress = self.reader.feed(input, |status| Keep::of(self.step, status))?;
        if let (Some((expected, meter)), Some(at)) = (&mut self.events, at)
            && !self.reader.fresh().is_empty()
            && is_expected(self.step, self.reader.status())
        {
            let headers = Headers::Head(self.reader.head());
            meter.read(expected, |name| headers.first(name), at, self.reader.fresh());
        }
        Ok(progress)
    }

    /// Returns what came of the stream, once the whole answer is read; `None` if the step expects no
    /// stream.
    fn streamed(&mut self) -> Option<Streamed> {
        self.events.as_mut().map(|(expected, meter)| meter.end(expected))
    }
}
