//! Counts what a user has done: its requests and its iterations.

use std::time::{Duration, Instant};

use super::User;
use loadgen_measure::{Ending, Outcome};

/// An iteration of a user, from its first request on.
pub(super) struct Iteration {
    pub flow: usize,
    pub counted: bool,
    /// Planned time of the first request, or the time of its send; `None` before the first request.
    pub begun: Option<Instant>,
    /// Think times since then.
    pub paused: Duration,
}

impl User<'_> {
    /// Counts an iteration that sent a request. Its latency leaves out the user's think times.
    pub(super) fn record_iteration(&self, iteration: &Iteration, ending: Ending<'_>) {
        let Some(begun) = iteration.begun else { return };
        self.shared.recorder.record_iteration(&Outcome {
            step: iteration.flow,
            counted: iteration.counted,
            planned: begun + iteration.paused,
            sent: None,
            first_byte: None,
            done: self.now,
            bytes: 0,
            resent: false,
            ending,
            stream: None,
            counters: &[],
        });
    }

    /// Counts a request of the step at this index, and keeps how it ended if it is traced.
    pub(super) fn record(
        &mut self,
        step: usize,
        counted: bool,
        planned: Option<Instant>,
        sent: Instant,
        bytes: u64,
        ending: Ending<'_>,
    ) {
        let outcome = Outcome {
            step,
            counted,
            planned: planned.unwrap_or(sent),
            sent: self.shared.gate.is_open().then_some(sent),
            first_byte: self.link.first_byte(&self.shared.plan.scenario.steps[step]),
            done: self.now,
            bytes,
            resent: self.link.was_sent_again(),
            ending,
            stream: self.link.stream_times(&self.shared.plan.scenario.steps[step]),
            counters: &self.counters,
        };
        let is_stop = self.alarm.has_grace();
        match is_stop {
            false => self.shared.recorder.record(&outcome),
            true => self.shared.recorder.record_stop(&outcome),
        }
        if let Some(tracer) = &mut self.tracer {
            tracer.end(&outcome, is_stop);
        }
    }
}
