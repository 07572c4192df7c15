//! `loadgen schema`: prints the JSON Schema of scenario files.

use crate::failure::{Exit, Failure};
use crate::process::print;
use crate::scenario::json_schema;

/// Prints the JSON Schema of scenario files.
pub(super) fn run() -> Result<Exit, Failure> {
    print(&text())?;
    Ok(Exit::Done)
}

/// Returns the JSON Schema of scenario files as text.
pub(super) fn text() -> String {
    format!("{:#}\n", json_schema())
}
