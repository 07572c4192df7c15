//! Counts the events of streams.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::latencies::Latencies;
use super::outcome::Outcome;

/// Events of the streams in expected responses.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamCounts {
    /// Times from the planned send to the first event of each stream.
    pub first_event: Latencies,
    /// Times between successive events of a stream. Events that came with one read have no time
    /// between them, which counts as 1 µs.
    pub gaps: Latencies,
    /// Number of events.
    pub events: u64,
    /// Number of streams that loadgen ended, because the step says so.
    #[serde(default)]
    pub closed: u64,
}

impl StreamCounts {
    /// Adds the stream of an expected response.
    pub(super) fn record(&mut self, outcome: &Outcome<'_>) {
        let Some(times) = outcome.stream else { return };
        self.events = self.events.saturating_add(times.events);
        self.closed = self.closed.saturating_add(u64::from(times.closed));
        if let Some(first) = times.first {
            self.first_event.record(first.saturating_duration_since(outcome.planned));
        }
        for us in times.gaps_us {
            self.gaps.record(Duration::from_micros(u64::from(*us)));
        }
        if times.together > 0 {
            self.gaps.record_n(Duration::ZERO, times.together);
        }
    }

    /// Adds all events of `other`.
    pub(super) fn merge(&mut self, other: &Self) {
        self.first_event.merge(&other.first_event);
        self.gaps.merge(&other.gaps);
        self.events = self.events.saturating_add(other.events);
        self.closed = self.closed.saturating_add(other.closed);
    }
}
