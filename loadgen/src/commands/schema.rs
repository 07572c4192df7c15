//! `loadgen schema`: prints the JSON Schema of scenario files.

use crate::failure::{Exit, Failure};
use crate::process::print;
use crate::scenario::json_schema;

/// Prints the schema.
pub(super) fn run() -> Result<Exit, Failure> {
    print(&text())?;
    Ok(Exit::Done)
}

/// Returns the schema as the text of a file.
pub(super) fn text() -> String {
    format!("{:#}\n", json_schema())
}
