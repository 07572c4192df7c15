//! Tells telemetry about an experiment.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::planned_load::LoadOfRound;
use crate::engine::Plan;
use crate::experiment::control::Control;
use crate::experiment::observe::{Begun, Event, Observe};
use crate::lab::UsageTeller;
use crate::record::StoppedEarly;
use crate::report::telemetry::{Loaded, LoadedStep, TelemetryTeller};
use crate::scenario::{Action, Model, ServerUrl, Step};

/// Observer that tells telemetry about an experiment.
pub(super) struct TelemetryObserver {
    teller: TelemetryTeller,
    control: Control,
    load: LoadOfRound,
    /// Whether the servers run already, whose ports stay the same.
    is_running: bool,
}

impl TelemetryObserver {
    /// Creates an observer whose load `control` may change. `is_running` tells whether the servers run already.
    pub(super) fn new(teller: TelemetryTeller, control: &Control, is_running: bool) -> Self {
        Self { teller, control: control.clone(), load: LoadOfRound::default(), is_running }
    }
}

impl Observe for TelemetryObserver {
    fn observe(&mut self, event: &mut Event<'_>) -> ControlFlow<StoppedEarly> {
        let teller = &mut self.teller;
        match event {
            Event::Joined(roster) => teller.joined(roster),
            Event::RoundBegan(Begun { name, number, plan, .. }) => {
                teller.round(loaded(name, plan, self.is_running), *number);
                self.load.begin(plan);
            }
            Event::LoadStarted(start) => self.load.start(*start),
            Event::Snapshot(worker, snapshot, _) => teller.count(*worker, snapshot),
            Event::Tick(..) => {
                if let Some(load) = self.load.now(&self.control) {
                    teller.tick(load);
                }
            }
            Event::Lost(lost) => teller.lost(lost.worker),
            Event::LoadEnded(_) => teller.round_over(),
            Event::Phase(_)
            | Event::Step(_)
            | Event::Note(_)
            | Event::Expected(..)
            | Event::Profiled(..)
            | Event::ProfilesOver(_)
            | Event::RoundOver(..) => {}
        }
        ControlFlow::Continue(())
    }

    fn usage_teller(&self) -> Option<UsageTeller> {
        Some(Arc::new(self.teller.usage()))
    }
}

/// Describes a target, and what is sent to it.
fn loaded(target: &str, plan: &Plan, is_running: bool) -> Loaded {
    let scenario = &plan.scenario;
    // The plan was made from a URL that was parsed.
    let server = plan.server().ok();
    let url = server.filter(|ServerUrl { socket, .. }| socket.is_none()).map(|server| server.url);
    let flows = scenario.flows.iter().filter(|_| scenario.measures_iterations());
    Loaded {
        scenario: scenario.name.clone(),
        target: target.to_owned(),
        address: url.as_ref().and_then(|url| url.host_str()).map(str::to_owned),
        port: url.filter(|_| is_running).and_then(|url| url.port_or_known_default()),
        has_warmup: !plan.warmup.is_zero(),
        has_ramp_up: !plan.ramp_up().is_zero(),
        is_open: matches!(scenario.load.model, Model::Open(_)),
        steps: scenario.steps.iter().map(step).collect(),
        flows: flows.map(|flow| flow.name.clone()).collect(),
    }
}

fn step(step: &Step) -> LoadedStep {
    let method = match step.action {
        Action::Request | Action::Call | Action::Connect => Some(step.method.to_string()),
        Action::Send { .. } | Action::Receive | Action::Close => None,
    };
    let counters = step.counters.iter().map(|counter| counter.name.clone());
    LoadedStep { name: step.name.clone(), method, counters: counters.collect() }
}
