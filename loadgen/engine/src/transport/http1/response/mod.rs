//! Reads a response from pieces of any size. Uses no socket and no clock, so that tests and
//! fuzzers can feed any bytes.

#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod head;
mod piece;
mod trailers;

use std::borrow::Cow;
use std::mem;
use std::ops::Range;

use httparse::Status;

use self::head::Framing;
pub use self::head::read as read_head;
use self::piece::Piece;
use crate::transport::redirect::is_redirect;
use crate::transport::{Failure, Keep};
use loadgen_measure::ErrorKind;

/// Maximum length of a head, in bytes; hyper accepts a head of this length in any case.
const LONGEST_HEAD: usize = (8 << 10) + 100 * (4 << 10);

/// Maximum length of a chunk size line, and of all trailers
/// together, in bytes; hyper has the same limits.
const LONGEST_LINE: usize = 16 << 10;

/// Reads the responses on one connection, one after another.
#[derive(Debug, Default)]
pub struct Reader {
    state: State,
    no_body: bool,
    /// Number of interim responses (1xx) before the answer.
    interim: u32,
    /// Whether one of them was 100 (Continue).
    continues: bool,
    /// The incomplete head, chunk size line, chunk end or trailers, until the rest arrives.
    pending: Vec<u8>,
    minor: u8,
    status: u16,
    keep_alive: bool,
    idle_s: Option<u32>,
    bytes: u64,
    keep: Keep,
    /// Minimum part of each body to keep, even if nothing reads the body.
    least: Keep,
    /// The body so far, if it arrived in more than one piece.
    kept: Vec<u8>,
    keep_head: KeepHead,
    /// Body bytes of the last input, if they are wanted apart.
    fresh: Option<Vec<u8>>,
    /// Whether the body has a `content-encoding`, and something of it is kept.
    encoded: bool,
    /// The head, from its status line to its empty line, if it is to be kept or the body is encoded.
    head: Vec<u8>,
}

/// When to keep the head of a response.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct KeepHead {
    /// Whatever it has.
    pub always: bool,
    /// If it has `set-cookie`.
    pub if_it_sets_cookies: bool,
    /// If its status is that of a redirect.
    pub if_it_redirects: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Head,
    Sized(u64),
    UntilClose,
    ChunkSize,
    Chunk(u64),
    /// The line end after a chunk.
    ChunkEnd,
    Trailers,
    Done,
}

/// Progress of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The response is incomplete.
    Partial,
    /// The response is complete.
    Whole {
        /// Position of the body in the last input; `None` if the body is in [`Reader::kept`].
        body: Option<Range<usize>>,
        /// Whether the next request may use the same connection.
        keep_alive: bool,
    },
}

impl Reader {
    /// Begins another response. `no_body` says that the response answers a HEAD request.
    pub fn begin(&mut self, no_body: bool) {
        self.state = State::Head;
        self.no_body = no_body;
        (self.interim, self.continues) = (0, false);
        self.pending.clear();
        self.bytes = 0;
        self.keep = Keep::Nothing;
        self.kept.clear();
        self.keep_head = KeepHead::default();
        self.head.clear();
        self.fresh = None;
        self.encoded = false;
        // Frees a long body's memory, so that many users don't each retain as much.
        self.kept.shrink_to(super::scratch::SIZE / 4);
    }

    /// Keeps the head of the current response as told. Must be called after [`Self::begin`].
    pub fn keep_head(&mut self, when: KeepHead) {
        self.keep_head = when;
    }

    /// Makes the body bytes of each input available on their own, in [`Self::fresh`], until the
    /// response ends. Must be called after [`Self::begin`].
    pub fn keep_fresh(&mut self) {
        self.fresh = Some(Vec::new());
    }

    /// Returns the body bytes of the last input.
    pub fn fresh(&self) -> &[u8] {
        self.fresh.as_deref().unwrap_or_default()
    }

    /// Sets the minimum to keep of each body from now on, also of bodies that nothing reads.
    pub fn keep_at_least(&mut self, least: Keep) {
        self.least = least;
    }

    /// Returns the head that was kept; empty if none was.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns whether the body that is kept has a `content-encoding`. If so, the head is kept, too.
    pub fn is_encoded(&self) -> bool {
        self.encoded
    }

    /// Returns the number of interim responses (1xx) so far, if a byte of the next response has been
    /// read: of the answer, unless that one is interim, too.
    pub fn begun(&self) -> Option<u32> {
        let has_begun = self.state != State::Head || !self.pending.is_empty();
        has_begun.then_some(self.interim)
    }

    /// Whether the server has asked for the body (100 Continue).
    pub fn continues(&self) -> bool {
        self.continues
    }

    /// Returns the number of seconds after which the server closes the idle connection; `None` if it has not said
    /// so. Valid once the head is read.
    pub fn idle_s(&self) -> Option<u32> {
        self.idle_s
    }

    /// Returns whether no byte has been read, not even of an interim response.
    pub fn is_untouched(&self) -> bool {
        self.interim == 0 && self.begun().is_none()
    }

    /// Returns the HTTP version. Valid once the head is read.
    pub fn version(&self) -> &'static str {
        if self.minor == 0 { "HTTP/1.0" } else { "HTTP/1.1" }
    }

    /// Returns the status code. Valid once the head is read.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Number of body bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the body bytes that were kept, except those in the last input.
    pub fn kept(&self) -> &[u8] {
        &self.kept
    }

    /// Takes the bytes that came after a response with the status 101: they belong to the protocol to
    /// which the connection has switched.
    pub fn take_surplus(&mut self) -> Vec<u8> {
        mem::take(&mut self.pending)
    }

    /// Reads the next bytes of the response. Calls `keep` with the status
    /// code, to find out how much of the body to keep.
    pub fn feed(&mut self, input: &[u8], keep: impl Fn(u16) -> Keep) -> Result<Progress, Failure> {
        if let Some(fresh) = &mut self.fresh {
            fresh.clear();
        }
        if self.pending.is_empty() {
            return self.advance(input, &keep);
        }
        let mut joined = mem::take(&mut self.pending);
        joined.extend_from_slice(input);
        // A pending part ends only with a line feed. A long part is therefore
        // not parsed again before a line feed arrives.
        let progress = if joined.len() < 1024 || input.contains(&b'\n') {
            self.advance(&joined, &keep)?
        } else {
            self.wait_for_more(&joined)?
        };
        Ok(match progress {
            Progress::Whole { body: Some(body), keep_alive } => {
                self.kept.extend_from_slice(&joined[body]);
                Progress::Whole { body: None, keep_alive }
            }
            progress => progress,
        })
    }

    /// Handles the end of the connection. The response is complete only if its body lasts until
    /// this end; otherwise returns an error.
    pub fn end(&mut self) -> Result<Progress, Failure> {
        if self.state == State::UntilClose {
            self.state = State::Done;
            return Ok(Progress::Whole { body: None, keep_alive: false });
        }
        Err(cut_off())
    }

    fn advance(&mut self, input: &[u8], keep: &impl Fn(u16) -> Keep) -> Result<Progress, Failure> {
        let mut at = 0;
        let mut body = Piece::default();
        loop {
            let rest = &input[at..];
            match self.state {
                State::Done if self.status == 101 => {
                    self.pending.extend_from_slice(rest);
                    return Ok(Progress::Whole { body: body.0, keep_alive: false });
                }
                State::Done => {
                    // Bytes left over are unsolicited: they are no answer to the next request.
                    let keep_alive = self.keep_alive && rest.is_empty();
                    return Ok(Progress::Whole { body: body.0, keep_alive });
                }
                _ if rest.is_empty() => {
                    body.keep_apart(input, &mut self.kept);
                    return Ok(Progress::Partial);
                }
                State::Sized(left) | State::Chunk(left) => {
                    let length = left.min(rest.len() as u64);
                    let end = at + length as usize;
                    self.take(at..end, input, &mut body)?;
                    at = end;
                    self.state = self.after(left - length);
                }
                State::UntilClose => {
                    self.take(at..input.len(), input, &mut body)?;
                    at = input.len();
                }
                State::Head | State::ChunkSize | State::ChunkEnd | State::Trailers => {
                    let most = self.longest();
                    match self.read_line(rest, keep)? {
                        // A line too long to wait for is refused even if it arrives whole.
                        Some(length) if length > most => return Err(too_long()),
                        Some(length) => at += length,
                        None => {
                            body.keep_apart(input, &mut self.kept);
                            return self.wait_for_more(rest);
                        }
                    }
                }
            }
        }
    }

    /// Maximum length, in bytes, of the part that is being read: the
    /// head, a chunk size line, or the trailers.
    fn longest(&self) -> usize {
        if self.state == State::Head { LONGEST_HEAD } else { LONGEST_LINE }
    }

    fn wait_for_more(&mut self, rest: &[u8]) -> Result<Progress, Failure> {
        if rest.len() > self.longest() {
            return Err(too_long());
        }
        self.pending.extend_from_slice(rest);
        Ok(Progress::Partial)
    }

    /// Reads the head, a chunk size line, a chunk end or the trailers. Returns the length of the
    /// part in bytes, or `None` if the part is incomplete.
    fn read_line(
        &mut self,
        rest: &[u8],
        keep: &impl Fn(u16) -> Keep,
    ) -> Result<Option<usize>, Failure> {
        match self.state {
            State::Head => {
                let Some((length, head)) = head::parse(rest, self.no_body).map_err(malformed)?
                else {
                    return Ok(None);
                };
                // A 1xx response precedes the answer, except a 101, after which no answer follows.
                if !(100..200).contains(&head.status) || head.status == 101 {
                    self.minor = head.minor;
                    self.status = head.status;
                    self.keep_alive = head.keep_alive;
                    self.idle_s = head.idle_s;
                    self.keep = keep(head.status).max(self.least);
                    self.encoded = head.encoded && self.keep > Keep::Nothing;
                    let KeepHead { always, if_it_sets_cookies, if_it_redirects } = self.keep_head;
                    if always
                        || self.encoded
                        || (if_it_sets_cookies && head.sets_cookies)
                        || (if_it_redirects && is_redirect(head.status))
                    {
                        self.store_head(&rest[..length]);
                    }
                    self.state = match head.framing {
                        Framing::Sized(0) => State::Done,
                        Framing::Sized(length) => State::Sized(length),
                        Framing::Chunked => State::ChunkSize,
                        Framing::UntilClose => State::UntilClose,
                    };
                } else {
                    self.interim = self.interim.saturating_add(1);
                    self.continues |= head.status == 100;
                }
                Ok(Some(length))
            }
            State::ChunkSize => {
                // httparse reads a line without any digit as zero.
                if !rest[0].is_ascii_hexdigit() {
                    return Err(malformed("the size of a chunk is malformed"));
                }
                let parsed = httparse::parse_chunk_size(rest);
                let parsed = parsed.map_err(|_| malformed("the size of a chunk is malformed"))?;
                let Status::Complete((length, size)) = parsed else { return Ok(None) };
                self.state = if size == 0 { State::Trailers } else { State::Chunk(size) };
                Ok(Some(length))
            }
            State::ChunkEnd => match rest {
                [b'\r', b'\n', ..] => {
                    self.state = State::ChunkSize;
                    Ok(Some(2))
                }
                [b'\r'] => Ok(None),
                _ => Err(malformed("a chunk is longer than its size")),
            },
            _ => match trailers::length(rest) {
                Ok(Some(length)) => {
                    self.state = State::Done;
                    Ok(Some(length))
                }
                Ok(None) => Ok(None),
                Err(_) => Err(malformed("the trailers of the response are malformed")),
            },
        }
    }

    /// Keeps a head. A header that goes on in the next line is kept in one (RFC 9112, section 5.2).
    fn store_head(&mut self, head: &[u8]) {
        self.head.clear();
        self.head.extend_from_slice(head);
        for at in memchr::memchr_iter(b'\n', head) {
            if head.get(at + 1).is_some_and(|next| b" \t".contains(next)) {
                self.head[at] = b' ';
                if at > 0 && head[at - 1] == b'\r' {
                    self.head[at - 1] = b' ';
                }
            }
        }
    }

    /// Returns the next state, if `left` bytes of a sized body or of a chunk are still to come.
    fn after(&self, left: u64) -> State {
        match (self.state, left) {
            (State::Chunk(_), 0) => State::ChunkEnd,
            (State::Chunk(_), left) => State::Chunk(left),
            (_, 0) => State::Done,
            (_, left) => State::Sized(left),
        }
    }

    /// Counts the body bytes at `range` of `input`, and keeps as many as [`Keep`] says.
    fn take(&mut self, range: Range<usize>, input: &[u8], body: &mut Piece) -> Result<(), Failure> {
        self.bytes += range.len() as u64;
        if let Some(fresh) = &mut self.fresh {
            fresh.extend_from_slice(&input[range.clone()]);
        }
        let held = self.kept.len() + body.0.as_ref().map_or(0, Range::len);
        let room = self.keep.room(held, range.len())?;
        let range = range.start..range.start + room;
        if range.is_empty() {
            return Ok(());
        }
        if self.kept.is_empty() && body.0.is_none() {
            body.0 = Some(range);
        } else {
            body.keep_apart(input, &mut self.kept);
            self.kept.extend_from_slice(&input[range]);
        }
        Ok(())
    }
}

/// A response that is incomplete when its connection ends.
pub(super) fn cut_off() -> Failure {
    let what = "the connection was closed before the response was complete";
    Failure::new(ErrorKind::Reset, what)
}

fn too_long() -> Failure {
    malformed("the response has a head of more than 408 KiB, or trailers of more than 16 KiB")
}

fn malformed(what: impl Into<Cow<'static, str>>) -> Failure {
    Failure::new(ErrorKind::Protocol, what)
}

#[cfg(test)]
mod tests;
