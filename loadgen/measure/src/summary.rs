//! Summarizes counts for the result document.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body_sizes::BodySizes;
use super::counts::{Counts, share_with_in_flight, sum};
use super::latencies::Latencies;
use super::outcome::ErrorKind;
use super::streams::StreamCounts;

/// Summarized results of one step, or of all steps together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Name of the step, or `all` for all steps together.
    pub name: String,
    /// Requests that ended: answered or failed, but not cancelled.
    pub requests: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Requests cut off by the end of the round; not included in `requests`, `errors` or `unsent`.
    pub cancelled: u64,
    /// Cancelled requests whose expected response came in the drain.
    #[serde(default)]
    pub answered_late: u64,
    /// Cancelled requests that failed in the drain, other than by timeout.
    #[serde(default)]
    pub failed_late: u64,
    /// Cancelled requests without a response until their timeout, or until the end of the drain.
    #[serde(default)]
    pub unanswered: u64,
    /// Requests that were sent again, with any outcome; 0 in documents of earlier versions.
    #[serde(default)]
    pub resent: u64,
    /// Planned requests that no user was free to send; 0 in the closed model.
    pub unsent: u64,
    /// Failed requests by kind of error; each kind is present.
    pub errors_by_kind: BTreeMap<ErrorKind, u64>,
    /// A sentence about one failed request of each kind of error that occurred.
    pub error_examples: BTreeMap<ErrorKind, String>,
    /// Expected responses per second.
    pub rate_per_s: f64,
    /// Failed requests per second.
    pub failed_per_s: f64,
    /// Bytes of response bodies per second, including those of failed requests.
    pub bytes_per_s: f64,
    /// Bytes of files in the bodies of requests with an expected response, per second; `None` if the step sends no
    /// file, and in documents of earlier versions.
    #[serde(default)]
    pub uploaded_bytes_per_s: Option<f64>,
    /// Sizes of the bodies of the expected responses; `None` without an expected response.
    pub body_bytes: Option<BodySizes>,
    /// Latency of the expected responses from their planned send.
    pub latency_us: LatencySummary,
    /// Time from the planned send to the first byte of the expected responses; all values are
    /// `null` in documents of earlier versions.
    #[serde(default)]
    pub ttfb_us: LatencySummary,
    /// Latency of the expected responses from their actual send; equals `latency_us` in the closed
    /// model.
    pub service_us: LatencySummary,
    /// Delay of requests from their planned to their actual send; all values are `null` in the
    /// closed model.
    pub delay_us: LatencySummary,
    /// Latency of the failed requests.
    pub failed_us: LatencySummary,
    /// Events of the streams in expected responses; `None` without a step that expects a stream,
    /// or in earlier versions.
    #[serde(default)]
    pub stream: Option<StreamSummary>,
}

/// Summarized streams of one step, or of all steps together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamSummary {
    /// Events, without end markers.
    pub events: u64,
    /// Streams that loadgen ended at an event, because of `close` in `expect.stream`.
    #[serde(default)]
    pub closed: u64,
    /// Events per second.
    pub events_per_s: f64,
    /// Time from the planned send to the first event of a stream.
    pub first_event_us: LatencySummary,
    /// Time between successive events of a stream; 1 for events that came with one read.
    pub gap_us: LatencySummary,
}

/// A distribution of latencies in µs. A value is `None` if too few samples support it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "a comment holds for the fields without one that follow")]
pub struct LatencySummary {
    /// Minimum; `None` without a sample.
    pub min: Option<u64>,
    /// Arithmetic mean; `None` without a sample.
    pub mean: Option<f64>,
    /// Percentiles: `p99_9` is the 99.9th; `None` if fewer than ten samples lie beyond the
    /// percentile.
    pub p50: Option<u64>,
    pub p90: Option<u64>,
    pub p95: Option<u64>,
    pub p99: Option<u64>,
    pub p99_9: Option<u64>,
    pub p99_99: Option<u64>,
    /// Maximum; `None` without a sample.
    pub max: Option<u64>,
}

impl Summary {
    /// Summarizes the `counts` of a period of length `window`. `cut` counts the requests that were
    /// cut off by the end of the round.
    #[must_use]
    pub fn new(name: &str, counts: &Counts, cut: &Counts, window: Duration) -> Self {
        let per_second = |n: u64| {
            if window.is_zero() { 0.0 } else { n as f64 / window.as_secs_f64() }
        };
        let latency = LatencySummary::from(&counts.answered);
        Self {
            name: name.to_owned(),
            requests: counts.requests(),
            errors: counts.failures(),
            cancelled: counts.cancelled.saturating_add(cut.cancelled),
            answered_late: counts.answered_late.saturating_add(cut.answered_late),
            failed_late: counts.failed_late.saturating_add(cut.failed_late),
            unanswered: counts.unanswered.saturating_add(cut.unanswered),
            resent: counts.resent.saturating_add(cut.resent),
            unsent: counts.unsent,
            errors_by_kind: ErrorKind::ALL
                .map(|kind| (kind, counts.errors.get(&kind).copied().unwrap_or(0)))
                .into(),
            error_examples: counts.examples.clone(),
            rate_per_s: per_second(counts.answered.len()),
            failed_per_s: per_second(counts.failures()),
            bytes_per_s: per_second(counts.bytes),
            uploaded_bytes_per_s: None,
            body_bytes: counts.bodies,
            ttfb_us: LatencySummary::from(counts.ttfb()),
            // In the closed model, a request is planned for the moment of its send.
            service_us: if counts.service.is_empty() {
                latency.clone()
            } else {
                LatencySummary::from(&counts.service)
            },
            delay_us: LatencySummary::from(&counts.delay),
            latency_us: latency,
            failed_us: LatencySummary::from(&counts.failed),
            stream: counts.stream.as_ref().map(|stream| StreamSummary::new(stream, window)),
        }
    }

    /// Adds that each request sends files of so many bytes, if it does.
    #[must_use]
    pub fn uploading(mut self, bytes: Option<u64>) -> Self {
        self.uploaded_bytes_per_s = bytes.map(|bytes| bytes as f64 * self.rate_per_s);
        self
    }

    /// The share of requests that failed, 0 to 1; 0 if there are no requests.
    #[must_use]
    pub fn error_rate(&self) -> f64 {
        if self.requests == 0 { 0.0 } else { self.errors as f64 / self.requests as f64 }
    }

    /// Number of all requests, including those in flight at the end of the round.
    #[must_use]
    pub fn requests_with_in_flight(&self) -> f64 {
        sum(&[self.requests, self.answered_late, self.failed_late, self.unanswered])
    }

    /// The share of failed requests, 0 to 1, including the requests in flight at the end of the
    /// round. Requests without a response count as failures: see
    /// [`Counts::error_rate_with_in_flight`].
    #[must_use]
    pub fn error_rate_with_in_flight(&self) -> f64 {
        let Self { requests, errors, answered_late, failed_late, unanswered, .. } = *self;
        share_with_in_flight(
            [requests.saturating_sub(errors), answered_late],
            [errors, failed_late, unanswered],
        )
    }
}

impl StreamSummary {
    /// Summarizes the `counts` of a period of length `window`.
    fn new(counts: &StreamCounts, window: Duration) -> Self {
        let seconds = window.as_secs_f64();
        Self {
            events: counts.events,
            closed: counts.closed,
            events_per_s: if seconds > 0.0 { counts.events as f64 / seconds } else { 0.0 },
            first_event_us: LatencySummary::from(&counts.first_event),
            gap_us: LatencySummary::from(&counts.gaps),
        }
    }
}

impl From<&Latencies> for LatencySummary {
    fn from(latencies: &Latencies) -> Self {
        Self {
            min: latencies.min(),
            mean: latencies.mean(),
            p50: latencies.quantile(0.5),
            p90: latencies.quantile(0.9),
            p95: latencies.quantile(0.95),
            p99: latencies.quantile(0.99),
            p99_9: latencies.quantile(0.999),
            p99_99: latencies.quantile(0.9999),
            max: latencies.max(),
        }
    }
}
