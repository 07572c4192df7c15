//! Frames, as bytes (RFC 9113, sections 4.1 and 6).

use super::code::{Breach, Code};

/// A frame that is not as long as its type says.
pub(super) const BAD_LENGTH: Breach =
    Breach::new(Code::FRAME_SIZE_ERROR, "a frame of the wrong length");

/// A frame that announces more padding than it has bytes.
pub(super) const BAD_PADDING: Breach = Breach::of_protocol("padding that is longer than its frame");

/// Number of bytes before a frame's payload.
pub(super) const HEAD: usize = 9;

/// Longest payload that a server may send, and that every server accepts.
pub(super) const LONGEST_PAYLOAD: usize = 16_384;

/// The first bytes that a client sends (RFC 9113, section 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Largest size of a window.
pub(super) const LARGEST_WINDOW: i64 = (1 << 31) - 1;

/// Size of a window unless told otherwise.
pub(super) const FIRST_WINDOW: u32 = 65_535;

/// Types of frames.
pub(super) mod kind {
    pub(in super::super) const DATA: u8 = 0;
    pub(in super::super) const HEADERS: u8 = 1;
    pub(in super::super) const PRIORITY: u8 = 2;
    pub(in super::super) const RST_STREAM: u8 = 3;
    pub(in super::super) const SETTINGS: u8 = 4;
    pub(in super::super) const PUSH_PROMISE: u8 = 5;
    pub(in super::super) const PING: u8 = 6;
    pub(in super::super) const GOAWAY: u8 = 7;
    pub(in super::super) const WINDOW_UPDATE: u8 = 8;
    pub(in super::super) const CONTINUATION: u8 = 9;
}

/// Flags of frames.
pub(super) mod flag {
    pub(in super::super) const ACK: u8 = 1;
    pub(in super::super) const END_STREAM: u8 = 1;
    pub(in super::super) const END_HEADERS: u8 = 4;
    pub(in super::super) const PADDED: u8 = 8;
    pub(in super::super) const PRIORITY: u8 = 0x20;
}

/// Settings.
pub(super) mod setting {
    pub(in super::super) const HEADER_TABLE_SIZE: u16 = 1;
    pub(in super::super) const ENABLE_PUSH: u16 = 2;
    pub(in super::super) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(in super::super) const INITIAL_WINDOW_SIZE: u16 = 4;
    pub(in super::super) const MAX_FRAME_SIZE: u16 = 5;
    pub(in super::super) const MAX_HEADER_LIST_SIZE: u16 = 6;
}

/// The head of a frame: the nine bytes before its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHead {
    /// Number of bytes of the payload.
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    /// Number of the stream; 0 for the connection.
    pub(super) stream: u32,
}

impl FrameHead {
    pub(super) fn read(bytes: [u8; HEAD]) -> Self {
        let [a, b, c, kind, flags, stream @ ..] = bytes;
        // The first bit is reserved.
        let stream = u32::from_be_bytes(stream) & (u32::MAX >> 1);
        Self { length: u32::from_be_bytes([0, a, b, c]) as usize, kind, flags, stream }
    }

    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Appends a frame.
pub(super) fn write(kind: u8, flags: u8, stream: u32, payload: &[u8], to: &mut Vec<u8>) {
    let start = begin(kind, flags, stream, to);
    to.extend_from_slice(payload);
    end(start, to);
}

/// Appends the head of a frame, whose payload the caller appends. Returns the place for [`end`].
pub(super) fn begin(kind: u8, flags: u8, stream: u32, to: &mut Vec<u8>) -> usize {
    let start = to.len();
    let [a, b, c, d] = stream.to_be_bytes();
    to.extend_from_slice(&[0, 0, 0, kind, flags, a, b, c, d]);
    start
}

/// Ends a frame of at most [`LONGEST_PAYLOAD`] bytes.
pub(super) fn end(start: usize, to: &mut [u8]) {
    let length = (to.len() - start - HEAD).to_be_bytes();
    to[start..start + 3].copy_from_slice(&length[length.len() - 3..]);
}

/// Appends the frame that opens a window.
pub(super) fn open_window(stream: u32, by: u32, to: &mut Vec<u8>) {
    write(kind::WINDOW_UPDATE, 0, stream, &by.to_be_bytes(), to);
}

/// Appends the frames of a header section that was appended before, at `start`, after the head of a frame
/// with these flags: the section is split if no frame can hold it.
pub(super) fn end_section(start: usize, stream: u32, to: &mut Vec<u8>) {
    let section = start + HEAD..to.len();
    if section.len() <= LONGEST_PAYLOAD {
        to[start + 4] |= flag::END_HEADERS;
        return end(start, to);
    }
    let rest = to.split_off(section.start + LONGEST_PAYLOAD);
    end(start, to);
    let mut parts = rest.chunks(LONGEST_PAYLOAD).peekable();
    while let Some(part) = parts.next() {
        let flags = if parts.peek().is_none() { flag::END_HEADERS } else { 0 };
        write(kind::CONTINUATION, flags, stream, part, to);
    }
}

/// Returns the payload without the padding that its head announces; `None` if the padding is too long.
pub(super) fn without_padding(head: FrameHead, payload: &[u8]) -> Option<&[u8]> {
    if !head.has(flag::PADDED) {
        return Some(payload);
    }
    let (padding, rest) = payload.split_first()?;
    rest.len().checked_sub(usize::from(*padding)).map(|length| &rest[..length])
}

/// Reads the first four bytes of a payload as a number.
pub(super) fn number(payload: &[u8]) -> Option<u32> {
    payload.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

/// Reads a payload of four bytes as a number.
pub(super) fn only_number(payload: &[u8]) -> Option<u32> {
    number(payload).filter(|_| payload.len() == 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_written_and_read() {
        let mut bytes = vec![7];
        write(kind::PING, flag::ACK, 0x0102_0304, b"12345678", &mut bytes);
        assert_eq!(bytes, b"\x07\0\0\x08\x06\x01\x01\x02\x03\x0412345678");
        let head = FrameHead::read([0, 0, 8, 6, 1, 0x81, 2, 3, 4]);
        let expected = FrameHead { length: 8, kind: kind::PING, flags: 1, stream: 0x0102_0304 };
        assert_eq!(head, expected);
        assert!(head.has(flag::ACK) && !head.has(flag::END_HEADERS));
    }

    #[test]
    fn a_long_header_section_is_split() {
        for (length, expected) in [(0, 1), (16_384, 1), (16_385, 2), (40_000, 3)] {
            let mut bytes = b"before".to_vec();
            let start = begin(kind::HEADERS, flag::END_STREAM, 5, &mut bytes);
            let section: Vec<u8> = (0..length).map(|nth: usize| nth as u8).collect();
            bytes.extend_from_slice(&section);
            end_section(start, 5, &mut bytes);
            let (mut rest, mut heads, mut read) = (&bytes[6..], Vec::new(), Vec::new());
            while let Some((head, after)) = rest.split_first_chunk::<HEAD>() {
                let head = FrameHead::read(*head);
                read.extend_from_slice(&after[..head.length]);
                rest = &after[head.length..];
                heads.push(head);
            }
            assert_eq!((heads.len(), read), (expected, section));
            assert!(heads.iter().all(|head| head.stream == 5 && head.length <= LONGEST_PAYLOAD));
            let flags = |head: &FrameHead| head.flags & flag::END_HEADERS != 0;
            assert!(heads.iter().rev().map(flags).eq((0..expected).map(|nth| nth == 0)));
            assert_eq!((heads[0].kind, heads[0].flags & 1), (kind::HEADERS, flag::END_STREAM));
            assert!(heads[1..].iter().all(|head| head.kind == kind::CONTINUATION));
        }
    }

    #[test]
    fn padding_is_taken_off() {
        let head = |flags| FrameHead { length: 0, kind: 0, flags, stream: 1 };
        assert_eq!(without_padding(head(0), b"\x02abc"), Some(&b"\x02abc"[..]));
        assert_eq!(without_padding(head(8), b"\x02abc"), Some(&b"a"[..]));
        assert_eq!(without_padding(head(8), b"\x03abc"), Some(&b""[..]));
        assert_eq!(
            (without_padding(head(8), b"\x04abc"), without_padding(head(8), b"")),
            (None, None)
        );
    }
}
