//! Spans: requests that were traced, and that wait for being sent to a collector.

use std::collections::VecDeque;
use std::sync::Arc;

use super::told::{Loaded, Traced};
use crate::measure::{Phase, TracedEnd, TracedRequest};
use crate::record::{SlowRequest, SpansRecord};

/// Most spans that wait. A collector that is away for longer loses what came before.
const ROOM: usize = 10_000;

/// Most slow requests that are named in the record.
const MOST_SLOW: usize = 10;

/// A request that was traced, and what it was sent to.
#[derive(Debug, Clone)]
pub(super) struct Span {
    pub target: Arc<Loaded>,
    /// Number of the round.
    pub round: u32,
    /// Number of the worker that sent it.
    pub worker: u32,
    pub request: TracedRequest,
}

/// Spans that wait, and what became of those before.
#[derive(Debug, Default)]
pub(super) struct Spans {
    waiting: VecDeque<Span>,
    /// `None` if no request is traced.
    record: Option<SpansRecord>,
    /// Whether the user was told that a message did not arrive.
    was_told: bool,
}

impl Spans {
    /// Notes that spans are sent to a collector at this URL.
    pub(super) fn go_to(&mut self, url: &str) {
        self.record = Some(SpansRecord { url: url.to_owned(), ..SpansRecord::default() });
    }

    /// Adds the traced requests of a round.
    pub(super) fn add(&mut self, target: &Arc<Loaded>, round: u32, traced: Traced) {
        let Some(record) = &mut self.record else { return };
        let Traced { requests, lost, untraced } = traced;
        let all = (requests.len() as u64).saturating_add(lost);
        record.traced = record.traced.saturating_add(all);
        record.untraced = record.untraced.saturating_add(untraced);
        requests.iter().for_each(|(_, request)| note(&mut record.slowest, target, request));
        let span = |(worker, request)| Span { target: target.clone(), round, worker, request };
        self.waiting.extend(requests.into_iter().map(span));
        let more = self.waiting.len().saturating_sub(ROOM);
        self.waiting.drain(..more);
    }

    /// Removes and returns up to `most` spans.
    pub(super) fn take(&mut self, most: usize) -> Vec<Span> {
        let most = most.min(self.waiting.len());
        self.waiting.drain(..most).collect()
    }

    /// Notes that so many spans have arrived, and the number of those that the collector rejected, with its reason.
    pub(super) fn delivered(&mut self, count: usize, rejected: Option<(u64, String)>) {
        let Some(record) = &mut self.record else { return };
        let (rejected, why) = rejected.unzip();
        let arrived = (count as u64).saturating_sub(rejected.unwrap_or(0));
        record.delivered = record.delivered.saturating_add(arrived);
        record.last_error = why.or(record.last_error.take());
    }

    /// Notes that a message has not arrived. Returns the URL, if this is the first one.
    pub(super) fn failed(&mut self, why: &str) -> Option<String> {
        let record = self.record.as_mut()?;
        record.last_error = Some(why.to_owned());
        (!std::mem::replace(&mut self.was_told, true)).then(|| record.url.clone())
    }

    /// Notes that the last spans have not arrived in time.
    pub(super) fn overdue(&mut self) {
        if let Some(record) = &mut self.record {
            record.last_error.get_or_insert_with(|| "it did not answer in time".to_owned());
        }
    }

    /// Returns what became of the spans so far; `None` if no request is traced.
    pub(super) fn record(&self) -> Option<SpansRecord> {
        self.record.clone()
    }
}

/// Keeps a request if it was measured and is among the slowest.
fn note(slowest: &mut Vec<SlowRequest>, target: &Loaded, request: &TracedRequest) {
    // The end, not the server, made those long that were cut off.
    if !Phase::MEASURED.contains(&request.phase) || request.end == TracedEnd::CutOff {
        return;
    }
    let latency = request.delay + request.took;
    let latency_us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
    let at = slowest.partition_point(|slow| slow.latency_us >= latency_us);
    if at < MOST_SLOW {
        let step = target.steps.get(request.step as usize);
        slowest.truncate(MOST_SLOW - 1);
        slowest.insert(
            at,
            SlowRequest {
                target: target.target.clone(),
                step: step.map(|step| step.name.clone()).unwrap_or_default(),
                latency_us,
                trace_id: request.context.trace(),
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::TraceContext;
    use std::time::Duration;

    #[test]
    fn the_slowest_measured_requests_are_named() {
        let target = Arc::new(super::super::tests::loaded());
        let mut spans = Spans::default();
        spans.go_to("http://a");
        let request = |phase, ms: u64, end| TracedRequest {
            step: 0,
            phase,
            context: TraceContext { trace_id: [ms as u8; 16], span_id: [1; 8] },
            sent_unix_ns: 0,
            delay: Duration::from_millis(1),
            first_byte: None,
            took: Duration::from_millis(ms - 1),
            status: None,
            resent: false,
            end,
        };
        let answered = |ms| (0, request(Phase::Hold, ms, TracedEnd::Answered));
        let others = [
            (0, request(Phase::Warmup, 90, TracedEnd::Answered)),
            (0, request(Phase::Tail, 91, TracedEnd::Answered)),
            (0, request(Phase::Hold, 92, TracedEnd::CutOff)),
        ];
        for all in [[20, 31, 25], [40, 7, 33], [50, 51, 52], [10, 11, 12]] {
            let requests = all.map(answered).into_iter().chain(others.clone()).collect();
            spans.add(&target, 1, Traced { requests, lost: 1, untraced: 2 });
        }
        let record = spans.record().unwrap();
        let slowest = record.slowest.iter().map(|it| it.latency_us / 1_000);
        assert_eq!(slowest.collect::<Vec<_>>(), [52, 51, 50, 40, 33, 31, 25, 20, 12, 11]);
        assert_eq!((record.traced, record.untraced), (28, 8));
        let SlowRequest { target, step, trace_id, .. } = &record.slowest[0];
        assert_eq!((target.as_str(), step.as_str()), ("sanic \"a\"", "pay"));
        assert_eq!(*trace_id, "34".repeat(16));
        assert_eq!(spans.take(20).len(), 20);
        assert_eq!(spans.take(20).len(), 4);
    }
}
