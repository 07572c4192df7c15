//! A scenario from the access log of a server.

use crate::{Draft, DraftError};

/// Drafts a scenario.
pub fn draft(log: impl std::io::BufRead, speed: f64) -> Result<Draft, DraftError> {
    Err(DraftError::new("not yet", "wait"))
}
