//! Counts requests while a round runs.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::counts::Counts;
use super::lock::lock;
use super::outcome::{Ending, Outcome};
use super::series::{Interval, Place, Snapshot, merge_steps};
use super::timeline::{Phase, Timeline};
use super::traces::{TraceContext, Traces};

/// Counts requests while a round runs. Threads do not contend for locks: each thread has a separate
/// shard, whose lock is otherwise taken only once a second, to drain the shard.
pub struct Recorder {
    timeline: Timeline,
    /// End of each stage of the load but the last.
    stages: Vec<Instant>,
    steps: usize,
    flows: usize,
    shards: Box<[Mutex<Vec<Interval>>]>,
    drained: AtomicUsize,
    traces: Traces,
}

impl Recorder {
    /// Creates a recorder for `steps` steps and for iterations of `flows` flows; zero if iterations
    /// are not measured. Up to `threads` threads record without contention;
    /// more threads share shards.
    #[must_use]
    pub fn new(timeline: Timeline, steps: usize, flows: usize, threads: usize) -> Self {
        let shards = (0..threads.max(1)).map(|_| Mutex::default()).collect();
        let stages = Vec::new();
        let drained = AtomicUsize::new(0);
        Self { timeline, stages, steps, flows, shards, drained, traces: Traces::new() }
    }

    /// Divides the round into the stages of a load. `ends` are the ends of all stages but the last,
    /// counted from the end of the warm-up, in ascending order.
    #[must_use]
    pub fn with_stages(self, ends: impl IntoIterator<Item = Duration>) -> Self {
        let measured = self.timeline.measured;
        Self { stages: ends.into_iter().map(|end| measured + end).collect(), ..self }
    }

    /// Returns the round's timeline, which assigns each request to a phase and a second.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Counts one request. A request that ended after the end of the round counts as cancelled,
    /// regardless of the result. The values of such a request's counters are kept, because counters
    /// show what the server did.
    pub fn record(&self, outcome: &Outcome<'_>) {
        let (phase, second) = self.timeline.place(outcome.counted, outcome.done);
        let ending = if phase == Phase::Tail { Ending::Cancelled } else { outcome.ending };
        let place = Place { phase, second, stage: self.stage(outcome.done) };
        self.interval(&mut self.shard(), place).steps[outcome.step].record(outcome, ending);
    }

    /// Counts one iteration, as [`record`](Self::record) counts a request. The index of the outcome's
    /// step is that of the flow. Does nothing if iterations are not measured.
    pub fn record_iteration(&self, outcome: &Outcome<'_>) {
        if self.flows == 0 {
            return;
        }
        let (phase, second) = self.timeline.place(outcome.counted, outcome.done);
        let ending = if phase == Phase::Tail { Ending::Cancelled } else { outcome.ending };
        let place = Place { phase, second, stage: self.stage(outcome.done) };
        self.interval(&mut self.shard(), place).flows[outcome.step].record(outcome, ending);
    }

    /// Counts a request of a stop step, which a user sends once after its last iteration. Such
    /// requests are counted separately from all others, at any end time.
    pub fn record_stop(&self, outcome: &Outcome<'_>) {
        let second = self.timeline.second(outcome.done);
        let place = Place { phase: Phase::Stop, second, stage: self.stage(outcome.done) };
        self.interval(&mut self.shard(), place).steps[outcome.step].record(outcome, outcome.ending);
    }

    /// Returns whether another request may be traced: see [`Traces`].
    pub fn may_trace(&self) -> bool {
        self.traces.may_begin()
    }

    /// Keeps a request that was counted and traced. `status` is that of its response; `is_stop` tells whether it is of
    /// a stop step.
    pub fn keep_traced(
        &self,
        outcome: &Outcome<'_>,
        context: TraceContext,
        status: Option<u16>,
        is_stop: bool,
    ) {
        let phase = match is_stop {
            true => Phase::Stop,
            false => self.timeline.place(outcome.counted, outcome.done).0,
        };
        self.traces.keep(outcome, phase, context, status);
    }

    /// Counts a planned request of `step` that was not sent, because no user was free.
    pub fn unsent(&self, step: usize, counted: bool, planned: Instant) {
        let (phase, second) = self.timeline.place(counted, planned);
        let place = Place { phase, second, stage: self.stage(planned) };
        self.interval(&mut self.shard(), place).steps[step].unsent += 1;
    }

    /// Returns the number of the stage in which `at` lies, counted from 0.
    fn stage(&self, at: Instant) -> u32 {
        // A load has few stages, and most loads have none.
        self.stages.partition_point(|end| *end <= at) as u32
    }

    /// Returns the interval at a place in a shard, and creates the interval if necessary. The interval
    /// is nearly always the last one of the shard.
    fn interval<'a>(&self, shard: &'a mut Vec<Interval>, place: Place) -> &'a mut Interval {
        let at = shard.iter().rposition(|interval| interval.place() == place);
        let at = at.unwrap_or_else(|| {
            let none = |count| vec![Counts::default(); count];
            shard.push(Interval::at(place, none(self.steps), none(self.flows)));
            shard.len() - 1
        });
        &mut shard[at]
    }

    /// Locks the shard of the calling thread.
    fn shard(&self) -> MutexGuard<'_, Vec<Interval>> {
        lock(&self.shards[thread_number() % self.shards.len()])
    }

    /// Removes the counts of the warm-up and of each second that was over at `now`, and returns the
    /// counts as the next snapshot. Requests recorded after the drain of their second are part of a
    /// later snapshot.
    pub fn drain(&self, now: Instant) -> Snapshot {
        let current = self.timeline.second(now);
        self.take(|interval| interval.phase == Phase::Warmup || interval.second < current)
    }

    /// Removes all remaining counts and returns the counts as the last snapshot.
    pub fn finish(&self) -> Snapshot {
        self.take(|_| true)
    }

    fn take(&self, ready: impl Fn(&Interval) -> bool) -> Snapshot {
        let mut merged: BTreeMap<Place, [Vec<Counts>; 2]> = BTreeMap::new();
        for shard in &self.shards {
            let taken: Vec<Interval> = lock(shard).extract_if(.., |i| ready(i)).collect();
            for interval in taken {
                let [steps, flows] = merged.entry(interval.place()).or_default();
                merge_steps(steps, &interval.steps);
                merge_steps(flows, &interval.flows);
            }
        }
        let intervals = merged.into_iter();
        let number = self.drained.fetch_add(1, Ordering::Relaxed);
        Snapshot {
            number: u32::try_from(number).unwrap_or(u32::MAX),
            intervals: intervals
                .map(|(place, [steps, flows])| Interval::at(place, steps, flows))
                .collect(),
            traced: self.traces.take(),
            over_limit: self.traces.take_over_limit(),
        }
    }
}

/// Returns the number of the calling thread, assigned at the thread's first request and counted
/// from 0.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static NUMBER: Cell<Option<usize>> = const { Cell::new(None) });
    NUMBER.with(|number| {
        number.get().unwrap_or_else(|| {
            let new = NEXT.fetch_add(1, Ordering::Relaxed);
            number.set(Some(new));
            new
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::outcome::ErrorKind;
    use super::*;
    use std::time::Duration;

    const MS: Duration = Duration::from_millis(1);

    fn recorder() -> (Instant, Recorder) {
        let start = Instant::now();
        let timeline = Timeline { measured: start, full: start, end: Some(start + 3_000 * MS) };
        (start, Recorder::new(timeline, 2, 1, 2))
    }

    fn outcome(step: usize, planned: Instant, done: Instant, ending: Ending<'_>) -> Outcome<'_> {
        Outcome {
            step,
            counted: true,
            planned,
            sent: None,
            first_byte: None,
            done,
            bytes: 10,
            resent: false,
            ending,
            stream: None,
            counters: &[],
        }
    }

    #[test]
    fn each_request_is_counted_in_exactly_one_place() {
        let (start, recorder) = recorder();
        let done = start + 5 * MS;
        recorder.record(&outcome(0, start, done, Ending::Answered));
        recorder.record(&outcome(1, start, done, Ending::Failed(ErrorKind::Status, "got 500")));
        recorder.record(&outcome(1, start, done, Ending::Cancelled));
        let steps = &recorder.finish().intervals[0].steps;
        assert_eq!((steps[0].requests(), steps[0].failures(), steps[0].cancelled), (1, 0, 0));
        assert_eq!((steps[1].requests(), steps[1].failures(), steps[1].cancelled), (1, 1, 1));
        assert_eq!(steps[1].examples[&ErrorKind::Status], "got 500");
        assert!(steps[1].answered.is_empty(), "a failure is no answer");
    }

    #[test]
    fn iterations_are_counted_beside_requests() {
        let (start, recorder) = recorder();
        recorder.record(&outcome(1, start, start + 5 * MS, Ending::Answered));
        recorder.record_iteration(&outcome(0, start, start + 9 * MS, Ending::Answered));
        let late = outcome(0, start, start + 3_001 * MS, Ending::Failed(ErrorKind::Timeout, ""));
        recorder.record_iteration(&late);
        let intervals = recorder.finish().intervals;
        assert_eq!(intervals[0].steps[1].answered.max(), Some(5_003));
        assert_eq!(intervals[0].flows[0].answered.max(), Some(9_007));
        let cut = &intervals[1].flows[0];
        assert_eq!((cut.requests(), cut.cancelled, cut.unanswered), (0, 1, 1));
    }

    #[test]
    fn an_answer_after_the_end_is_cancelled_and_its_counters_kept() {
        let (start, recorder) = recorder();
        let late =
            Outcome { counters: &[7], ..outcome(0, start, start + 3_001 * MS, Ending::Answered) };
        recorder.record(&late);
        let interval = recorder.finish().intervals.remove(0);
        assert_eq!(interval.phase, Phase::Tail);
        assert_eq!(interval.steps[0].requests(), 0);
        assert_eq!((interval.steps[0].cancelled, interval.steps[0].counters[0]), (1, 7));
    }

    #[test]
    fn requests_of_the_stop_are_counted_separately() {
        let (start, recorder) = recorder();
        for (ms, ending) in [
            (2_000, Ending::Answered),
            (3_500, Ending::Failed(ErrorKind::Status, "got 500")),
            (3_900, Ending::Cancelled),
        ] {
            recorder.record_stop(&outcome(1, start, start + ms * MS, ending));
        }
        let intervals = recorder.finish().intervals;
        assert!(intervals.iter().all(|interval| interval.phase == Phase::Stop));
        let steps = intervals.into_iter().map(|mut interval| interval.steps.remove(1));
        let counts = steps.map(|step| (step.requests(), step.failures(), step.cancelled));
        assert_eq!(counts.collect::<Vec<_>>(), [(1, 0, 0), (1, 1, 1)]);
    }

    #[test]
    fn a_stage_may_end_within_a_second() {
        let (start, recorder) = recorder();
        let recorder = recorder.with_stages([1_500 * MS, 1_500 * MS, 2_000 * MS]);
        for ms in [1_000, 1_499, 1_500, 1_999, 2_000, 2_999, 3_001] {
            recorder.record(&outcome(0, start, start + ms * MS, Ending::Answered));
        }
        recorder.unsent(0, true, start + 1_400 * MS);
        let intervals = recorder.finish().intervals;
        let counted = intervals.iter().map(|interval| {
            let step = &interval.steps[0];
            (interval.second, interval.stage, step.requests(), step.unsent + step.cancelled)
        });
        assert_eq!(
            counted.collect::<Vec<_>>(),
            [(1, 0, 2, 1), (1, 2, 2, 0), (2, 3, 2, 0), (3, 3, 0, 1)]
        );
    }

    #[test]
    fn traced_requests_come_with_the_next_snapshot() {
        let (start, recorder) = recorder();
        let context = TraceContext { trace_id: [1; 16], span_id: [2; 8] };
        assert!(recorder.may_trace());
        let cut = outcome(0, start, start + 3_001 * MS, Ending::Answered);
        recorder.keep_traced(&cut, context, Some(200), false);
        recorder.keep_traced(&cut, context, Some(200), true);
        let traced = recorder.drain(start).traced;
        let phases: Vec<Phase> = traced.iter().map(|request| request.phase).collect();
        assert_eq!(phases, [Phase::Tail, Phase::Stop]);
        assert_eq!(recorder.finish().traced, []);
    }

    #[test]
    fn the_recorder_drains_numbered_whole_seconds() {
        let (start, recorder) = recorder();
        recorder.record(&outcome(0, start, start + 999 * MS, Ending::Answered));
        recorder.record(&outcome(0, start, start + 1_001 * MS, Ending::Answered));
        let first = recorder.drain(start + 1_010 * MS);
        assert_eq!((first.number, first.intervals.len(), first.intervals[0].second), (0, 1, 0));
        let last = recorder.finish();
        assert_eq!((last.number, last.intervals.len(), last.intervals[0].second), (1, 1, 1));
    }
}
