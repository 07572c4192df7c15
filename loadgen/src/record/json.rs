//! Formats a record as JSON.

use serde::Serialize;

use crate::text::printable_json;

/// Returns the document, indented, with a line feed at its end. Control characters are escaped, so
/// that no text in the document controls a terminal.
///
/// # Errors
///
/// No existing record causes an error; an error of serde_json is passed on nevertheless.
pub fn json(record: &impl Serialize) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(record).map(|text| printable_json(text) + "\n")
}
