//! Counts the results of one step's requests, or of one flow's iterations.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::body_sizes::BodySizes;
use super::latencies::Latencies;
use super::outcome::{Ending, ErrorKind, Outcome};
use super::streams::StreamCounts;

/// Results of the requests of one step of a scenario, or of the iterations of one flow, over any part
/// of a run. Fields say "request" for both. Each request is in
/// exactly one of `answered`, `errors`, `cancelled` and `unsent`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Latencies of requests with the expected response, measured from the planned send time.
    pub answered: Latencies,
    /// Times from the planned send to the first byte of the responses in `answered`. Empty if each
    /// of these responses was read in one piece, so that the times equal `answered`: see
    /// [`Self::ttfb`].
    pub first_byte: Latencies,
    /// Latencies of the requests in `answered`, measured from the actual send time. Recorded only
    /// in the open model.
    pub service: Latencies,
    /// Delays between the planned and the actual send time of requests. Recorded only in the open
    /// model.
    pub delay: Latencies,
    /// Latencies of the failed requests, measured from the planned send time.
    pub failed: Latencies,
    /// Failed requests by kind.
    pub errors: BTreeMap<ErrorKind, u64>,
    /// Example for each kind of error: the description of one failed request.
    pub examples: BTreeMap<ErrorKind, String>,
    /// Number of requests, in any of the categories, that were sent again, because the server had not
    /// processed them.
    pub resent: u64,
    /// Number of requests that were cut off by the end of the round.
    pub cancelled: u64,
    /// Number of requests that were planned in the open model but not sent, because no user was
    /// free.
    pub unsent: u64,
    /// Number of cancelled requests whose expected response came after the end of the round, in the
    /// drain (the final wait for in-flight requests).
    pub answered_late: u64,
    /// Number of cancelled requests that failed after the end of the round, in the drain. Timeouts
    /// are not included.
    pub failed_late: u64,
    /// Number of cancelled requests without a response until their timeout, or until the end of the
    /// drain.
    pub unanswered: u64,
    /// Total size of all responses' bodies, in bytes.
    pub bytes: u64,
    /// Smallest and largest body of the expected responses; `None` without expected responses.
    pub bodies: Option<BodySizes>,
    /// Sum of each counter of the step, in the step's order; empty until a counter is read.
    pub counters: Vec<u64>,
    /// Events of the streams in expected responses; `None` without a stream.
    pub stream: Option<Box<StreamCounts>>,
}

impl Counts {
    /// Counts one request in the category `ending`, which may differ from the category in
    /// `outcome`.
    pub fn record(&mut self, outcome: &Outcome<'_>, ending: Ending<'_>) {
        let latency = outcome.done.saturating_duration_since(outcome.planned);
        self.bytes += outcome.bytes;
        self.resent += u64::from(outcome.resent);
        if let Some(sent) = outcome.sent {
            self.delay.record(sent.saturating_duration_since(outcome.planned));
        }
        match ending {
            Ending::Answered => {
                self.answer(latency, outcome);
                self.bodies = Some(BodySizes::with(self.bodies, outcome.bytes));
                if outcome.stream.is_some() {
                    self.stream.get_or_insert_default().record(outcome);
                }
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
        if !(self.first_byte.is_empty() && other.first_byte.is_empty()) {
            self.separate_first_byte();
            self.first_byte.merge(other.ttfb());
        }
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
        self.resent = self.resent.saturating_add(other.resent);
        if let Some(theirs) = other.bodies {
            self.bodies = Some(BodySizes::both(self.bodies, theirs));
        }
        self.add_counters(&other.counters);
        if let Some(stream) = &other.stream {
            self.stream.get_or_insert_default().merge(stream);
        }
    }

    /// Returns the times from the planned send to the first byte of the expected responses.
    #[must_use]
    pub fn ttfb(&self) -> &Latencies {
        if self.first_byte.is_empty() { &self.answered } else { &self.first_byte }
    }

    /// Adds the times of an expected response.
    fn answer(&mut self, latency: Duration, outcome: &Outcome<'_>) {
        if outcome.first_byte.is_some() || !self.first_byte.is_empty() {
            self.separate_first_byte();
            let first = outcome.first_byte.unwrap_or(outcome.done);
            self.first_byte.record(first.saturating_duration_since(outcome.planned));
        }
        self.answered.record(latency);
    }

    /// Gives `first_byte` the times of the responses so far, if they were all read in one piece.
    fn separate_first_byte(&mut self) {
        if self.first_byte.is_empty() {
            self.first_byte = self.answered.clone();
        }
    }

    /// Adds only those counts of `other` that concern cancelled requests.
    pub fn merge_cut(&mut self, other: &Self) {
        self.cancelled = self.cancelled.saturating_add(other.cancelled);
        self.answered_late = self.answered_late.saturating_add(other.answered_late);
        self.failed_late = self.failed_late.saturating_add(other.failed_late);
        self.unanswered = self.unanswered.saturating_add(other.unanswered);
    }

    /// Number of samples in all histograms together.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.histograms().map(Latencies::len).fold(0, u64::saturating_add)
    }

    /// Number of histograms that take much memory.
    #[must_use]
    pub fn large_histograms(&self) -> usize {
        self.histograms().filter(|latencies| latencies.is_large()).count()
    }

    fn histograms(&self) -> impl Iterator<Item = &Latencies> {
        let own = [&self.answered, &self.first_byte, &self.service, &self.delay, &self.failed];
        let of_stream = self.stream.iter().flat_map(|stream| [&stream.first_event, &stream.gaps]);
        own.into_iter().chain(of_stream)
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

    /// Returns the error rate (0 to 1) including the requests in flight at the end of the round. A
    /// request that was answered or failed in the drain counts by its result. A request without a
    /// response counts as failed.
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

/// Returns the share of the `failed` counts in all counts, 0 to 1; 0 if all counts are 0.
pub(super) fn share_with_in_flight(answered: [u64; 2], failed: [u64; 3]) -> f64 {
    let (answered, failed) = (sum(&answered), sum(&failed));
    if answered + failed > 0.0 { failed / (answered + failed) } else { 0.0 }
}

/// Sums as floats, because counts from the network may together exceed 64 bits.
pub(super) fn sum(counts: &[u64]) -> f64 {
    counts.iter().map(|n| *n as f64).sum()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Returns the counts of responses, each with its latency in µs, and how long before its end its
    /// first byte was read; `None` if both were read at once.
    fn of(responses: &[(u64, Option<u64>)]) -> Counts {
        let planned = Instant::now();
        let mut counts = Counts::default();
        for (us, before) in responses {
            let at = |us| planned + Duration::from_micros(us);
            let outcome = Outcome {
                step: 0,
                counted: true,
                planned,
                sent: None,
                first_byte: before.map(|before| at(us.saturating_sub(before))),
                done: at(*us),
                bytes: 0,
                resent: false,
                ending: Ending::Answered,
                stream: None,
                counters: &[],
            };
            counts.record(&outcome, outcome.ending);
        }
        counts
    }

    #[test]
    fn responses_in_one_piece_take_no_histogram_for_the_first_byte() {
        let whole = of(&[(500, None); 1_000]);
        assert!(whole.first_byte.is_empty());
        assert_eq!(whole.ttfb(), &whole.answered);
        let mut both = whole.clone();
        both.merge(&of(&[(700, Some(100))]));
        assert_eq!((both.first_byte.len(), both.ttfb().max()), (1_001, Some(600)));
        let [without, with] = [&whole, &both].map(|it| rmp_serde::to_vec(it).unwrap().len());
        assert!(with > without + 40, "{without}, {with}");
    }

    fn responses() -> impl Strategy<Value = Vec<(u64, Option<u64>)>> {
        vec((1_u64..10_000_000, proptest::option::of(0_u64..10_000)), 0..20)
    }

    proptest! {
        #[test]
        fn first_bytes_merge_without_loss(a in responses(), b in responses()) {
            let (mut ab, mut ba) = (of(&a), of(&b));
            ab.merge(&of(&b));
            ba.merge(&of(&a));
            prop_assert_eq!(&ab, &ba);
            let all = [a, b].concat();
            prop_assert_eq!(&ab, &of(&all));
            let mut exact = Latencies::default();
            for (us, before) in all {
                exact.record(Duration::from_micros(us.saturating_sub(before.unwrap_or(0))));
            }
            prop_assert_eq!(ab.ttfb(), &exact);
        }
    }
}
