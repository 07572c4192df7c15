//! Names logs, and reads the ends of logs.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// Returns the last `count` non-empty lines of a file, or no lines if the file cannot be read.
/// Reads only the last 16 KiB of the file.
pub(in crate::lab) fn last_lines(path: &Path, count: usize) -> Vec<String> {
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
pub(in crate::lab) const MESSAGE_LINES: usize = 5;

/// Returns the last `count` non-empty lines of a text.
pub(in crate::lab) fn tail_of(text: &str, count: usize) -> Vec<String> {
    let mut lines: Vec<_> =
        text.lines().rev().filter(|line| !line.trim().is_empty()).take(count).collect();
    lines.reverse();
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

/// Longest name of a file that [`file_name`] returns, in bytes. Systems allow 255, and the names of
/// logs have more parts.
const LONGEST: usize = 120;

/// Returns the name of a target as a part of file names: letters, digits and a few signs stay, and each
/// byte of other characters becomes `%` with two digits. A long name is cut, and ends in a hash of the
/// whole name. Different names stay different.
pub fn file_name(target: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.@~^+".contains(c);
    let mut out = String::new();
    for c in target.chars() {
        match is_plain(c) {
            true => out.push(c),
            false => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| {
                let _ = write!(out, "%{byte:02X}");
            }),
        }
    }
    if out.len() <= LONGEST {
        return out;
    }
    let hash: String = Sha256::digest(target).iter().take(8).map(|b| format!("{b:02x}")).collect();
    let end = (0..LONGEST - hash.len()).rev().find(|at| out.is_char_boundary(*at)).unwrap_or(0);
    format!("{}-{hash}", &out[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ref_with_any_characters_gives_a_file_name() {
        for (name, file) in [
            ("shop@main", "shop@main"),
            ("shop@feature/x", "shop@feature%2Fx"),
            ("shop@HEAD~1", "shop@HEAD~1"),
            ("shop@HEAD^{/fix: ä}", "shop@HEAD^%7B%2Ffix%3A%20ä%7D"),
        ] {
            assert_eq!(file_name(name), file);
        }
        let long = |end: &str| file_name(&format!("shop@{}{end}", "ä/".repeat(100)));
        assert!(long("1").len() <= LONGEST && long("1") != long("2"));
    }
}
