//! A scenario from recordings of a browser (HTTP Archive, HAR 1.2).

use crate::{Draft, DraftError};

/// Drafts a scenario.
pub fn draft(recordings: &[(String, String)]) -> Result<Draft, DraftError> {
    Err(DraftError::new("not yet", "wait"))
}
