//! Why there is no whole answer.

use std::borrow::Cow;

use loadgen_measure::ErrorKind;
use loadgen_scenario::RenderError;

/// Words of failures that tell what broke, in lower case, for the help that follows from them.
pub const PARTLY: &str = "after a part of the response";
pub const PROXY: &str = "the proxy ";
pub const REDIRECTED: &str = "to which the server redirects";

/// The reason why there is no whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind of error to count.
    pub kind: ErrorKind,
    /// A description for people.
    pub message: Cow<'static, str>,
    /// What is known of the server's work for the request.
    pub(super) work: Work,
}

/// What is known of a server's work for a request that has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Work {
    /// The server may have done it.
    #[default]
    Possible,
    /// The connection ended before the first byte of a response. The server may have done it, or may have closed
    /// the connection as idle before the request came.
    Unanswered,
    /// The server has not done it, and will not.
    None,
}

impl Failure {
    pub(super) fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, message: message.into(), work: Work::default() }
    }

    pub(super) fn with(self, work: Work) -> Self {
        Self { work, ..self }
    }
}

impl From<RenderError> for Failure {
    fn from(error: RenderError) -> Self {
        Self::new(ErrorKind::Expectation, error.to_string())
    }
}
