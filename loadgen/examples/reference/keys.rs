//! Tables of the keys of a scenario file.

use loadgen::scenario::key_reference;

use crate::markdown;

/// Returns the table of the keys of a table in a scenario file, which is called as in messages.
pub fn table(name: &str) -> Option<String> {
    let rows = key_reference(name)?.into_iter();
    Some(markdown::table(&["key", "type", "default", "meaning"], rows))
}
