//! Spans: requests that were traced, and that wait for being sent to a collector.

use std::collections::VecDeque;
use std::sync::Arc;

use super::told::{Loaded, Traced};
use crate::measure::{Phase, TracedEnd, TracedRequest};
use crate::record::{SlowRequest, SpansRecord};

/// Most spans that wait. Further ones are dropped, with a count.
const ROOM: usize = 10_000;

/// Most slow requests of each target that are named in the record.
const MOST_SLOW: usize = 3;

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

    /// Adds the traced requests of a round. Those of steps that the scenario does not have, from a foreign worker, are
    /// no one's.
    pub(super) fn add(&mut self, target: &Arc<Loaded>, round: u32, traced: Traced) {
        let Some(record) = &mut self.record else { return };
        let Traced { mut requests, dropped, over_limit } = traced;
        requests.retain(|(_, request)| target.steps.get(request.step as usize).is_some());
        let room = ROOM.saturating_sub(self.waiting.len());
        let more = requests.len().saturating_sub(room) as u64;
        for (sum, more) in [
            (&mut record.traced, (requests.len() as u64).saturating_add(dropped)),
            (&mut record.dropped, dropped.saturating_add(more)),
            (&mut record.over_limit, over_limit),
        ] {
            *sum = sum.saturating_add(more);
        }
        requests.iter().for_each(|(_, request)| note(&mut record.slowest, target, request));
        let span = |(worker, request)| Span { target: target.clone(), round, worker, request };
        self.waiting.extend(requests.into_iter().take(room).map(span));
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

/// Keeps a request if it is among the slowest of its target that count in the latencies of a report.
fn note(slowest: &mut Vec<SlowRequest>, target: &Loaded, request: &TracedRequest) {
    if request.phase != Phase::Hold || request.end != TracedEnd::Answered {
        return;
    }
    let Some(step) = target.steps.get(request.step as usize) else { return };
    let latency = request.delay.saturating_add(request.took);
    let slow = SlowRequest {
        group: target.group.clone(),
        target: target.target.clone(),
        step: step.name.clone(),
        latency_us: u64::try_from(latency.as_micros()).unwrap_or(u64::MAX),
        trace_id: request.context.trace_id_text(),
    };
    let at = slowest.partition_point(|other| other.latency_us >= slow.latency_us);
    let is_like =
        |other: &SlowRequest| (&other.group, &other.target) == (&slow.group, &slow.target);
    if slowest[..at].iter().filter(|other| is_like(other)).count() >= MOST_SLOW {
        return;
    }
    let last = slowest.iter().rposition(is_like);
    let is_full = slowest.iter().filter(|other| is_like(other)).count() >= MOST_SLOW;
    if let Some(last) = last.filter(|_| is_full) {
        slowest.remove(last);
    }
    slowest.insert(at, slow);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::TraceContext;
    use crate::report::telemetry::tests::loaded;
    use std::time::Duration;

    fn request(phase: Phase, ms: u64, end: TracedEnd) -> (u32, TracedRequest) {
        let request = TracedRequest {
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
        (0, request)
    }

    #[test]
    fn the_slowest_of_each_target_are_named() {
        let [one, other] =
            ["one", "other"].map(|name| Arc::new(Loaded { target: name.to_owned(), ..loaded() }));
        let mut spans = Spans::default();
        spans.go_to("http://a");
        let failed = TracedEnd::Failed(crate::measure::ErrorKind::Timeout);
        let others = [
            request(Phase::Warmup, 90, TracedEnd::Answered),
            request(Phase::RampUp, 91, TracedEnd::Answered),
            request(Phase::Hold, 92, TracedEnd::CutOff),
            request(Phase::Hold, 93, failed),
        ];
        let mut add = |target, all: &[u64]| {
            let answered = all.iter().map(|ms| request(Phase::Hold, *ms, TracedEnd::Answered));
            let requests = answered.chain(others.clone()).collect();
            spans.add(target, 1, Traced { requests, dropped: 1, over_limit: 2 });
        };
        add(&one, &[20, 31, 25, 40]);
        add(&other, &[3, 2, 4, 1]);
        add(&one, &[7, 33, 50, 9]);
        let record = spans.record().unwrap();
        let slowest = record.slowest.iter().map(|it| it.latency_us / 1_000);
        assert_eq!(slowest.collect::<Vec<_>>(), [50, 40, 33, 4, 3, 2]);
        assert_eq!((record.traced, record.dropped, record.over_limit), (27, 3, 6));
        let SlowRequest { target, step, trace_id, .. } = &record.slowest[0];
        assert_eq!((target.as_str(), step.as_str()), ("one", "pay"));
        assert_eq!(*trace_id, "32".repeat(16));
        assert_eq!((spans.take(20).len(), spans.take(20).len()), (20, 4));
    }

    #[test]
    fn hostile_requests_and_too_many_change_nothing_else() {
        let target = Arc::new(loaded());
        let mut spans = Spans::default();
        spans.go_to("http://a");
        let (_, ordinary) = request(Phase::Hold, 5, TracedEnd::Answered);
        let strange = TracedRequest { step: 9, ..ordinary.clone() };
        let endless =
            TracedRequest { delay: Duration::MAX, took: Duration::MAX, ..ordinary.clone() };
        let requests = vec![(7, strange), (7, endless)];
        spans.add(&target, 1, Traced { requests, ..Traced::default() });
        assert_eq!(spans.record().unwrap().slowest[0].latency_us, u64::MAX);
        let requests = vec![(0, ordinary); ROOM + 5];
        spans.add(&target, 1, Traced { requests, ..Traced::default() });
        let record = spans.record().unwrap();
        assert_eq!((record.traced, record.dropped), (ROOM as u64 + 6, 6));
        assert_eq!(spans.take(usize::MAX).len(), ROOM);
    }
}
