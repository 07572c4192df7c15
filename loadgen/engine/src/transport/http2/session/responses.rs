//! Understands the frames of responses.

use std::mem;

use super::input::Section;
use super::streams::{Announced, Stream};
use super::{LONGEST_SECTION, Piece, Session, Sink};
use crate::transport::content_length::ContentLength;
use crate::transport::fields::Fields;
use crate::transport::http2::checks;
use crate::transport::http2::code::{self, Breach, Code, breach};
use crate::transport::http2::frame::{self, FrameHead, flag, kind};

/// Largest number of frames of a header section. Servers need 26 for the longest.
const MOST_CONTINUATIONS: usize = 1_024;

impl Session {
    /// Counts a frame of DATA, of which `length` bytes are part of the body.
    pub(super) fn data(
        &mut self,
        head: FrameHead,
        length: usize,
        sink: &mut impl Sink,
    ) -> Result<(), Breach> {
        const OVERRUN: Breach =
            Breach::new(Code::FLOW_CONTROL_ERROR, "more bytes than a window allows");
        if self.streams.is_idle(head.stream) {
            return breach("DATA on a stream that loadgen has not opened");
        }
        // No longer than a frame.
        let all = head.length as u32;
        if !self.receive_window.take(all) {
            return Err(OVERRUN);
        }
        if let Some(by) = self.receive_window.release(all) {
            frame::open_window(0, by, &mut self.out);
        }
        let Some(index) = self.streams.find_id(head.stream) else {
            self.refuse_late(head.stream);
            return Ok(());
        };
        let stream = &mut self.streams.open[index];
        if !stream.receive_window.take(all) {
            return Err(OVERRUN);
        }
        // The byte that tells the length of the padding.
        stream.release(usize::from(head.has(flag::PADDED)), &mut self.out);
        if let Err(breach) = stream.expect(length) {
            self.refuse_stream(index, breach, sink);
        }
        Ok(())
    }

    /// Ignores a frame that comes after the end of its stream. Tells the server, unless the server may have
    /// sent the frame before it knew of the end.
    fn refuse_late(&mut self, id: u32) {
        if !self.streams.may_be_late(id) {
            self.answer(kind::RST_STREAM, 0, id, &Code::STREAM_CLOSED.0.to_be_bytes());
            self.streams.expect_late(id);
        }
    }

    /// Ends a stream on which the server breaks the protocol.
    pub(super) fn refuse_stream(&mut self, index: usize, breach: Breach, sink: &mut impl Sink) {
        if let Some(Stream { token, .. }) = self.reset(index, breach.code) {
            sink.take(token, Piece::End(Err(breach.failure())));
            self.admit();
        }
    }

    /// Ends a stream with its last frame.
    pub(super) fn end_stream(&mut self, id: u32, sink: &mut impl Sink) {
        let Some(index) = self.streams.find_id(id) else { return self.streams.forget(id) };
        let stream = &self.streams.open[index];
        let what = match stream.announced {
            _ if !stream.has_head => "the stream ends without a response",
            Announced::Length(1..) => "the body is shorter than its content-length",
            Announced::Any | Announced::Length(0) | Announced::Nothing => {
                let token = stream.token;
                // The server does not need the rest of the request.
                match stream.body.is_empty() {
                    true => drop(self.streams.remove(index)),
                    false => drop(self.reset(index, Code::CANCEL)),
                }
                self.streams.forget(id);
                sink.take(token, Piece::End(Ok(())));
                return self.admit();
            }
        };
        self.refuse_stream(index, Breach::of_protocol(what), sink);
        self.streams.forget(id);
    }

    pub(super) fn headers(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), Breach> {
        if self.streams.is_idle(head.stream) {
            return breach("HEADERS on a stream that loadgen has not opened");
        }
        let mut part = frame::without_padding(head, payload).ok_or(frame::BAD_PADDING)?;
        if head.has(flag::PRIORITY) {
            // The stream on which this one depends, and its weight.
            part = part.get(5..).ok_or(frame::BAD_LENGTH)?;
        }
        let is_last = head.has(flag::END_STREAM);
        if head.has(flag::END_HEADERS) {
            return self.section(head.stream, is_last, part, sink);
        }
        let bytes = part.to_vec();
        self.input.section = Some(Section { stream: head.stream, is_last, bytes, frames: 1 });
        Ok(())
    }

    pub(super) fn continuation(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), Breach> {
        const OUTSIDE: Breach = Breach::of_protocol("CONTINUATION outside of a header section");
        const TOO_LONG: Breach =
            Breach::new(Code::ENHANCE_YOUR_CALM, "a header section without an end");
        let section = self.input.section.take().filter(|it| it.stream == head.stream);
        let mut section = section.ok_or(OUTSIDE)?;
        section.bytes.extend_from_slice(payload);
        section.frames += 1;
        if section.bytes.len() > LONGEST_SECTION as usize || section.frames > MOST_CONTINUATIONS {
            return Err(TOO_LONG);
        }
        if head.has(flag::END_HEADERS) {
            return self.section(section.stream, section.is_last, &section.bytes, sink);
        }
        self.input.section = Some(section);
        Ok(())
    }

    /// Reads a whole header section, also that of a stream that nobody awaits: later ones refer to it.
    fn section(
        &mut self,
        id: u32,
        is_last: bool,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), Breach> {
        const MALFORMED: Breach =
            Breach::new(Code::COMPRESSION_ERROR, "a malformed header section");
        let mut fields = mem::take(&mut self.fields);
        fields.clear();
        let is_kept = self.decoder.decode(bytes, &mut fields).map_err(|_| MALFORMED)?;
        if let Some(index) = self.streams.find_id(id) {
            let is_right = match is_kept {
                true => self.response(index, is_last, &mut fields, sink),
                false => Err("a header section of more than 408 KiB"),
            };
            if let Err(what) = is_right {
                self.refuse_stream(index, Breach::of_protocol(what), sink);
            }
        } else {
            self.refuse_late(id);
        }
        self.fields = fields;
        if is_last {
            self.end_stream(id, sink);
        }
        Ok(())
    }

    /// Hands over a header section: the head of a response, or what comes after its body.
    fn response(
        &mut self,
        index: usize,
        is_last: bool,
        fields: &mut Fields,
        sink: &mut impl Sink,
    ) -> Result<(), checks::Wrong> {
        let stream = &mut self.streams.open[index];
        stream.has_begun = true;
        if stream.has_head {
            if !is_last {
                return Err("a second header section inside a response");
            }
            checks::check_trailers(fields)?;
            sink.take(stream.token, Piece::Trailers(fields));
            return Ok(());
        }
        let status = checks::status(fields)?;
        // Something like "103 Early Hints": the response follows.
        if status < 200 {
            return Ok(());
        }
        let length = checks::content_length(fields);
        if matches!(status, 204 | 304) {
            stream.announced = Announced::Nothing;
        }
        stream.announced = match (stream.announced, length) {
            (_, ContentLength::Malformed) => return Err("the content-length is malformed"),
            (Announced::Nothing, _) => Announced::Nothing,
            (_, ContentLength::Bytes(length)) => Announced::Length(length),
            (_, ContentLength::Unknown) => Announced::Any,
        };
        stream.has_head = true;
        sink.take(stream.token, Piece::Head(status, fields));
        Ok(())
    }

    pub(super) fn reset_by_server(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), Breach> {
        if self.streams.is_idle(head.stream) {
            return breach("RST_STREAM on a stream that loadgen has not opened");
        }
        let code = frame::only_number(payload).ok_or(frame::BAD_LENGTH)?;
        self.streams.forget(head.stream);
        if let Some(index) = self.streams.find_id(head.stream)
            && let Some(stream) = self.streams.remove(index)
        {
            let failure = code::reset(Code(code), stream.refused());
            sink.take(stream.token, Piece::End(Err(failure)));
            self.admit();
        }
        Ok(())
    }
}
