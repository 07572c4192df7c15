//! A connection that remembers what came last.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::transport::stream::Stream;

/// Longest frame of a close: its head of two bytes, and up to 125 bytes (RFC 6455, section 5.5).
const LONGEST: usize = 2 + 125;

/// First byte of a whole frame that closes a WebSocket.
const CLOSE: u8 = 0x88;

/// A connection with the last bytes that came over it, in which the frame that closed the WebSocket is found.
pub(super) struct Remembering {
    stream: Stream,
    last: Vec<u8>,
}

impl Remembering {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, last: Vec::new() }
    }

    /// Notes bytes that have come.
    pub(super) fn remember(&mut self, bytes: &[u8]) {
        remember(&mut self.last, bytes);
    }

    /// Returns the code and the reason of a close frame, if one came last.
    pub(super) fn last_close(&self) -> Option<(u16, String)> {
        close_at_end(&self.last)
    }
}

/// Adds bytes to the last ones, of which only those are kept that may be a close frame.
fn remember(last: &mut Vec<u8>, bytes: &[u8]) {
    let new = &bytes[bytes.len().saturating_sub(LONGEST)..];
    let kept = last.len().min(LONGEST - new.len());
    last.drain(..last.len() - kept);
    last.extend_from_slice(new);
}

/// Returns the code and the reason of the close frame with which the bytes end.
fn close_at_end(bytes: &[u8]) -> Option<(u16, String)> {
    // Servers do not mask their frames. The frame that begins first is meant: its reason may look like another.
    let payloads = (0..bytes.len()).filter(|at| bytes[*at] == CLOSE).filter_map(|at| {
        let (length, payload) = bytes[at + 1..].split_first()?;
        (usize::from(*length) == payload.len()).then_some(payload)
    });
    let (code, reason) = payloads.into_iter().next()?.split_first_chunk::<2>()?;
    Some((u16::from_be_bytes(*code), std::str::from_utf8(reason).ok()?.to_owned()))
}

impl AsyncRead for Remembering {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        if read.is_ready() {
            this.remember(&buffer.filled()[before..]);
        }
        read
    }
}

impl AsyncWrite for Remembering {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_close_frame_is_found() {
        let frame = |code: u16, reason: &str| {
            let payload = [&code.to_be_bytes()[..], reason.as_bytes()].concat();
            [&[CLOSE, payload.len() as u8][..], &payload].concat()
        };
        let text = b"\x81\x02hi";
        for (bytes, expected) in [
            (frame(1014, "bad gateway"), Some((1014, "bad gateway"))),
            ([&text[..], &frame(999, "")].concat(), Some((999, ""))),
            ([&[CLOSE, 7][..], &frame(5000, "x")].concat(), Some((5000, "x"))),
            (text.to_vec(), None),
            (vec![CLOSE, 0], None),
            (vec![CLOSE], None),
            (Vec::new(), None),
        ] {
            let expected = expected.map(|(code, reason)| (code, reason.to_owned()));
            assert_eq!(close_at_end(&bytes), expected, "{bytes:?}");
        }
        let long = frame(2999, &"r".repeat(123));
        let all = [vec![b'x'; 500], long].concat();
        for pieces in [1, 3, 126, 127, 128, 1_000] {
            let mut last: Vec<u8> = Vec::new();
            all.chunks(pieces).for_each(|piece| remember(&mut last, piece));
            assert_eq!(close_at_end(&last), Some((2999, "r".repeat(123))), "{pieces}");
        }
    }
}
