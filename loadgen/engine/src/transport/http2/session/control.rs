//! Understands the frames that control a connection.

use super::{Piece, Session, Sink};
use crate::transport::http2::code::{self, Breach, Code, breach};
use crate::transport::http2::frame::{self, FrameHead, LARGEST_WINDOW, flag, kind, setting};

const TOO_LARGE: Breach =
    Breach::new(Code::FLOW_CONTROL_ERROR, "a window of more than 2^31 - 1 bytes");

impl Session {
    pub(super) fn settings(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), Breach> {
        let (settings, rest) = payload.as_chunks::<6>();
        if head.stream != 0 {
            return breach("SETTINGS on a stream");
        }
        if !rest.is_empty() || (head.has(flag::ACK) && !payload.is_empty()) {
            return Err(frame::BAD_LENGTH);
        }
        if head.has(flag::ACK) {
            return Ok(());
        }
        if !self.input.has_begun() {
            // No limit, unless the server sets one.
            self.most_streams = usize::MAX;
        }
        for [a, b, value @ ..] in settings {
            self.set(u16::from_be_bytes([*a, *b]), u32::from_be_bytes(*value))?;
        }
        self.answer(kind::SETTINGS, flag::ACK, 0, &[]);
        self.admit();
        Ok(())
    }

    fn set(&mut self, key: u16, value: u32) -> Result<(), Breach> {
        match key {
            setting::HEADER_TABLE_SIZE => self.encoder.set_limit(value as usize),
            setting::ENABLE_PUSH if value != 0 => {
                return breach("a setting that only clients have");
            }
            setting::MAX_CONCURRENT_STREAMS => self.most_streams = value as usize,
            setting::INITIAL_WINDOW_SIZE => {
                let change = i64::from(value) - self.first_window;
                self.first_window = value.into();
                let windows = self.streams.open.iter_mut().map(|stream| {
                    stream.send_window += change;
                    stream.send_window
                });
                if windows.chain([value.into()]).max() > Some(LARGEST_WINDOW) {
                    return Err(TOO_LARGE);
                }
            }
            // Frames of the least size that servers must accept are long enough.
            setting::MAX_FRAME_SIZE if !(16_384..1 << 24).contains(&value) => {
                return breach("a setting out of its range");
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn ping(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), Breach> {
        if head.stream != 0 {
            return breach("PING on a stream");
        }
        if payload.len() != 8 {
            return Err(frame::BAD_LENGTH);
        }
        if !head.has(flag::ACK) {
            self.answer(kind::PING, flag::ACK, 0, payload);
        }
        Ok(())
    }

    pub(super) fn go_away(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), Breach> {
        if head.stream != 0 {
            return breach("GOAWAY on a stream");
        }
        let code = payload.get(4..).and_then(frame::number);
        let (Some(last), Some(code)) = (frame::number(payload), code) else {
            return Err(frame::BAD_LENGTH);
        };
        let failure = code::going_away(Code(code), &payload[8..]);
        for (token, work) in self.streams.end_after(last & (u32::MAX >> 1)) {
            sink.take(token, Piece::End(Err(failure.clone().with(work))));
        }
        self.going_away = Some(failure);
        Ok(())
    }

    pub(super) fn window_update(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), Breach> {
        const BY_NOTHING: Breach = Breach::of_protocol("WINDOW_UPDATE by 0 bytes");
        let by = frame::only_number(payload).ok_or(frame::BAD_LENGTH)?;
        let by = i64::from(by & (u32::MAX >> 1));
        let opened = |window: &mut i64| {
            *window += by;
            match *window {
                _ if by == 0 => Err(BY_NOTHING),
                size if size > LARGEST_WINDOW => Err(TOO_LARGE),
                _ => Ok(()),
            }
        };
        if head.stream == 0 {
            return opened(&mut self.send_window);
        }
        if self.streams.is_idle(head.stream) {
            return breach("WINDOW_UPDATE on a stream that loadgen has not opened");
        }
        if let Some(index) = self.streams.find_id(head.stream)
            && let Err(breach) = opened(&mut self.streams.open[index].send_window)
        {
            self.refuse_stream(index, breach, sink);
        }
        Ok(())
    }
}
