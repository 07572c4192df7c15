//! Reads server-sent events (WHATWG HTML, section 9.2.6, "Interpreting an event stream").

use memchr::memchr2;

use super::{Buffer, TooLong};

/// Byte order mark in UTF-8, which may precede the first line.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Reads server-sent events from pieces of any size. A line ends with CR, LF or CRLF, and an empty
/// line ends an event. An event counts only if it has `data`, as in a browser; other fields and
/// comments change nothing that is measured. The end of the body ends no event.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The incomplete line.
    line: Buffer,
    /// Values of the event's `data` so far, each followed by LF.
    data: Buffer,
    /// Whether the last byte was a CR, after which a LF ends no further line.
    after_cr: bool,
    /// Whether the first line has been read.
    has_begun: bool,
}

impl Events {
    /// Reads the next bytes, and calls `each` with the data of each event that they complete.
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        each: &mut impl FnMut(&[u8]),
    ) -> Result<(), TooLong> {
        while let Some((first, rest)) = bytes.split_first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                bytes = rest;
                continue;
            }
            let Some(end) = memchr2(b'\r', b'\n', bytes) else { break };
            let mut line = std::mem::take(&mut self.line);
            self.read(line.joined(&bytes[..end])?, each)?;
            line.clear();
            self.line = line;
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
        }
        self.line.extend(bytes)
    }

    /// Drops what the last body left.
    pub(super) fn clear(&mut self) {
        self.line.clear();
        self.data.clear();
        (self.after_cr, self.has_begun) = (false, false);
    }

    /// Reads a complete line.
    fn read(&mut self, mut line: &[u8], each: &mut impl FnMut(&[u8])) -> Result<(), TooLong> {
        if !std::mem::replace(&mut self.has_begun, true) {
            line = line.strip_prefix(BOM).unwrap_or(line);
        }
        if line.is_empty() {
            // Each value has a LF after it, also an empty value.
            if let [data @ .., b'\n'] = self.data.bytes() {
                each(data);
                self.data.clear();
            }
            return Ok(());
        }
        let value = match line.strip_prefix(b"data") {
            Some([]) => &[],
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => value,
            // Another field, a comment (which begins with a colon), or nothing that has a meaning.
            _ => return Ok(()),
        };
        self.data.extend(value)?;
        self.data.extend(b"\n")
    }
}
