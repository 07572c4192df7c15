//! Reads a response from whatever pieces it comes in. No socket and no clock in here, so that
//! tests and fuzzers can feed it anything.

#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod head;
mod piece;

use std::mem;
use std::ops::Range;

use httparse::{EMPTY_HEADER, Status};

use self::head::Framing;
pub use self::head::MOST_HEADERS;
use self::piece::Piece;
use crate::engine::transport::{Failure, Keep};
use crate::measure::ErrorKind;

/// The longest head: as much as hyper takes in any case.
const LONGEST_HEAD: usize = (8 << 10) + 100 * (4 << 10);

/// The longest line of a chunk's size, and the longest trailers, as hyper has them.
const LONGEST_LINE: usize = 16 << 10;

/// Trailers that a response may have.
const MOST_TRAILERS: usize = 100;

/// Reads one response after another.
#[derive(Debug, Default)]
pub struct Reader {
    state: State,
    no_body: bool,
    /// What of a head, a chunk's size or trailers has come, where the rest is still to come.
    pending: Vec<u8>,
    minor: u8,
    status: u16,
    keep_alive: bool,
    bytes: u64,
    keep: Keep,
    /// What is kept of a body at the least.
    least: Keep,
    /// The body so far, where it came in more than one piece.
    kept: Vec<u8>,
    keep_head: bool,
    /// The head, from its status line to its empty line, where it is to be kept.
    head: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Head,
    Sized(u64),
    UntilClose,
    ChunkSize,
    Chunk(u64),
    /// The end of the line after a chunk.
    ChunkEnd,
    Trailers,
    Done,
}

/// How far a response has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Not to its end.
    Partial,
    /// To its end.
    Whole {
        /// Where the body lies in the last input; `None` if it is in [`Reader::kept`].
        body: Option<Range<usize>>,
        /// Whether the next request may go over the same connection.
        keep_alive: bool,
    },
}

impl Reader {
    /// Begins another response; `no_body` if it is one to a HEAD request.
    pub fn begin(&mut self, no_body: bool) {
        self.state = State::Head;
        self.no_body = no_body;
        self.pending.clear();
        self.bytes = 0;
        self.keep = Keep::Nothing;
        self.kept.clear();
        self.keep_head = false;
        // A long body is not kept in memory by each of many users.
        self.kept.shrink_to(super::scratch::SIZE / 4);
    }

    /// Keeps the head of the response that has just begun, for something to look at.
    pub fn keep_head(&mut self) {
        self.keep_head = true;
        self.head.clear();
    }

    /// Keeps this of all bodies from here on, also of those that nothing looks at.
    pub fn keep_at_least(&mut self, least: Keep) {
        self.least = least;
    }

    /// The head that was kept.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The version of HTTP, once the head was read.
    pub fn version(&self) -> &'static str {
        if self.minor == 0 { "HTTP/1.0" } else { "HTTP/1.1" }
    }

    /// The status, once the head was read.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Bytes of the body so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What was kept of the body, apart from what lies in the last input.
    pub fn kept(&self) -> &[u8] {
        &self.kept
    }

    /// Reads on. `keep` is asked, once the status is known, what of the body something looks at.
    pub fn feed(&mut self, input: &[u8], keep: impl Fn(u16) -> Keep) -> Result<Progress, Failure> {
        if self.pending.is_empty() {
            return self.advance(input, &keep);
        }
        let mut joined = mem::take(&mut self.pending);
        joined.extend_from_slice(input);
        // All that can be pending ends with a line: a long one is not read anew for every byte.
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

    /// The connection was closed.
    pub fn end(&mut self) -> Result<Progress, Failure> {
        if self.state == State::UntilClose {
            self.state = State::Done;
            return Ok(Progress::Whole { body: None, keep_alive: false });
        }
        Err(Failure::new(
            ErrorKind::Reset,
            "the connection was closed before the answer was complete",
        ))
    }

    fn advance(&mut self, input: &[u8], keep: &impl Fn(u16) -> Keep) -> Result<Progress, Failure> {
        let mut at = 0;
        let mut body = Piece::default();
        loop {
            let rest = &input[at..];
            match self.state {
                State::Done => {
                    // Nobody asked for what is left: it is no answer to the next request.
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
                        // However it was split: what can't be waited for is not taken whole.
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

    /// What may come before the state's line, or lines, must end.
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

    /// Reads what ends with a line, and tells its length; `None` if there is more to come.
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
                // 1xx comes before the answer; but after a 101 there is none.
                if !(100..200).contains(&head.status) || head.status == 101 {
                    self.minor = head.minor;
                    self.status = head.status;
                    self.keep_alive = head.keep_alive;
                    self.keep = keep(head.status).max(self.least);
                    if self.keep_head {
                        self.head.extend_from_slice(&rest[..length]);
                    }
                    self.state = match head.framing {
                        Framing::Sized(0) => State::Done,
                        Framing::Sized(length) => State::Sized(length),
                        Framing::Chunked => State::ChunkSize,
                        Framing::UntilClose => State::UntilClose,
                    };
                }
                Ok(Some(length))
            }
            State::ChunkSize => {
                // httparse takes a line without any digit for a zero.
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
            _ => {
                let mut trailers = [EMPTY_HEADER; MOST_TRAILERS];
                match httparse::parse_headers(rest, &mut trailers) {
                    Ok(Status::Complete((length, _))) => {
                        self.state = State::Done;
                        Ok(Some(length))
                    }
                    Ok(Status::Partial) => Ok(None),
                    Err(_) => Err(malformed("the trailers of the answer are malformed")),
                }
            }
        }
    }

    /// The state when `left` bytes of a sized body or of a chunk are still to come.
    fn after(&self, left: u64) -> State {
        match (self.state, left) {
            (State::Chunk(_), 0) => State::ChunkEnd,
            (State::Chunk(_), left) => State::Chunk(left),
            (_, 0) => State::Done,
            (_, left) => State::Sized(left),
        }
    }

    /// Counts a piece of the body, and keeps it where something looks at it.
    fn take(&mut self, range: Range<usize>, input: &[u8], body: &mut Piece) -> Result<(), Failure> {
        self.bytes += range.len() as u64;
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

fn too_long() -> Failure {
    malformed("the answer has a head of more than 408 KiB, or trailers of more than 16 KiB")
}

fn malformed(what: &'static str) -> Failure {
    Failure::new(ErrorKind::Protocol, what)
}

#[cfg(test)]
mod tests;
