//! How one request ended.

use std::fmt;
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// What became of one request, from its planned send to the last byte of its answer.
#[derive(Debug, Clone)]
pub struct Outcome<'a> {
    /// The step's place in the scenario.
    pub step: usize,
    /// Whether it belongs to an iteration that counts, rather than to the warm-up.
    pub counted: bool,
    /// When it should have been sent; latency counts from here.
    pub planned: Instant,
    /// When it was sent, in the open model; in the closed model that is when it was planned.
    pub sent: Option<Instant>,
    /// When the last byte of the answer's body was read, or the failure was noticed.
    pub done: Instant,
    /// Bytes of the answer's body.
    pub bytes: u64,
    /// The one place where this request is counted.
    pub ending: Ending<'a>,
    /// What the step's counters read from the answer, in their order; empty unless answered.
    pub counters: &'a [u64],
}

/// The one place where a request is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending<'a> {
    /// The answer was what the step expects.
    Answered,
    /// It failed, with one kind of error and a sentence that says more.
    Failed(ErrorKind, &'a str),
    /// Whoever ended the round before its planned end cut it off.
    Cancelled,
    /// It was in flight at the end of the round, and still had no answer when the drain was over.
    Unanswered,
}

/// Why a request failed. Each failed request has exactly one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// No connection could be made.
    Connect,
    /// The answer was not complete within the step's timeout.
    Timeout,
    /// The connection broke before the answer was complete.
    Reset,
    /// What came back was not HTTP.
    Protocol,
    /// The status was not the expected one.
    Status,
    /// The status was right, and something else of the answer was not; or the request could not be
    /// made of what answers before it had.
    Expectation,
}

impl ErrorKind {
    /// Every kind, in the order in which counts are kept.
    pub const ALL: [Self; 6] = [
        Self::Connect,
        Self::Timeout,
        Self::Reset,
        Self::Protocol,
        Self::Status,
        Self::Expectation,
    ];
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Reset => "reset",
            Self::Protocol => "protocol",
            Self::Status => "status",
            Self::Expectation => "expectation",
        })
    }
}
