//! Formats a record as JSON.

use serde::Serialize;

use crate::text::printable_json;

/// Formats a record as indented JSON, with a line feed at its end. Control characters are escaped,
/// so that no text in the record controls a terminal.
///
/// # Errors
///
/// Returns an error of serde_json, which no existing record causes.
pub fn json(record: &impl Serialize) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(record).map(|text| printable_json(text) + "\n")
}
