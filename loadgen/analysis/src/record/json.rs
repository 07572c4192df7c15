//! Formats a record as JSON.

use serde::Serialize;

use loadgen_text::printable_json;

/// Formats a record as indented JSON, with a line feed at its end. Control characters are escaped,
/// so that no text in the record controls a terminal.
///
/// # Errors
///
/// Returns an error of serde_json, which no existing record causes.
pub fn json(record: &impl Serialize) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(record).map(|text| printable_json(text) + "\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_figure_is_read_as_it_was_saved(figure in prop::num::f64::NORMAL) {
            let read: f64 = serde_json::from_str(&json(&figure).unwrap()).unwrap();
            prop_assert_eq!(read.to_bits(), figure.to_bits());
        }
    }
}
