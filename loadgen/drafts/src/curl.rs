//! A scenario from a `curl` command, as browsers and API clients copy it.

use crate::{Draft, DraftError};

/// Drafts a scenario.
pub fn draft(command: &str) -> Result<Draft, DraftError> {
    Err(DraftError::new("not yet", "wait"))
}
