//! Defines the reasons why a round could not be run.

use miette::Diagnostic;
use thiserror::Error;

/// Reason why a round could not be run.
#[derive(Debug, Error, Diagnostic)]
pub enum EngineError {
    /// The HTTP client could not be created.
    #[error("cannot create an HTTP client: {0}")]
    #[diagnostic(code(no_http_client), help("check [http] in the scenario"))]
    Client(String),
    /// A file that a step sends is not here, or differs from that of the manager.
    #[error("{0}")]
    #[diagnostic(code(file_differs))]
    File(String),
    /// Goose, the library that runs the users, refused to start them or gave up before they ended.
    #[error("Goose could not run the users: {0}")]
    #[diagnostic(code(goose_failed))]
    Goose(String),
    /// A user's task panicked, so one of its requests is in no count. The program loadgen ends at a
    /// panic; a program with a hook of its own gets this error.
    #[error("a user's task panicked")]
    #[diagnostic(
        code(user_panicked),
        help("this is a bug in loadgen: please report the bug, with the output of loadgen")
    )]
    UserPanicked,
    /// The receiver of the snapshots is gone.
    #[error("the receiver of the results of this round is gone")]
    #[diagnostic(code(results_not_received))]
    Abandoned,
}
