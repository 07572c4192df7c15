//! Defines the requests to a run.

use std::str::FromStr;

use miette::{Diagnostic, MietteDiagnostic};
use serde::{Deserialize, Serialize};

use crate::engine::LoadChangeError;
use crate::failure::{Exit, Failure};
use crate::scenario::LoadLevel;

/// A user's request to a run in progress.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlRequest {
    /// Ends the run like Ctrl-C: loadgen reports and saves the results so far.
    Stop,
    /// Changes the load to this number of users.
    Users(u32),
    /// Changes the load to this rate, in requests per second.
    Rate(f64),
}

impl From<LoadLevel> for ControlRequest {
    fn from(level: LoadLevel) -> Self {
        match level {
            LoadLevel::Users(users) => Self::Users(users),
            LoadLevel::Rate(rate) => Self::Rate(rate),
        }
    }
}

impl FromStr for ControlRequest {
    type Err = ControlError;

    /// Parses a request as typed: `users 200`, `rate 500` or `stop`.
    fn from_str(line: &str) -> Result<Self, ControlError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let request = match words.as_slice() {
            ["stop"] => Some(Self::Stop),
            ["users", users] => users.parse().ok().map(Self::Users),
            ["rate", rate] => rate.parse().ok().map(Self::Rate),
            _ => None,
        };
        request.ok_or_else(|| {
            let message = format!("unknown request \"{}\"", words.join(" "));
            let help = Some("write `users N`, `rate R` or `stop`");
            ControlError::new(Exit::Usage, "unknown_request", message, help)
        })
    }
}

/// Reason why a request is not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlError {
    /// Code of the reason, which `docs/reference/errors.md` explains.
    pub code: String,
    /// Sentence that explains why the request is not carried out.
    pub message: String,
    /// Advice on what to do instead, if any.
    pub help: Option<String>,
    /// Exit code of `loadgen ctl`.
    pub exit: Exit,
}

impl ControlError {
    /// Creates an error from an exit code, an error code, a message, and advice (`help`), if any.
    pub fn new(exit: Exit, code: &'static str, message: String, help: Option<&str>) -> Self {
        Self { code: code.to_owned(), message, help: help.map(str::to_owned), exit }
    }

    /// Creates an error with the code, message and help of `error`.
    pub fn of(error: &dyn Diagnostic, exit: Exit) -> Self {
        let code = error.code().map(|code| code.to_string()).unwrap_or_default();
        let help = error.help().map(|help| help.to_string());
        Self { code, message: error.to_string(), help, exit }
    }
}

impl From<LoadChangeError> for ControlError {
    fn from(refused: LoadChangeError) -> Self {
        let exit = match refused {
            LoadChangeError::Change(_) => Exit::Usage,
            LoadChangeError::TooLate => Exit::Failed,
        };
        Self::of(&refused, exit)
    }
}

impl From<ControlError> for Failure {
    fn from(error: ControlError) -> Self {
        let ControlError { code, message, help, exit } = error;
        let mut diagnostic = MietteDiagnostic::new(message).with_code(code);
        diagnostic.help = help;
        Self::new(exit, diagnostic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_line_is_parsed_or_refused_with_a_reason() {
        let said = |line: &str| line.parse::<ControlRequest>().map_err(|error| error.message);
        assert_eq!(said("users 200"), Ok(ControlRequest::Users(200)));
        assert_eq!(said("  rate   0.5 "), Ok(ControlRequest::Rate(0.5)));
        assert_eq!(said("stop"), Ok(ControlRequest::Stop));
        for line in ["users", "users -1", "users 1.5", "rate fast", "stop now", "quit"] {
            assert_eq!(said(line), Err(format!("unknown request \"{line}\"")));
        }
    }

    #[test]
    fn requests_are_sent_as_one_line_of_json() {
        let text = |request: ControlRequest| serde_json::to_string(&request).unwrap();
        let requests =
            [ControlRequest::Stop, ControlRequest::Users(200), ControlRequest::Rate(500.0)];
        assert_eq!(requests.map(text), ["\"stop\"", "{\"users\":200}", "{\"rate\":500.0}"]);
    }
}
