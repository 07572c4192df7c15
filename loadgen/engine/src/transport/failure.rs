//! Why there is no whole answer.

use std::borrow::Cow;

use loadgen_measure::ErrorKind;
use loadgen_scenario::RenderError;

/// The reason why there is no whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind of error to count.
    pub kind: ErrorKind,
    /// A description for people.
    pub message: Cow<'static, str>,
}

impl Failure {
    pub(super) fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl From<RenderError> for Failure {
    fn from(error: RenderError) -> Self {
        Self::new(ErrorKind::Expectation, error.to_string())
    }
}
