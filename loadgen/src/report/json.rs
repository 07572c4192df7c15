//! The run record as JSON.

use crate::measure::RunRecord;

/// The document, indented, with a line feed at its end.
///
/// # Errors
///
/// None is known for this type; serde_json's is passed on all the same.
pub fn json(record: &RunRecord) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(record).map(|text| text + "\n")
}
