//! The outcome of the trial of a server.

/// Outcome of the trial of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It started, and answered `GET /` with this status.
    Answered(u16),
    /// It did not, for this reason.
    Failed(Failed),
    /// It was not tried.
    Untried,
}

/// Why a trial failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failed {
    /// Kind of the failure, for the file, which has no text of the server: users commit the file.
    pub(super) kind: String,
    /// Reason with a line of the server's log, for the terminal.
    pub(super) detail: String,
}
