//! Regular expressions in a scenario file.

use super::reader::{Faults, Value};

/// Reads a regular expression, as text.
pub(super) fn read(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<String> {
    let pattern = value.text(faults)?;
    let Err(error) = regex::Regex::new(pattern) else {
        return Some(pattern.to_owned());
    };
    // The first lines of the error repeat the pattern, which the fault shows already.
    let error = error.to_string();
    let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
    let message = format!("`{}` is not a valid regular expression: {reason}", value.key);
    let help = "https://docs.rs/regex describes the syntax; write the expression in '…', \
                where \\ is literal";
    value.fault(message, "invalid expression", help, faults)
}
