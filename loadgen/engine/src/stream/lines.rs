//! Reads events that are lines, such as JSON in NDJSON.

use memchr::memchr;

use super::{Buffer, TooLong};

/// Reads lines from pieces of any size. A line ends with LF or CRLF; the last one may lack its end.
/// Empty lines are no events.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The incomplete line.
    line: Buffer,
}

impl Lines {
    /// Reads the next bytes, and calls `each` with each line that they complete.
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        each: &mut impl FnMut(&[u8]),
    ) -> Result<(), TooLong> {
        while let Some(end) = memchr(b'\n', bytes) {
            let line = self.line.joined(&bytes[..end])?;
            event(line, each);
            self.line.clear();
            bytes = &bytes[end + 1..];
        }
        self.line.extend(bytes)
    }

    /// Reads the end of the body, which ends the last line, too.
    pub(super) fn end(&mut self, each: &mut impl FnMut(&[u8])) {
        event(self.line.bytes(), each);
        self.line.clear();
    }

    /// Drops what the last body left.
    pub(super) fn clear(&mut self) {
        self.line.clear();
    }
}

fn event(line: &[u8], each: &mut impl FnMut(&[u8])) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if !line.is_empty() {
        each(line);
    }
}
