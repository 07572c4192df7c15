//! Holds the results of a run, before they are summed up.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engine::{LostWorker, Results};
use crate::failure::Failure;
use crate::lab::Observed;
use crate::measure::{Counts, Phase, PostgresActivity, Series, Stacks};
use crate::record::{
    AccountRecord, BackendAloneRecord, Calibration, ResumedRecord, SliceRecord, StoppedEarly,
};

/// Results of one round over one contender.
///
/// Serialized for a manager that resumes the run, which reads it with the same build.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredRound {
    /// Index of the measured contender in the job's list of contenders.
    pub contender: usize,
    /// Number of the round, counted from 1.
    pub number: u32,
    /// Base URL of the target.
    pub url: String,
    /// Number of users planned.
    pub users: u32,
    /// Time for which the full load was held.
    pub held: Duration,
    /// Results that the load generator measured.
    pub results: Results,
    /// Results that the probe measured beside the load; `None` without a probe.
    pub probe: Option<Results>,
    /// Resources that each service used while the full load was held.
    pub observed: Observed,
    /// Counter values in the answers to the verification, for each step and each of its counters.
    pub verified: Vec<Vec<u64>>,
    /// Number of requests of the verification that did not get the expected answer.
    pub failed: u64,
    /// Keys of the JSON objects in the answers to the verification, for each step, sorted; `None`
    /// for an answer that is no JSON object.
    pub json_keys: Vec<Option<Vec<String>>>,
    /// Backends' answers to the scenario's proof questions after the round, in the order of the
    /// questions. Empty if the round is not `whole`, or if loadgen started no backends.
    pub answers: Vec<i64>,
    /// What PostgreSQL did in the round, from the filled table to the end of the target; `None` if
    /// loadgen did not start PostgreSQL or could not read its statistics.
    pub postgres: Option<PostgresActivity>,
    /// Number of responses of each replica of the target, from the end of the verification to the
    /// end of the round; empty without replicas, and if a service ended by itself.
    pub responses: Vec<u64>,
    /// Number of bytes that the target wrote to its log from the verification to the end of the load; `None` for a
    /// server that loadgen did not start.
    pub logged: Option<u64>,
    /// The contender that was loaded at the same time; `None` if the contender was alone.
    pub partner: Option<Partner>,
    /// Place among the slices of a start; `None` if the round had a start of its own.
    pub slice: Option<SliceRecord>,
    /// Ends of all planned requests, if results of workers are missing and the number of planned requests is known.
    pub account: Option<AccountRecord>,
    /// Whether the round reached its planned end with exactly the planned load.
    pub whole: bool,
    /// Whether an interruption, or an observer that ended the run, may have cut the round off.
    pub cut: bool,
    /// Error of a target or a backend that ended by itself during the round, if any. No result measured
    /// with such a service can be trusted.
    pub ended: Option<String>,
}

impl MeasuredRound {
    /// Returns the number of users at the end of the round: the planned users without those of lost workers that no
    /// other worker took over.
    pub fn users_achieved(&self) -> u32 {
        self.users.saturating_sub(self.results.users_lost)
    }

    /// Returns the counts of this phase of all requests that reached the target, by step: those of the
    /// load, and those of the probe.
    pub fn sent(&self, phase: Phase) -> impl Iterator<Item = Counts> {
        let of_probe = self.probe.iter().flat_map(move |probe| probe.series.phase(phase));
        self.results.series.phase(phase).into_iter().chain(of_probe)
    }

    /// Returns whether the round had a start of its own, or is in the last slice of a start.
    pub fn ends_start(&self) -> bool {
        self.slice.is_none_or(|slice| slice.number == slice.of)
    }
}

/// The other contender of a duet, as a round saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partner {
    /// Index of the other contender in the job's list of contenders.
    pub contender: usize,
    /// Number of the other contender's successful answers while the full load was held.
    pub answered: u64,
    /// Whether the other contender was started first.
    pub is_first: bool,
}

/// Result of one profiling round over one contender.
#[derive(Debug)]
pub struct Profiled {
    /// Index of the contender in the job's list of contenders.
    pub contender: usize,
    /// Stacks of its threads, or why there are none.
    pub stacks: Result<Stacks, String>,
}

/// Start of a run that another manager began, and the resumptions since.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// Start of the run, as in its record.
    pub started: String,
    /// Command line of the run, as in its record.
    pub command: Vec<String>,
    /// Resumptions, in their order.
    pub resumed: Vec<ResumedRecord>,
    /// Workers that earlier managers lost in rounds, in the order of the losses.
    pub lost: Vec<EarlierLoss>,
}

/// A worker that an earlier manager lost in a round, which may have been measured again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EarlierLoss {
    /// Number of resumptions before it.
    pub resumptions: usize,
    /// Number of the round.
    pub round: u32,
    /// Index of the contender in the job's list of contenders.
    pub contender: usize,
    /// Host of the worker; `None` for a process of the manager.
    pub host: Option<String>,
    /// The loss.
    pub lost: LostWorker,
}

/// Results of a run.
#[derive(Debug, Default)]
pub struct Measured {
    /// Rounds, in the order in which they ran.
    pub rounds: Vec<MeasuredRound>,
    /// Profiling rounds, in the order in which they ran.
    pub profiles: Vec<Profiled>,
    /// Number of the last round of each stage, the stage in progress included, if the number of rounds is
    /// decided during the run; empty for a fixed number.
    pub stages: Vec<u32>,
    /// Number of rounds over each contender if the experiment decides on it; `None` for that of the job.
    pub rounds_planned: Option<u32>,
    /// Time that the rounds took, with starts and stops.
    pub took: Duration,
    /// Number of workers that shared the load; 0 if this process generated the load.
    pub workers: u32,
    /// Versions of the backends that ran, by name.
    pub backends: BTreeMap<String, String>,
    /// Maximum rate of the generator, if known.
    pub calibration: Option<Calibration>,
    /// Measurement of a backend alone, before the rounds, if an experiment asks for it.
    pub backend_alone: Option<BackendAloneRecord>,
    /// Start of the run under an earlier manager; `None` for a run of this process alone.
    pub earlier: Option<Earlier>,
    /// Error that ended the run early, if any.
    pub failure: Option<Failure>,
    /// Threshold that ended the run early, if any.
    pub stopped_early: Option<StoppedEarly>,
}

/// Returns the counts of requests while the full load was held, by step.
pub fn held(series: &Series) -> Vec<Counts> {
    series.phase(Phase::Hold)
}
