//! Defines how a command ends: its exit code, and its error if it fails.

use std::process::ExitCode;

use miette::{Diagnostic, Report};
use serde::{Deserialize, Serialize};

use crate::lab::LabError;

/// Exit codes of loadgen. Scripts may rely on the codes, which are part of the command line's
/// contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// The command succeeded.
    Done = 0,
    /// Something failed that no other code describes.
    Failed = 1,
    /// The command line or a file of the user's, such as a scenario, is wrong.
    Usage = 2,
    /// A threshold or a proof failed, or a comparison found a regression.
    Threshold = 3,
    /// A target could not be started or verified.
    Target = 4,
    /// A worker was lost, so the result differs from the planned result.
    Degraded = 5,
    /// Interrupted by Ctrl-C or SIGTERM.
    Interrupted = 130,
}

impl Exit {
    /// Returns the exit code with this number; `None` if loadgen has no such code.
    #[must_use]
    pub fn of_code(code: u8) -> Option<Self> {
        let all = [
            Self::Done,
            Self::Failed,
            Self::Usage,
            Self::Threshold,
            Self::Target,
            Self::Degraded,
            Self::Interrupted,
        ];
        all.into_iter().find(|exit| *exit as u8 == code)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error that ends the command, with the exit code.
#[derive(Debug)]
pub struct Failure {
    /// Exit code of loadgen.
    pub exit: Exit,
    /// Error that loadgen prints on stderr.
    pub report: Report,
}

impl Failure {
    /// Creates a failure that ends the command with `exit`.
    pub fn new(exit: Exit, error: impl Diagnostic + Send + Sync + 'static) -> Self {
        Self { exit, report: Report::new(error) }
    }

    /// Returns a function for `map_err` that converts an error to a failure with the exit code
    /// `exit`.
    pub fn with<E: Diagnostic + Send + Sync + 'static>(exit: Exit) -> impl FnOnce(E) -> Self {
        move |error| Self::new(exit, error)
    }

    /// Creates a failure from a plain message. `code` identifies the error in
    /// `docs/reference/errors.md`, and `help` is the fix.
    pub fn message(exit: Exit, code: &'static str, message: String, help: &str) -> Self {
        let report = miette::miette!(code = code, help = help.to_owned(), "{message}");
        Self { exit, report }
    }

    /// Creates the failure of options that do not fit together, or do not fit the job.
    pub fn conflict(message: String, help: &str) -> Self {
        Failure::message(Exit::Usage, "conflicting_options", message, help)
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        let exit = if error.is_usage() { Exit::Usage } else { Exit::Target };
        Self::new(exit, error)
    }
}
