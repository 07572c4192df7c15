//! Traced requests: a server that takes part writes what it does for one into a trace, under the same ID.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::lock::lock;
use super::outcome::{Ending, ErrorKind, Outcome};
use super::timeline::Phase;

/// IDs by which a server knows to which trace its work for a request belongs (W3C Trace Context,
/// <https://www.w3.org/TR/trace-context/>). Written, it is the value of the header `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceContext {
    /// ID of the trace, which begins with this request.
    pub trace_id: [u8; 16],
    /// ID of the request's span within it.
    pub span_id: [u8; 8],
}

impl TraceContext {
    /// Returns the trace ID as it is written.
    #[must_use]
    pub fn trace_id_text(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.trace_id))
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let span_id = u64::from_be_bytes(self.span_id);
        // The last flag says that the trace is kept: without it, most servers would write nothing.
        write!(f, "00-{}-{span_id:016x}-01", self.trace_id_text())
    }
}

/// A request that was traced, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedRequest {
    /// Index of the step in the scenario.
    pub step: u32,
    /// Phase of the round to which the request belongs.
    pub phase: Phase,
    /// The IDs of which the server was told.
    pub context: TraceContext,
    /// Time of the send, in ns since 1970, by the clock of the host that sent the request.
    pub sent_unix_ns: u64,
    /// Time between the planned and the actual send.
    pub delay: Duration,
    /// Time from the send to the first byte of the answer; `None` as for [`Outcome::first_byte`].
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

/// How a traced request ended: see [`Ending`]. Without the description of a failure, which may have a part of a
/// response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TracedEnd {
    /// With the expected response.
    Answered,
    /// With an error of this kind.
    Failed(ErrorKind),
    /// Cut off by the end of the round.
    CutOff,
}

/// Traced requests of one process, until the next snapshot.
///
/// At most [`Self::MOST`] are in flight or have ended since the last snapshot, so that neither memory nor messages grow
/// without bound.
pub struct Traces {
    /// A moment by two clocks.
    moment: (Instant, SystemTime),
    /// Number of requests that may still be traced before the next snapshot.
    left: AtomicU32,
    over_limit: AtomicU64,
    ended: Mutex<Vec<TracedRequest>>,
}

impl Traces {
    /// Most requests of a process that are traced in a second: between two snapshots.
    pub const MOST: u32 = 1_000;

    pub(super) fn new() -> Self {
        Self {
            moment: (Instant::now(), SystemTime::now()),
            left: AtomicU32::new(Self::MOST),
            over_limit: AtomicU64::new(0),
            ended: Mutex::default(),
        }
    }

    /// Returns whether another request may be traced, and counts it if not.
    pub(super) fn may_begin(&self) -> bool {
        let one_less = |left: u32| left.checked_sub(1);
        let begun = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        if begun.is_err() {
            self.over_limit.fetch_add(1, Ordering::Relaxed);
        }
        begun.is_ok()
    }

    /// Keeps a request that has ended.
    pub(super) fn keep(
        &self,
        outcome: &Outcome<'_>,
        phase: Phase,
        context: TraceContext,
        status: Option<u16>,
    ) {
        let sent = outcome.sent.unwrap_or(outcome.planned);
        let end = match outcome.ending {
            _ if phase == Phase::Tail => TracedEnd::CutOff,
            Ending::Answered => TracedEnd::Answered,
            Ending::Failed(kind, _) => TracedEnd::Failed(kind),
            Ending::Cancelled | Ending::Unanswered => TracedEnd::CutOff,
        };
        let after = |at: Instant| at.saturating_duration_since(sent);
        lock(&self.ended).push(TracedRequest {
            // A scenario has far fewer steps than `u32::MAX`.
            step: u32::try_from(outcome.step).unwrap_or(u32::MAX),
            phase,
            context,
            sent_unix_ns: self.unix_ns(sent),
            delay: sent.saturating_duration_since(outcome.planned),
            first_byte: outcome.first_byte.map(after),
            took: after(outcome.done),
            status,
            resent: outcome.resent,
            end,
        });
    }

    /// Returns the requests that have ended since the last call, and lets as many others be traced.
    pub(super) fn take(&self) -> Vec<TracedRequest> {
        let ended = std::mem::take(&mut *lock(&self.ended));
        // Far fewer than `u32::MAX`.
        self.left.fetch_add(u32::try_from(ended.len()).unwrap_or(0), Ordering::Relaxed);
        ended
    }

    /// Returns how many requests were not traced since the last call, because too many were.
    pub(super) fn take_over_limit(&self) -> u64 {
        self.over_limit.swap(0, Ordering::Relaxed)
    }

    /// Returns a moment in ns since 1970.
    fn unix_ns(&self, at: Instant) -> u64 {
        let (instant, time) = self.moment;
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let since = (since + at.saturating_duration_since(instant))
            .saturating_sub(instant.saturating_duration_since(at));
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: TraceContext = TraceContext { trace_id: [1; 16], span_id: [2; 8] };
    const MS: Duration = Duration::from_millis(1);

    fn outcome(sent: Instant, ending: Ending<'_>) -> Outcome<'_> {
        Outcome {
            step: 1,
            counted: true,
            planned: sent - 2 * MS,
            sent: Some(sent),
            first_byte: Some(sent + MS),
            done: sent + 3 * MS,
            bytes: 0,
            resent: false,
            ending,
            stream: None,
            counters: &[],
        }
    }

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

    #[test]
    fn a_request_has_the_times_of_its_send() {
        let (traces, sent) = (Traces::new(), Instant::now() + 20 * MS);
        let failed = outcome(sent, Ending::Failed(ErrorKind::Status, "got 500: a secret"));
        traces.keep(&failed, Phase::Hold, CONTEXT, Some(500));
        traces.keep(&outcome(sent + MS, Ending::Unanswered), Phase::Hold, CONTEXT, None);
        traces.keep(&outcome(sent, Ending::Answered), Phase::Tail, CONTEXT, Some(200));
        let ended = traces.take();
        let ends: Vec<TracedEnd> = ended.iter().map(|it| it.end).collect();
        assert_eq!(
            ends,
            [TracedEnd::Failed(ErrorKind::Status), TracedEnd::CutOff, TracedEnd::CutOff]
        );
        let first = &ended[0];
        assert_eq!((first.delay, first.first_byte, first.took), (2 * MS, Some(MS), 3 * MS));
        assert_eq!(ended[1].sent_unix_ns - first.sent_unix_ns, 1_000_000);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        assert!(now.abs_diff(first.sent_unix_ns.into()) < 60_000_000_000);
    }

    #[test]
    fn no_more_are_in_flight_and_kept_than_the_limit() {
        let traces = Traces::new();
        let begin = || (0..2_000).filter(|_| traces.may_begin()).count();
        assert_eq!((begin(), traces.take_over_limit()), (1_000, 1_000));
        // A server that answers nothing is told of no more traces.
        assert_eq!((traces.take().len(), begin(), traces.take_over_limit()), (0, 0, 2_000));
        for _ in 0..7 {
            traces.keep(&outcome(Instant::now(), Ending::Answered), Phase::Hold, CONTEXT, None);
        }
        assert_eq!((traces.take().len(), begin(), traces.take_over_limit()), (7, 7, 1_993));
        assert_eq!(traces.take_over_limit(), 0);
    }
}
