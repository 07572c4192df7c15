//! A record as JSON.

use serde::Serialize;

use crate::text::printable_json;

/// The document, indented, with a line feed at its end. Nothing in it is obeyed by a terminal.
///
/// # Errors
///
/// None is known for the records that there are; serde_json's is passed on all the same.
pub fn json(record: &impl Serialize) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(record).map(|text| printable_json(text) + "\n")
}
