//! The ends of logs.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// The last lines of a file that are not empty; none if it cannot be read.
pub fn last_lines(path: &Path, count: usize) -> Vec<String> {
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

/// As many as PostgreSQL's message has: the error, its line, the place in it, a detail and a hint.
pub const MESSAGE_LINES: usize = 5;

/// The last lines of a text that are not empty.
pub fn tail_of(text: &str, count: usize) -> Vec<String> {
    let mut lines: Vec<_> =
        text.lines().rev().filter(|line| !line.trim().is_empty()).take(count).collect();
    lines.reverse();
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}
