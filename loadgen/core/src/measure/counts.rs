//! Counts the results of one step's requests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::body_sizes::BodySizes;
use super::latencies::Latencies;
use super::outcome::{Ending, ErrorKind, Outcome};

/// The results of one step's requests, over any part of a run. Each request is in exactly one of
/// `answered`, `errors`, `cancelled` and `unsent`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Latencies of requests with the expected answer, from their planned send.
    pub answered: Latencies,
    /// Latencies of the same requests from their actual send, in the open model.
    pub service: Latencies,
    /// Delays of requests from their planned to their actual send, in the open model.
    pub delay: Latencies,
    /// Latencies of the failed requests, from their planned send.
    pub failed: Latencies,
    /// Failed requests by kind.
    pub errors: BTreeMap<ErrorKind, u64>,
    /// A sentence about one failed request of each kind.
    pub examples: BTreeMap<ErrorKind, String>,
    /// Requests cut off by the end of the round.
    pub cancelled: u64,
    /// Planned requests of the open model that no user was free to send.
    pub unsent: u64,
    /// Requests in flight at the end of the round whose expected answer came in the drain.
    pub answered_late: u64,
    /// Requests in flight at the end of the round that failed in the drain, other than by timeout.
    pub failed_late: u64,
    /// Cancelled requests without an answer until their timeout, or until the end of the drain.
    pub unanswered: u64,
    /// Bytes of all answers' bodies.
    pub bytes: u64,
    /// Sizes of the expected answers' bodies; `None` if there are no expected answers.
    pub bodies: Option<BodySizes>,
    /// Sums of the step's counters, in the step's order; empty until one is read.
    pub counters: Vec<u64>,
}

impl Counts {
    /// Counts one request that ended as `ending` says.
    pub fn record(&mut self, outcome: &Outcome<'_>, ending: Ending<'_>) {
        let latency = outcome.done.saturating_duration_since(outcome.planned);
        self.bytes += outcome.bytes;
        if let Some(sent) = outcome.sent {
            self.delay.record(sent.saturating_duration_since(outcome.planned));
        }
        match ending {
            Ending::Answered => {
                self.answered.record(latency);
                self.bodies = Some(BodySizes::with(self.bodies, outcome.bytes));
                if let Some(sent) = outcome.sent {
                    self.service.record(outcome.done.saturating_duration_since(sent));
                }
            }
            Ending::Cancelled | Ending::Unanswered => {
                self.cancelled += 1;
                match outcome.ending {
                    Ending::Answered => self.answered_late += 1,
                    Ending::Unanswered | Ending::Failed(ErrorKind::Timeout, _) => {
                        self.unanswered += 1;
                    }
                    Ending::Failed(..) => self.failed_late += 1,
                    Ending::Cancelled => {}
                }
            }
            Ending::Failed(kind, message) => {
                self.failed.record(latency);
                *self.errors.entry(kind).or_default() += 1;
                self.examples.entry(kind).or_insert_with(|| message.to_owned());
            }
        }
        self.add_counters(outcome.counters);
    }

    /// Adds all counts of `other`. Of two examples of a kind, keeps the lesser text,
    /// so that the order of merging doesn't matter. Sums saturate, because the counts
    /// may come from the network.
    pub fn merge(&mut self, other: &Self) {
        self.answered.merge(&other.answered);
        self.service.merge(&other.service);
        self.delay.merge(&other.delay);
        self.failed.merge(&other.failed);
        for (kind, n) in &other.errors {
            let ours = self.errors.entry(*kind).or_default();
            *ours = ours.saturating_add(*n);
        }
        for (kind, theirs) in &other.examples {
            let ours = self.examples.entry(*kind).or_insert_with(|| theirs.clone());
            if theirs < ours {
                ours.clone_from(theirs);
            }
        }
        self.unsent = self.unsent.saturating_add(other.unsent);
        self.merge_cut(other);
        self.bytes = self.bytes.saturating_add(other.bytes);
        if let Some(theirs) = other.bodies {
            self.bodies = Some(BodySizes::both(self.bodies, theirs));
        }
        self.add_counters(&other.counters);
    }

    /// Adds only the counts of cancelled requests.
    pub fn merge_cut(&mut self, other: &Self) {
        self.cancelled = self.cancelled.saturating_add(other.cancelled);
        self.answered_late = self.answered_late.saturating_add(other.answered_late);
        self.failed_late = self.failed_late.saturating_add(other.failed_late);
        self.unanswered = self.unanswered.saturating_add(other.unanswered);
    }

    /// Number of requests that ended: answered or failed, but not cancelled.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.answered.len().saturating_add(self.failures())
    }

    /// Number of requests that failed.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.errors.values().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// The share of requests that failed, 0 to 1; 0 if there are no requests.
    #[must_use]
    pub fn error_rate(&self) -> f64 {
        if self.requests() == 0 { 0.0 } else { self.failures() as f64 / self.requests() as f64 }
    }

    /// Like [`Self::error_rate`], but includes the requests in flight at the end.
    /// Requests that were answered or failed in the drain count by their result, those
    /// without an answer as failed.
    #[must_use]
    pub fn error_rate_with_in_flight(&self) -> f64 {
        share_with_in_flight(
            [self.answered.len(), self.answered_late],
            [self.failures(), self.failed_late, self.unanswered],
        )
    }

    fn add_counters(&mut self, values: &[u64]) {
        if self.counters.len() < values.len() {
            self.counters.resize(values.len(), 0);
        }
        for (sum, value) in self.counters.iter_mut().zip(values) {
            *sum = sum.saturating_add(*value);
        }
    }
}

/// The share of `failed` in all, 0 to 1. Sums as floats: the counts may come from the network and
/// exceed 64 bits together.
pub(super) fn share_with_in_flight(answered: [u64; 2], failed: [u64; 3]) -> f64 {
    let sum = |all: &[u64]| all.iter().map(|n| *n as f64).sum::<f64>();
    let (answered, failed) = (sum(&answered), sum(&failed));
    if answered + failed > 0.0 { failed / (answered + failed) } else { 0.0 }
}
