//! What became of the trial of a server.

/// Outcome of the trial of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It started, and answered `GET /` with this status.
    Answered(u16),
    /// It did not, for this reason.
    Failed(String),
    /// It was not tried.
    Untried,
}
