//! Tells telemetry about an experiment.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::planned_load::LoadOfRound;
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
            Event::RoundBegan(begun) => {
                teller.round(loaded(begun, self.is_running), begun.number);
                self.load.begin(begun.plan);
            }
            Event::LoadStarted(start) => {
                self.load.start(*start);
                teller.load_started();
            }
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
            | Event::RoundOver(..)
            | Event::Complete(_) => {}
        }
        ControlFlow::Continue(())
    }

    fn usage_teller(&self) -> Option<UsageTeller> {
        Some(Arc::new(self.teller.usage()))
    }
}

/// Describes a target, and what is sent to it.
fn loaded(begun: &Begun<'_>, is_running: bool) -> Loaded {
    let plan = begun.plan;
    let scenario = &plan.scenario;
    // The plan was made from a URL that was parsed.
    let server = plan.server().ok();
    let url = server.filter(|ServerUrl { socket, .. }| socket.is_none()).map(|server| server.url);
    let flows = scenario.flows.iter().filter(|_| scenario.measures_iterations());
    // An address of IPv6 has brackets only in a URL.
    let host = url.as_ref().and_then(|url| url.host_str());
    let host = host.map(|host| host.trim_matches(['[', ']']).to_owned());
    Loaded {
        group: begun.group.map(str::to_owned),
        scenario: scenario.name.clone(),
        target: begun.name.to_owned(),
        address: host,
        port: url.filter(|_| is_running).and_then(|url| url.port_or_known_default()),
        has_warmup: !plan.warmup.is_zero(),
        has_ramp_up: !plan.ramp_up().is_zero(),
        is_open: matches!(scenario.load.model, Model::Open(_)),
        steps: scenario.steps.iter().map(step).collect(),
        flows: flows.map(|flow| flow.name.clone()).collect(),
    }
}

/// Methods that the semantic conventions for HTTP name.
const METHODS: [&str; 9] =
    ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"];

/// Returns a method as `http.request.method`, where others than the known ones are `_OTHER`.
fn method(name: &str) -> String {
    if METHODS.contains(&name) { name.to_owned() } else { "_OTHER".to_owned() }
}

fn step(step: &Step) -> LoadedStep {
    let method = match step.action {
        Action::Request | Action::Call | Action::Connect => Some(method(&step.method.to_string())),
        Action::Send { .. } | Action::Receive | Action::Close => None,
    };
    let counters = step.counters.iter().map(|counter| counter.name.clone());
    LoadedStep { name: step.name.clone(), method, counters: counters.collect() }
}
