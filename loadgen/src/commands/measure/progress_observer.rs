//! Shows an experiment on the terminal and the live page.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::planned_load::LoadOfRound;
use crate::cluster::OnLoss;
use crate::engine::{LostWorker, Plan};
use crate::experiment::control::Control;
use crate::experiment::observe::{Begun, Event, Observe};
use crate::lab::UsageTeller;
use crate::measure::Timeline;
use crate::record::StoppedEarly;
use crate::report::Progress;
use crate::scenario::{ITERATION, Scenario};

/// Observer that shows an experiment on the terminal and the live page.
pub(super) struct ProgressObserver<'a> {
    progress: &'a mut Progress,
    /// Control through which a user may change the load.
    control: Control,
    /// Reaction to the loss of a worker.
    on_loss: OnLoss,
    /// Whether the live view opens after the wait for workers. Until then, plain lines let the user
    /// copy the command for each host.
    live_with_workers: bool,
    load: LoadOfRound,
    round: Option<Round>,
}

/// Lengths of the round in progress.
struct Round {
    warmup: Duration,
    ramp_up: Duration,
    length: Option<Duration>,
}

impl<'a> ProgressObserver<'a> {
    /// Creates an observer that shows an experiment through `progress`.
    pub(super) fn new(progress: &'a mut Progress, control: &Control, on_loss: OnLoss) -> Self {
        let (control, load) = (control.clone(), LoadOfRound::default());
        Self { progress, control, on_loss, live_with_workers: false, load, round: None }
    }

    /// Returns the observer; if `is_live`, the live view opens after the wait for workers.
    pub(super) fn live_with_workers(self, is_live: bool) -> Self {
        Self { live_with_workers: is_live, ..self }
    }
}

impl Round {
    fn new(plan: &Plan) -> Self {
        Self { warmup: plan.warmup, ramp_up: plan.ramp_up(), length: plan.length() }
    }

    fn timeline(&self, start: Instant) -> Timeline {
        let measured = start + self.warmup;
        let end = self.length.map(|length| start + length);
        Timeline { measured, full: measured + self.ramp_up, end }
    }
}

impl Observe for ProgressObserver<'_> {
    fn observe(&mut self, event: &mut Event<'_>) -> ControlFlow<StoppedEarly> {
        let progress = &mut *self.progress;
        match event {
            Event::Phase(what) => progress.phase(what),
            Event::Step(what) => progress.step(what),
            Event::Note(what) => progress.note(what),
            Event::Joined(roster) => {
                if std::mem::take(&mut self.live_with_workers) {
                    progress.show_live(true);
                }
                progress.joined(std::mem::take(roster));
            }
            Event::Expected(rounds, each) => progress.expect(*rounds, *each),
            Event::RoundBegan(Begun { name, plan, .. }) => {
                progress.round_started(name, &rows(&plan.scenario));
                self.round = Some(Round::new(plan));
                self.load.begin(plan);
            }
            Event::LoadStarted(start) => {
                self.load.start(*start);
                if let Some(round) = &self.round {
                    progress.load_started(round.timeline(*start));
                }
            }
            Event::Snapshot(worker, snapshot, results) => {
                progress.snapshot(*worker, snapshot, results);
            }
            Event::Tick(results, _) => {
                if let Some(load) = self.load.now(&self.control) {
                    progress.tick(load, results);
                }
            }
            Event::Complete(results) => progress.complete(results),
            Event::Lost(lost) => {
                progress.lost(lost.worker);
                progress.note(&note(lost, self.on_loss));
            }
            Event::LoadEnded(rate_per_s) => progress.round_finished(*rate_per_s),
            Event::Profiled(..) | Event::ProfilesOver(..) | Event::RoundOver(..) => {}
        }
        ControlFlow::Continue(())
    }

    fn usage_teller(&self) -> Option<UsageTeller> {
        self.progress.usage_teller()
    }
}

/// Describes the loss of a worker, and whether the run continues.
fn note(lost: &LostWorker, on_loss: OnLoss) -> String {
    match on_loss {
        OnLoss::Fail => format!("  {lost}; the run ends"),
        OnLoss::Continue | OnLoss::Redistribute => {
            format!("  {lost}; the other workers continue")
        }
    }
}

/// Returns the names of the steps and the flows, as the live view shows them.
fn rows(scenario: &Scenario) -> Vec<String> {
    let steps = scenario.steps.iter().map(|step| step.name.clone());
    let flows = scenario.flows.iter().filter(|_| scenario.measures_iterations());
    let flows = flows.map(|flow| match flow.name.as_str() {
        ITERATION => ITERATION.to_owned(),
        name => format!("{name} (flow)"),
    });
    steps.chain(flows).collect()
}
