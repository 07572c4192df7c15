//! Requests that are traced: a server that takes part writes what it does for one into a trace, under the same number.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::outcome::ErrorKind;
use super::timeline::Phase;

/// Numbers by which a server knows to which trace its work for a request belongs (W3C Trace Context,
/// <https://www.w3.org/TR/trace-context/>). Written, it is the value of the header `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceContext {
    /// Number of the trace, which begins with this request.
    pub trace_id: [u8; 16],
    /// Number of the request within it.
    pub span_id: [u8; 8],
}

impl TraceContext {
    /// Returns the number of the trace as it is written.
    #[must_use]
    pub fn trace(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.trace_id))
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The trace is kept: without the last flag, most servers would write nothing.
        write!(f, "00-{}-{:016x}-01", self.trace(), u64::from_be_bytes(self.span_id))
    }
}

/// A request that was traced, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedRequest {
    /// Index of the step in the scenario.
    pub step: u32,
    /// Phase of the round to which the request belongs.
    pub phase: Phase,
    /// What the server was told.
    pub context: TraceContext,
    /// Time of the send, in ns since 1970, by the clock of the host that sent the request.
    pub sent_unix_ns: u64,
    /// Time between the planned and the actual send.
    pub delay: Duration,
    /// Time from the send to the first byte of the answer; `None` as for [`super::Outcome::first_byte`].
    pub first_byte: Option<Duration>,
    /// Time from the send to the end.
    pub took: Duration,
    /// Status of the HTTP response; `None` without a whole one.
    pub status: Option<u16>,
    /// Whether the request was sent again, because the server had not processed it.
    pub resent: bool,
    /// How the request ended.
    pub end: TracedEnd,
}

/// How a traced request ended: see [`super::Ending`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TracedEnd {
    /// With the expected response.
    Answered,
    /// With an error, which is described.
    Failed(ErrorKind, String),
    /// Cut off by the end of the round.
    CutOff,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_written_as_the_header_wants_it() {
        let context = TraceContext {
            trace_id: 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736_u128.to_be_bytes(),
            span_id: 0x00f0_67aa_0ba9_02b7_u64.to_be_bytes(),
        };
        // The example of the specification.
        let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(context.to_string(), header);
    }
}
