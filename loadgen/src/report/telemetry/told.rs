//! Messages about a command in progress, for telemetry.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::measure::{Counts, Phase, PresentUsage, TracedRequest};
use crate::report::view::PlannedLoad;

/// Something that happened.
#[derive(Debug)]
pub(super) enum Told {
    /// A round begins, in which this target will be loaded. Holds the number of the round, counted from 1.
    Round(Arc<Loaded>, u32),
    /// The load of the round starts.
    LoadStarted,
    /// More was counted in the round. Holds also how many requests ended, by the number of the worker that sent them.
    Counted(BTreeMap<Phase, CountedRows>, BTreeMap<u32, u64>),
    /// More requests of the round were traced.
    Traced(Traced),
    /// The load that is planned for now.
    Load(PlannedLoad),
    /// The workers that send the load, with the name of the host of each that is on another.
    Joined(BTreeMap<u32, Option<String>>),
    /// A worker was lost.
    Lost(u32),
    /// What each service and the generator use now.
    Usage(BTreeMap<String, PresentUsage>),
    /// The load of the round is over.
    RoundOver,
    /// The measurement has ended, and all of it was told.
    Ended,
}

/// Counts by step and, if iterations are measured, by flow, in the order of [`Loaded`].
#[derive(Debug, Clone, Default)]
pub(super) struct CountedRows {
    /// Counts of requests, by step.
    pub steps: Vec<Counts>,
    /// Counts of iterations, by flow.
    pub flows: Vec<Counts>,
}

/// Requests that were traced.
#[derive(Debug, Default)]
pub(super) struct Traced {
    /// Each with the number of the worker that sent it.
    pub requests: Vec<(u32, TracedRequest)>,
    /// Number of further ones, which were too many to be kept.
    pub dropped: u64,
    /// Number of those that were chosen to be traced, but were not, because too many were.
    pub over_limit: u64,
}

/// A target, and what is sent to it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Loaded {
    /// Name of the group in an experiment file; `None` without one.
    pub group: Option<String>,
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the target; in a search, with the rate of the trial.
    pub target: String,
    /// Address of the server; `None` for a socket.
    pub address: Option<String>,
    /// Port of a server that runs already. One that loadgen starts has another port in each round, and would
    /// have other series.
    pub port: Option<u16>,
    /// Whether there is a warm-up before the measured load.
    pub has_warmup: bool,
    /// Whether the load ramps up before it is held.
    pub has_ramp_up: bool,
    /// Whether requests are planned for moments, in the open model.
    pub is_open: bool,
    /// Steps of the scenario.
    pub steps: Vec<LoadedStep>,
    /// Names of the flows whose iterations are measured.
    pub flows: Vec<String>,
}

/// A step of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoadedStep {
    /// Name of the step.
    pub name: String,
    /// Method of the HTTP request; `None` for a message over a WebSocket.
    pub method: Option<String>,
    /// Names of the step's counters.
    pub counters: Vec<String>,
}
