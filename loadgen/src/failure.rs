//! How a command ends: its exit code, and the error that goes with it.

use std::process::ExitCode;

use miette::{Diagnostic, Report};
use serde::{Deserialize, Serialize};

use crate::lab::LabError;

/// What loadgen tells its caller. Part of the command line's contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// All was done.
    Done = 0,
    /// Something failed that no other code names.
    Failed = 1,
    /// The command line or a scenario is wrong.
    Usage = 2,
    /// A threshold failed.
    Threshold = 3,
    /// A target could not be started or verified.
    Target = 4,
    /// The result is not what was planned: a worker was lost.
    Degraded = 5,
    /// Interrupted by Ctrl-C or SIGTERM.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error that ends the command, and the exit code that goes with it.
#[derive(Debug)]
pub struct Failure {
    /// What loadgen exits with.
    pub exit: Exit,
    /// What it says on stderr.
    pub report: Report,
}

impl Failure {
    /// `error` ends the command with `exit`.
    pub fn new(exit: Exit, error: impl Diagnostic + Send + Sync + 'static) -> Self {
        Self { exit, report: Report::new(error) }
    }

    /// For `map_err`.
    pub fn with<E: Diagnostic + Send + Sync + 'static>(exit: Exit) -> impl FnOnce(E) -> Self {
        move |error| Self::new(exit, error)
    }

    /// A plain message with its mend.
    pub fn message(exit: Exit, message: String, help: &str) -> Self {
        Self { exit, report: miette::miette!(help = help.to_owned(), "{message}") }
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        let exit = if error.is_usage() { Exit::Usage } else { Exit::Target };
        Self::new(exit, error)
    }
}
