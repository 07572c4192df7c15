use thiserror::Error;

/// A source from which no scenario can be drafted.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct DraftError {
    /// What is wrong, and where in the source.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl DraftError {
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}
