//! Defines the reasons why a round could not be run.

use miette::Diagnostic;
use thiserror::Error;

/// Reason why a round could not be run.
#[derive(Debug, Error, Diagnostic)]
pub enum EngineError {
    /// The HTTP client could not be created.
    #[error("cannot make an HTTP client: {0}")]
    Client(String),
    /// Goose refused the attack or gave up on it.
    #[error("Goose could not run the users: {0}")]
    Goose(String),
    /// A user's task panicked, so one of its requests is in no count.
    #[error("a user's task panicked")]
    #[diagnostic(help("this is a fault of loadgen's: please report it, with what it printed"))]
    UserPanicked,
    /// The receiver of the snapshots is gone.
    #[error("nobody takes the results of this round any more")]
    Abandoned,
}
