//! Tells telemetry about an experiment.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::planned_load::LoadOfRound;
use crate::experiment::control::Control;
use crate::experiment::job::{Job, Method};
use crate::experiment::observe::{Begun, Event, Observe};
use crate::experiment::subject::Subject;
use crate::lab::UsageTeller;
use crate::record::StoppedEarly;
use crate::report::telemetry::{Loaded, LoadedStep, TelemetryTeller};
use crate::scenario::{Action, Model, ServerUrl, Step};

/// Observer that tells telemetry about an experiment.
pub(super) struct TelemetryObserver {
    teller: TelemetryTeller,
    control: Control,
    load: LoadOfRound,
    servers: Servers,
}

/// What is known of the addresses of the servers under load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Servers {
    /// loadgen starts them, each at a port of the moment.
    Started,
    /// They run already, and are loaded one after another.
    Running,
    /// They run already, and two are loaded at the same time, whose results are told together.
    RunningTogether,
}

impl Servers {
    pub(super) fn of(job: &Job) -> Self {
        match (&job.subject, job.method) {
            (Subject::Lab { .. }, _) => Self::Started,
            (Subject::Running(_), Method::Duets) => Self::RunningTogether,
            (Subject::Running(_), _) => Self::Running,
        }
    }
}

impl TelemetryObserver {
    /// Creates an observer whose load `control` may change.
    pub(super) fn new(teller: TelemetryTeller, control: &Control, servers: Servers) -> Self {
        Self { teller, control: control.clone(), load: LoadOfRound::default(), servers }
    }
}

impl Observe for TelemetryObserver {
    fn observe(&mut self, event: &mut Event<'_>) -> ControlFlow<StoppedEarly> {
        let teller = &mut self.teller;
        match event {
            Event::Joined(roster) => teller.joined(roster),
            Event::RoundBegan(begun) => {
                teller.round(loaded(begun, self.servers), begun.number);
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
            | Event::RoundOver(..) => {}
        }
        ControlFlow::Continue(())
    }

    fn usage_teller(&self) -> Option<UsageTeller> {
        Some(Arc::new(self.teller.usage()))
    }
}

/// Describes a target, and what is sent to it.
fn loaded(begun: &Begun<'_>, servers: Servers) -> Loaded {
    let plan = begun.plan;
    let scenario = &plan.scenario;
    // The plan was made from a URL that was parsed.
    let server = plan.server().ok().filter(|_| servers != Servers::RunningTogether);
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
        port: url
            .filter(|_| servers == Servers::Running)
            .and_then(|url| url.port_or_known_default()),
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
