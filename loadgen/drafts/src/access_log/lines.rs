//! Lines of a log of any size.

use std::io::{self, BufRead, Read as _};

/// Longest line that is read, in bytes. A server limits requests to less, nginx to 8 KiB by default.
pub(super) const LONGEST: usize = 64 << 10;

/// Lines of a log, one at a time.
pub(super) struct Lines<R> {
    log: R,
    /// Number of the last line, counted from 1.
    pub number: u64,
}

/// Next part of a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A line, without its end.
    Line,
    /// A line that is longer than [`LONGEST`], which was skipped.
    TooLong,
    /// No more lines.
    End,
}

impl<R: BufRead> Lines<R> {
    /// Begins with the first line.
    pub(super) fn new(log: R) -> Self {
        Self { log, number: 0 }
    }

    /// Reads the next line into `line`, in place of what it has.
    pub(super) fn read(&mut self, line: &mut Vec<u8>) -> io::Result<Next> {
        line.clear();
        let most = LONGEST as u64 + 1;
        if (&mut self.log).take(most).read_until(b'\n', line)? == 0 {
            return Ok(Next::End);
        }
        self.number += 1;
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if line.len() > LONGEST {
            self.log.skip_until(b'\n')?;
            return Ok(Next::TooLong);
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if self.number == 1 && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        Ok(Next::Line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_skipped_and_all_are_numbered() {
        let long = "x".repeat(LONGEST);
        let log = format!("\u{feff}a\r\n\n{long}\n{long}y\n{long}{long}\nb");
        let mut lines = Lines::new(log.as_bytes());
        let mut line = Vec::new();
        let mut all = Vec::new();
        loop {
            match lines.read(&mut line).unwrap() {
                Next::End => break,
                next => all.push((lines.number, next, line.len())),
            }
        }
        let expected = [
            (1, Next::Line, 1),
            (2, Next::Line, 0),
            (3, Next::Line, LONGEST),
            (4, Next::TooLong, LONGEST + 1),
            (5, Next::TooLong, LONGEST + 1),
            (6, Next::Line, 1),
        ];
        assert_eq!(all, expected);
    }
}
