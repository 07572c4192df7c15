//! The file of `--junit`.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

use crate::failure::{Exit, Failure};
use crate::record::RunRecord;
use crate::report;

/// Makes sure that the file can be written, before anything is measured, and removes what an earlier run
/// left there: a run that does not finish has no results, neither none nor old ones.
pub fn prepare(path: &Path) -> Result<(), Failure> {
    clear(path).map_err(|e| unwritable(path, &e))
}

/// Writes the thresholds of a run that has finished.
pub fn write(path: &Path, record: &RunRecord) -> Result<(), Failure> {
    fs::write(path, report::junit(record)).map_err(|e| unwritable(path, &e))
}

fn clear(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    // Not a device or a pipe; and not the link by which a file is named.
    if file.metadata()?.is_file() {
        fs::remove_file(path.canonicalize()?)?;
    }
    Ok(())
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let message = format!("--junit: cannot write {}: {error}", path.display());
    Failure::message(Exit::Failed, message, "name a file that can be written to")
}
