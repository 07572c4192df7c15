//! Describes how one request ended.

use std::fmt;
use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of one request, from the planned send to the last byte of the response; or of one
/// iteration, from the planned send of its first request to the last byte of its last response.
#[derive(Debug, Clone)]
pub struct Outcome<'a> {
    /// Index of the request's step in the scenario, or of the iteration's flow.
    pub step: usize,
    /// Whether the request belongs to an iteration that counts, rather than to the warm-up.
    pub counted: bool,
    /// Planned time of the send, from which the latency is measured.
    pub planned: Instant,
    /// Actual time of the send; `None` in the closed model, where `planned` is the actual time.
    pub sent: Option<Instant>,
    /// Time when the first byte of the answer was read; `None` if it was read together with the last
    /// one, or for an iteration. Interim responses (1xx) are not the answer.
    pub first_byte: Option<Instant>,
    /// Time when the last byte of the body was read, or when the failure was noticed.
    pub done: Instant,
    /// Number of bytes of the answer's body.
    pub bytes: u64,
    /// Whether the request was sent again, because the server had not processed it.
    pub resent: bool,
    /// Category in which the request is counted.
    pub ending: Ending<'a>,
    /// Times of the events, if the step expects a stream.
    pub stream: Option<StreamTimes<'a>>,
    /// Values that the step's counters read from the response, in the step's order; empty without
    /// an expected response.
    pub counters: &'a [u64],
}

/// Times of the events in a stream.
#[derive(Debug, Clone, Copy)]
pub struct StreamTimes<'a> {
    /// Number of events.
    pub events: u64,
    /// Time when the first event was read; `None` without events.
    pub first: Option<Instant>,
    /// Times between successive events that came with different reads, in µs.
    pub gaps_us: &'a [u32],
    /// Number of events that came with the same read as the event before.
    pub together: u64,
    /// Whether loadgen ended the stream before the server did.
    pub closed: bool,
}

/// Category in which a request is counted: each request has exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending<'a> {
    /// The response was the one that the step expects.
    Answered,
    /// The request failed. Holds the kind of the error and a description of the failure.
    Failed(ErrorKind, &'a str),
    /// The request was cut off because the round was ended early. A stop step (sent once, at the
    /// end) is also cancelled if it was not sent because an earlier stop step was cut off.
    Cancelled,
    /// The request was in flight at the end of the round, and had no response until the end of the
    /// drain (the final wait for responses). A stop step (sent once, at the end) is unanswered if
    /// it has no response until the end of the grace period.
    Unanswered,
}

/// The reason why a request failed. Each failed request has exactly one kind.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// No connection could be opened.
    Connect,
    /// The response was incomplete at the step's timeout.
    Timeout,
    /// The connection broke before the response was complete.
    Reset,
    /// The response was not valid HTTP, or that to a gRPC call was not valid gRPC.
    Protocol,
    /// The status, or that of a gRPC call, was not the expected one.
    Status,
    /// The status was as expected, but another part of the response was not; or the request could
    /// not be rendered from earlier responses.
    Expectation,
    /// The response was complete, but the stream in it ended before its end marker, or had another
    /// number of events than expected, or could not be read.
    Stream,
}

impl ErrorKind {
    /// Every kind of error, in the order in which counts are kept.
    pub const ALL: [Self; 7] = [
        Self::Connect,
        Self::Timeout,
        Self::Reset,
        Self::Protocol,
        Self::Status,
        Self::Expectation,
        Self::Stream,
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
            Self::Stream => "stream",
        })
    }
}
