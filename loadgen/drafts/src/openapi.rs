//! A scenario from the description of an API (OpenAPI 3.0 and 3.1).

use crate::{Draft, DraftError};

/// Drafts a scenario.
pub fn draft(document: &str) -> Result<Draft, DraftError> {
    Err(DraftError::new("not yet", "wait"))
}
