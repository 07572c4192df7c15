use thiserror::Error;

/// A source from which no scenario can be drafted.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct DraftError {
    /// The fault, and its place in the source.
    pub message: String,
    /// Advice how to remove it.
    pub help: String,
}

impl DraftError {
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}
