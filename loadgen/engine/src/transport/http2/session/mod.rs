//! The protocol of one connection (RFC 9113), without its input and output: takes the bytes that have
//! come, and gives those to be sent.

mod control;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod input;
mod responses;
mod streams;
#[cfg(test)]
mod tests;
mod window;

use std::mem;

use self::input::Input;
use self::streams::{Announced, Stream, Streams, Waiting};
use self::window::ReceiveWindow;
use super::code::{Breach, Code};
use super::frame::{self, FIRST_WINDOW, LONGEST_PAYLOAD, flag, kind, setting};
use super::hpack::{Decoder, Encoder, Head};
use crate::transport::failure::{Failure, Work};
use crate::transport::fields::Fields;
use crate::transport::lifetime::Life;
use crate::transport::request_body::RequestBody;
use loadgen_measure::ErrorKind;

/// Number of body bytes that a server may send before it hears that they have come, in total; and for each
/// stream, before they are read. So large that flow control never holds a server back.
const CONNECTION_WINDOW: u32 = 1 << 30;
const STREAM_WINDOW: u32 = 16 << 20;

/// Longest header section of a response, as HTTP/2 counts it: as long as `http1` accepts.
const LONGEST_SECTION: u32 = 408 << 10;

/// Number of requests that may be in flight until the server has sent its settings: the least that
/// servers should allow (RFC 9113, section 6.5.2).
const STREAMS_AT_FIRST: usize = 100;

/// Number of requests after which a connection is replaced. It has numbers for 2^30 requests (RFC 9113,
/// section 5.1.1); the rest is for those that users of a shared connection begin meanwhile.
const MOST_REQUESTS: u32 = (1 << 30) - (1 << 20);

/// Number of bytes that are ready to be sent at once, beyond which no more bytes of bodies are added.
const OUTPUT: usize = 64 << 10;

/// Number of a request on its connection, in the order in which they began.
pub(super) type Token = u32;

/// A part of a response, or its end.
#[derive(Debug)]
pub(super) enum Piece<'a> {
    /// Status and header fields. The receiver may take the fields, and leave others to be overwritten.
    Head(u16, &'a mut Fields),
    /// The next bytes of the body.
    Data(&'a [u8]),
    /// The fields after the body, as with `Head`.
    Trailers(&'a mut Fields),
    /// Nothing more comes: the response is whole, or there is none.
    End(Result<(), Failure>),
}

/// Receives what comes for requests.
pub(super) trait Sink {
    /// Whether bytes are read as soon as they are taken. If not, [`Session::release`] tells how many are.
    const READS: bool;

    fn take(&mut self, token: Token, piece: Piece<'_>);
}

/// The client's side of a connection.
pub(super) struct Session {
    /// Bytes to be sent.
    out: Vec<u8>,
    /// Number of bytes among them that answer frames of the server, or reset streams.
    answers: usize,
    input: Input,
    encoder: Encoder,
    decoder: Decoder,
    /// The last header section. The next one overwrites it.
    fields: Fields,
    streams: Streams,
    /// Largest number of open streams.
    most_streams: usize,
    /// Size of the window with which the server lets a stream begin.
    first_window: i64,
    /// Number of body bytes that the server accepts.
    send_window: i64,
    /// Number of body bytes that the server may send.
    receive_window: ReceiveWindow,
    /// Number of requests that were begun.
    requests: Token,
    /// Remaining life of the connection; `None` for no limit.
    life: Option<Life>,
    /// Whether no further request may begin, because loadgen wants none.
    is_retired: bool,
    /// Why no further request may begin, though the last ones may end; `None` if one may.
    going_away: Option<Failure>,
    /// Why the connection has ended; `None` if it has not.
    over: Option<Failure>,
}

impl Session {
    /// Creates a session that has the client's preface to send, with a limit on its life if there is one.
    pub(super) fn new(life: Option<Life>) -> Self {
        let mut out = frame::PREFACE.to_vec();
        let settings = [
            (setting::ENABLE_PUSH, 0),
            (setting::INITIAL_WINDOW_SIZE, STREAM_WINDOW),
            (setting::MAX_HEADER_LIST_SIZE, LONGEST_SECTION),
        ];
        let settings =
            settings.map(|(key, value)| [&key.to_be_bytes()[..], &value.to_be_bytes()].concat());
        frame::write(kind::SETTINGS, 0, 0, &settings.concat(), &mut out);
        frame::open_window(0, CONNECTION_WINDOW - FIRST_WINDOW, &mut out);
        Self {
            out,
            answers: 0,
            input: Input::default(),
            encoder: Encoder::new(),
            decoder: Decoder::new(LONGEST_SECTION as usize),
            fields: Fields::default(),
            streams: Streams::default(),
            most_streams: STREAMS_AT_FIRST,
            first_window: FIRST_WINDOW.into(),
            send_window: FIRST_WINDOW.into(),
            receive_window: ReceiveWindow::new(CONNECTION_WINDOW),
            requests: 0,
            life,
            is_retired: false,
            going_away: None,
            over: None,
        }
    }

    /// Whether another request may begin: the server has neither closed the connection nor sent GOAWAY,
    /// and stream numbers are left.
    pub(super) fn is_open(&self) -> bool {
        self.over.is_none()
            && self.going_away.is_none()
            && self.requests < MOST_REQUESTS
            && !self.is_retired
            && !self.is_spent()
    }

    /// Whether loadgen itself begins no further request, because the life of the connection is over, although the
    /// server would take one.
    pub(super) fn is_spent(&self) -> bool {
        let life_is_over = self.life.is_some_and(|life| life.is_spent());
        life_is_over && self.over.is_none() && self.going_away.is_none()
    }

    /// Begins no further request. The session is over when those in flight have ended.
    pub(super) fn retire(&mut self) {
        self.is_retired = true;
    }

    /// Whether [`Self::retire`] was called.
    pub(super) fn is_retired(&self) -> bool {
        self.is_retired
    }

    /// Whether nothing more can come for any request, now or later.
    pub(super) fn is_over(&self) -> bool {
        let is_ending = self.going_away.is_some() || self.is_retired;
        self.over.is_some() || (is_ending && self.streams.is_empty())
    }

    /// Begins a request, which waits while the server allows no further stream.
    pub(super) fn begin(&mut self, head: Head<'_>, body: RequestBody) -> Result<Token, Failure> {
        if let Some(failure) = self.over.as_ref().or(self.going_away.as_ref()) {
            return Err(failure.clone().with(Work::None));
        }
        self.life.iter_mut().for_each(Life::spend);
        let token = self.requests;
        self.requests += 1;
        if self.streams.waiting.is_empty() && self.streams.open.len() < self.most_streams {
            self.open(token, head, body);
        } else {
            self.streams.waiting.push_back(Waiting::new(token, head, body));
        }
        Ok(token)
    }

    /// Opens a stream for a request.
    fn open(&mut self, token: Token, head: Head<'_>, body: RequestBody) {
        let id = self.streams.next_id();
        let flags = if body.is_empty() { flag::END_STREAM } else { 0 };
        let start = frame::begin(kind::HEADERS, flags, id, &mut self.out);
        self.encoder.encode(head, &mut self.out);
        frame::end_section(start, id, &mut self.out);
        let announced = match head.fields.iter().next() {
            Some((_, b"HEAD")) => Announced::Nothing,
            _ => Announced::Any,
        };
        let send_window = self.first_window;
        let receive_window = ReceiveWindow::new(STREAM_WINDOW);
        self.streams.sending += usize::from(!body.is_empty());
        self.streams.open.push_back(Stream {
            token,
            id,
            has_begun: false,
            has_head: false,
            announced,
            send_window,
            receive_window,
            body,
        });
    }

    /// Opens streams for the requests that wait, as many as the server allows.
    fn admit(&mut self) {
        while self.streams.open.len() < self.most_streams
            && let Some(waiting) = self.streams.waiting.pop_front()
        {
            self.open(waiting.token, waiting.head(), waiting.body.clone());
        }
    }

    /// Ends a request whose response is no longer awaited. Nothing more comes for it.
    pub(super) fn abandon(&mut self, token: Token) {
        match self.streams.find(token) {
            Some(index) => {
                self.reset(index, Code::CANCEL);
                self.admit();
            }
            None => self.streams.waiting.retain(|waiting| waiting.token != token),
        }
    }

    /// Removes an open stream, and tells the server so.
    fn reset(&mut self, index: usize, code: Code) -> Option<Stream> {
        let stream = self.streams.remove(index)?;
        self.answer(kind::RST_STREAM, 0, stream.id, &code.0.to_be_bytes());
        self.streams.expect_late(stream.id);
        Some(stream)
    }

    /// Tells that `length` bytes of a body were read, so that the server may send as many again.
    pub(super) fn release(&mut self, token: Token, length: usize) {
        if let Some(index) = self.streams.find(token) {
            let stream = &mut self.streams.open[index];
            stream.release(length, &mut self.out);
        }
    }

    /// Whether bytes other than those of bodies are ready to be sent.
    pub(super) fn has_output(&self) -> bool {
        !self.out.is_empty()
    }

    /// Number of bytes to be sent that answer frames of the server, or reset streams.
    pub(super) fn answers(&self) -> usize {
        self.answers
    }

    /// Adds a frame that answers one of the server, or resets a stream.
    fn answer(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        frame::write(kind, flags, stream, payload, &mut self.out);
        self.answers += frame::HEAD + payload.len();
    }

    /// Swaps the bytes to be sent for `sent`, whose memory is used again.
    pub(super) fn take_output(&mut self, sent: &mut Vec<u8>, sink: &mut impl Sink) {
        self.add_bodies(sink);
        self.answers = 0;
        sent.clear();
        mem::swap(&mut self.out, sent);
    }

    /// Adds frames of bodies to the output, those of the oldest requests first, as the server's windows allow.
    fn add_bodies(&mut self, sink: &mut impl Sink) {
        if self.streams.sending == 0 {
            return;
        }
        let mut unreadable = Vec::new();
        for stream in &mut self.streams.open {
            while self.out.len() < OUTPUT {
                let window = self.send_window.min(stream.send_window).min(LONGEST_PAYLOAD as i64);
                let most = usize::try_from(window).unwrap_or(0);
                if most == 0 || stream.body.is_empty() {
                    break;
                }
                let part = match stream.body.take(most) {
                    Ok(part) => part,
                    Err(failure) => {
                        unreadable.push((stream.token, failure));
                        break;
                    }
                };
                let length = part.len();
                let is_last = stream.body.is_empty();
                let flags = if is_last { flag::END_STREAM } else { 0 };
                frame::write(kind::DATA, flags, stream.id, &part, &mut self.out);
                // No longer than a frame.
                stream.send_window -= length as i64;
                self.send_window -= length as i64;
                self.streams.sending -= usize::from(is_last);
            }
        }
        for (token, failure) in unreadable {
            self.abandon(token);
            sink.take(token, Piece::End(Err(failure)));
        }
    }

    /// Tells the server that the connection is about to be closed, and that none of its streams was processed: a
    /// client has none from the server.
    pub(super) fn leave(&mut self) {
        if self.over.is_none() {
            frame::write(kind::GOAWAY, 0, 0, &[0; 8], &mut self.out);
        }
    }

    /// The server sends nothing more.
    pub(super) fn closed(&mut self, sink: &mut impl Sink) {
        let message = match self.input.has_begun() {
            true => "the server closed the connection",
            false => "the server closed the connection without a word of HTTP/2",
        };
        self.broken(Failure::new(ErrorKind::Reset, message), sink);
    }

    /// The connection broke. If the server has said why, `failure` is only the consequence.
    pub(super) fn broken(&mut self, failure: Failure, sink: &mut impl Sink) {
        self.end(self.going_away.clone().unwrap_or(failure), sink);
    }

    /// Ends the connection, because the server breaks the protocol.
    fn refuse(&mut self, breach: Breach, sink: &mut impl Sink) {
        let payload = [&[0; 4], &breach.code.0.to_be_bytes()[..]].concat();
        frame::write(kind::GOAWAY, 0, 0, &payload, &mut self.out);
        self.end(breach.failure(), sink);
    }

    /// Ends the connection, and with it all requests.
    fn end(&mut self, failure: Failure, sink: &mut impl Sink) {
        let may_be_idle = failure.kind == ErrorKind::Reset;
        for (token, work) in self.streams.drain() {
            let work = match work {
                Work::Unanswered if !may_be_idle => Work::Possible,
                work => work,
            };
            sink.take(token, Piece::End(Err(failure.clone().with(work))));
        }
        self.over.get_or_insert(failure);
    }
}
