//! Writes the JUnit report of `--junit`.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

use crate::failure::{Exit, Failure};

/// Checks before the measurement that the file is writable, and removes the file of an earlier run.
/// A run that does not finish must leave neither an empty file nor an old one.
pub fn prepare(path: &Path) -> Result<(), Failure> {
    clear(path).map_err(|e| unwritable(path, &e))
}

/// Writes a report in JUnit's XML format.
pub fn write(path: &Path, report: &str) -> Result<(), Failure> {
    fs::write(path, report).map_err(|e| unwritable(path, &e))
}

fn clear(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    // Removes only regular files, no device or pipe; and removes a link's target, not the link.
    if file.metadata()?.is_file() {
        fs::remove_file(path.canonicalize()?)?;
    }
    Ok(())
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let message = format!("--junit: cannot write {}: {error}", path.display());
    Failure::message(Exit::Failed, "unwritable_file", message, "name a writable file")
}
