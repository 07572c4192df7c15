//! Finds the frames in the bytes that have come.

use std::mem;

use super::{Piece, Session, Sink};
use crate::transport::http2::code::{Breach, Code, breach};
use crate::transport::http2::frame::{self, FrameHead, HEAD, LONGEST_PAYLOAD, flag, kind};

/// First bytes of a response in HTTP/1. No HTTP/2 server begins with them: as the head of a frame, they
/// would announce more than any client allows.
const HTTP1: &[u8] = b"HTTP/";

/// How far the bytes that have come are understood.
#[derive(Default)]
pub(super) struct Input {
    /// Whether a frame has come and was understood. The first one has the server's settings.
    has_begun: bool,
    /// The beginning of a frame whose rest is still to come.
    partial: Vec<u8>,
    /// The frame whose payload is read as it comes.
    passing: Option<Passing>,
    /// A header section of which further frames are to come.
    pub(super) section: Option<Section>,
}

/// A frame whose payload need not be there as a whole: DATA, or a frame of an unknown type.
#[derive(Clone, Copy)]
struct Passing {
    /// Number of the stream, for a frame of DATA.
    stream: Option<u32>,
    /// Whether nothing more comes on the stream.
    is_last: bool,
    /// Number of bytes to come, without the padding.
    left: usize,
    padding: usize,
}

/// The beginning of a header section.
pub(super) struct Section {
    pub(super) stream: u32,
    pub(super) is_last: bool,
    pub(super) bytes: Vec<u8>,
    /// Number of frames that it took.
    pub(super) frames: usize,
}

impl Input {
    /// Whether the server has sent a frame.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Whether the last frame has come as a whole, and is not yet understood.
    fn is_at_end(&self) -> bool {
        self.passing.is_some_and(|passing| passing.left + passing.padding == 0)
    }
}

impl Session {
    /// Understands the bytes that have come, and hands over what they bring. The rest of a frame may come
    /// later.
    pub(in crate::transport::http2) fn feed(&mut self, input: &[u8], sink: &mut impl Sink) {
        let mut rest = input;
        // A frame without a payload is understood when its head has come.
        while self.over.is_none() && (!rest.is_empty() || self.input.is_at_end()) {
            if let Err(breach) = self.next(&mut rest, sink) {
                self.refuse(breach, sink);
            }
        }
    }

    /// Understands the next frame or part of a frame, and removes it from `input`.
    fn next(&mut self, input: &mut &[u8], sink: &mut impl Sink) -> Result<(), Breach> {
        if let Some(passing) = self.input.passing.take() {
            self.pass(passing, input, sink);
            return Ok(());
        }
        if self.input.partial.is_empty() {
            let length = self.frame(input, sink)?;
            if length == 0 {
                self.input.partial.extend_from_slice(input);
                *input = &[];
            }
            *input = &input[length..];
            return Ok(());
        }
        // Adds what the frame lacks, and no more.
        let mut partial = mem::take(&mut self.input.partial);
        let lacks = wanted(&partial).saturating_sub(partial.len()).min(input.len());
        let (part, rest) = input.split_at(lacks);
        partial.extend_from_slice(part);
        *input = rest;
        if self.frame(&partial, sink)? > 0 {
            partial.clear();
        }
        self.input.partial = partial;
        Ok(())
    }

    /// Understands the frame at the beginning of `input`. Returns its length, without the payload of a frame
    /// that passes; 0 if not enough of the frame is there.
    fn frame(&mut self, input: &[u8], sink: &mut impl Sink) -> Result<usize, Breach> {
        const TOO_LONG: Breach =
            Breach::new(Code::FRAME_SIZE_ERROR, "a frame of more than 16,384 bytes");
        let Some(head) = input.first_chunk::<HEAD>() else { return Ok(0) };
        let head = FrameHead::read(*head);
        if !self.input.has_begun {
            if input.starts_with(HTTP1) {
                return Err(Breach::HTTP1);
            }
            if head.kind != kind::SETTINGS || head.has(flag::ACK) {
                return breach("the first frame has no settings");
            }
        }
        if head.length > LONGEST_PAYLOAD {
            return Err(TOO_LONG);
        }
        if self.input.section.is_some() && head.kind != kind::CONTINUATION {
            return breach("another frame inside a header section");
        }
        if is_passing(head.kind) {
            return self.begin_passing(head, input, sink);
        }
        let Some(payload) = input.get(HEAD..HEAD + head.length) else { return Ok(0) };
        match head.kind {
            kind::HEADERS => self.headers(head, payload, sink)?,
            kind::CONTINUATION => self.continuation(head, payload, sink)?,
            kind::PRIORITY if head.stream == 0 => {
                return breach("PRIORITY without a stream");
            }
            kind::PRIORITY => {}
            kind::RST_STREAM => self.reset_by_server(head, payload, sink)?,
            kind::SETTINGS => self.settings(head, payload)?,
            kind::PUSH_PROMISE => {
                return breach("PUSH_PROMISE, which loadgen has forbidden");
            }
            kind::PING => self.ping(head, payload)?,
            kind::GOAWAY => self.go_away(head, payload, sink)?,
            _ => self.window_update(head, payload, sink)?,
        }
        self.input.has_begun = true;
        Ok(HEAD + payload.len())
    }

    /// Begins to read a frame of DATA or of an unknown type. Returns as [`Self::frame`] does.
    fn begin_passing(
        &mut self,
        head: FrameHead,
        input: &[u8],
        sink: &mut impl Sink,
    ) -> Result<usize, Breach> {
        let mut passing = Passing { stream: None, is_last: false, left: head.length, padding: 0 };
        let mut begun = HEAD;
        if head.kind == kind::DATA {
            if head.has(flag::PADDED) {
                let left = head.length.checked_sub(1).ok_or(frame::BAD_PADDING)?;
                let Some(padding) = input.get(HEAD) else { return Ok(0) };
                begun += 1;
                passing.padding = usize::from(*padding);
                passing.left = left.checked_sub(passing.padding).ok_or(frame::BAD_PADDING)?;
            }
            (passing.stream, passing.is_last) = (Some(head.stream), head.has(flag::END_STREAM));
            self.data(head, passing.left, sink)?;
        }
        self.input.passing = Some(passing);
        Ok(begun)
    }

    /// Reads what has come of a payload.
    fn pass<S: Sink>(&mut self, mut passing: Passing, input: &mut &[u8], sink: &mut S) {
        let (part, rest) = input.split_at(passing.left.min(input.len()));
        let (padding, rest) = rest.split_at(passing.padding.min(rest.len()));
        *input = rest;
        passing.left -= part.len();
        passing.padding -= padding.len();
        let is_over = passing.left == 0 && passing.padding == 0;
        if !is_over {
            self.input.passing = Some(passing);
        }
        let Some(id) = passing.stream else { return };
        if let Some(index) = self.streams.find_id(id) {
            let stream = &mut self.streams.open[index];
            if !part.is_empty() {
                sink.take(stream.token, Piece::Data(part));
            }
            let read = if S::READS { part.len() } else { 0 };
            stream.release(read + padding.len(), &mut self.out);
        }
        if is_over && passing.is_last {
            self.end_stream(id, sink);
        }
    }
}

/// Whether the payload of a frame of this type is read as it comes.
fn is_passing(kind: u8) -> bool {
    kind == kind::DATA || kind > kind::CONTINUATION
}

/// Number of bytes of a frame that must be there before the frame is understood.
fn wanted(partial: &[u8]) -> usize {
    let Some(head) = partial.first_chunk::<HEAD>() else { return HEAD };
    let head = FrameHead::read(*head);
    match head.kind {
        // Refused without its payload.
        _ if head.length > LONGEST_PAYLOAD => HEAD,
        kind::DATA if head.has(flag::PADDED) => HEAD + 1,
        kind if is_passing(kind) => HEAD,
        _ => HEAD + head.length,
    }
}
