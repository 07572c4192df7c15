//! Reads files of a limited size: a path may name a device that never ends.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Returns the content of a file.
///
/// # Errors
/// Returns [`io::ErrorKind::FileTooLarge`] for more than `limit` bytes, a whole number of MiB.
pub fn read_at_most(limit: u64, path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        true => {
            let message = format!("it is larger than {} MiB", limit >> 20);
            Err(io::Error::new(io::ErrorKind::FileTooLarge, message))
        }
        false => Ok(bytes),
    }
}
