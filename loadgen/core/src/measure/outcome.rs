//! Describes how one request ended.

use std::fmt;
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// The result of one request, from its planned send to the last byte of its answer.
#[derive(Debug, Clone)]
pub struct Outcome<'a> {
    /// Index of the step in the scenario.
    pub step: usize,
    /// Whether the request belongs to an iteration that counts, rather than to the warm-up.
    pub counted: bool,
    /// Planned time of the send; latency counts from here.
    pub planned: Instant,
    /// Actual time of the send; `None` in the closed model, where `planned` is that time.
    pub sent: Option<Instant>,
    /// The time when the last byte of the body was read, or the failure was noticed.
    pub done: Instant,
    /// Number of bytes of the answer's body.
    pub bytes: u64,
    /// The one category in which this request is counted.
    pub ending: Ending<'a>,
    /// Values that the step's counters read, in the step's order; empty unless answered.
    pub counters: &'a [u64],
}

/// The one category in which a request is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending<'a> {
    /// The answer was as the step expects.
    Answered,
    /// The request failed with an error of this kind, which the text describes.
    Failed(ErrorKind, &'a str),
    /// The round was ended early and cut the request off. Also a stop step that was not sent,
    /// because an earlier stop step was cut off.
    Cancelled,
    /// The request was in flight at the end of the round, without an answer until the end of the
    /// drain. For a stop step: until the end of the grace period.
    Unanswered,
}

/// The reason why a request failed. Each failed request has exactly one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// No connection could be opened.
    Connect,
    /// The answer was incomplete at the step's timeout.
    Timeout,
    /// The connection broke before the answer was complete.
    Reset,
    /// The response was not valid HTTP.
    Protocol,
    /// The status was not the expected one.
    Status,
    /// The status was as expected, but another part of the answer was not. Or the request could not
    /// be rendered from the answers before it.
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
