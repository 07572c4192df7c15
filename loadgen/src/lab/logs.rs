//! Reads the ends of logs.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// Returns the last `count` non-empty lines of a file, or no lines if the file cannot be read.
/// Reads only the last 16 KiB of the file.
pub(super) fn last_lines(path: &Path, count: usize) -> Vec<String> {
    const ENOUGH: u64 = 16 * 1024;
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let start = file.metadata()?.len().saturating_sub(ENOUGH);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(ENOUGH).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    tail_of(&String::from_utf8_lossy(&read().unwrap_or_default()), count)
}

/// Number of lines that are kept of an error message. A message of PostgreSQL has up to five lines:
/// the error, the line of the query, the position in the line, a detail and a hint.
pub(super) const MESSAGE_LINES: usize = 5;

/// Returns the last `count` non-empty lines of a text.
pub(super) fn tail_of(text: &str, count: usize) -> Vec<String> {
    let mut lines: Vec<_> =
        text.lines().rev().filter(|line| !line.trim().is_empty()).take(count).collect();
    lines.reverse();
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}
