//! Holds the run record: the document that `--format json` prints and `run.json` keeps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::backend_alone::BackendAloneRecord;
use super::comparison::Comparison;
use super::degraded::Degraded;
use super::duet::DuetRecord;
use super::environment::Environment;
use super::gate::GateRecord;
use super::load::LoadRecord;
use super::precision::PrecisionRecord;
use super::saved_as::SavedAs;
use super::scaling::ScalingRecord;
use super::sent::SentRecord;
use super::slices::SlicesRecord;
use super::target::TargetRecord;
use super::threshold::ThresholdRecord;
use super::verdict::Verdict;

/// The saved result of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Name and version of this document's format: always [`RunRecord::SCHEMA`].
    pub schema: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Start of the run, in UTC (RFC 3339).
    pub started: String,
    /// Seed of the generated data and of the order of the targets in each round.
    pub seed: u64,
    /// Command line, including the program. Empty in records of earlier versions.
    #[serde(default)]
    pub command: Vec<String>,
    /// Machine, software and limits of the run.
    pub environment: Environment,
    /// The load that each round put on its target.
    pub load: LoadRecord,
    /// Digests of the requests; `None` in records of earlier versions.
    #[serde(default)]
    pub sent: Option<SentRecord>,
    /// Targets with at least one round, in the order in which the user named the targets.
    pub targets: Vec<TargetRecord>,
    /// Targets of the scenario, or of the project, that this machine cannot run, each with the reason.
    /// Empty in records of earlier versions.
    #[serde(default)]
    pub left_out: BTreeMap<String, String>,
    /// Ranking and comparison of the targets; `None` for a single server that was already running,
    /// unless the server was compared with itself, and for a run without a whole round.
    pub comparison: Option<Comparison>,
    /// Whether the figures of duets can be compared, and how much they vary; `None` for a run without duets, and in
    /// records of earlier versions.
    #[serde(default)]
    pub duet: Option<DuetRecord>,
    /// How much slices and starts vary; `None` for a run without slices or without two compared targets,
    /// and in records of earlier versions.
    #[serde(default)]
    pub slices: Option<SlicesRecord>,
    /// Judgement of each target against the first, by `--fail-on-regression`; `None` without the option,
    /// and in records of earlier versions.
    #[serde(default)]
    pub gate: Option<GateRecord>,
    /// How many rounds `--precision` needed; `None` without the option, and in records of earlier
    /// versions.
    #[serde(default)]
    pub precision: Option<PrecisionRecord>,
    /// Result of each threshold for each target.
    pub thresholds: Vec<ThresholdRecord>,
    /// Greatest rate of the generator on this machine; `None` where the rate was not measured, or
    /// the measurement was disturbed.
    pub calibration: Option<Calibration>,
    /// Noise floor: the difference to expect between two measurements of one server. The value
    /// comes from the last earlier run that compared a server with itself on this machine, in the
    /// same runtime. `None` without such a run, and if this run compares a server with itself.
    pub noise_floor: Option<NoiseFloor>,
    /// How each target scales that was measured with at least three numbers of replicas or server
    /// workers. Empty in records of earlier versions.
    #[serde(default)]
    pub scaling: Vec<ScalingRecord>,
    /// Measurement of a backend alone, before the rounds of an experiment's group; `None` without
    /// one, and in records of earlier versions.
    #[serde(default)]
    pub backend_alone: Option<BackendAloneRecord>,
    /// Facts that a reader must know before believing the figures.
    pub verdicts: Vec<Verdict>,
    /// Reason why the result differs from the plan; `None` where the run went as planned.
    pub degraded: Option<Degraded>,
    /// Threshold that ended the run before its planned end; `None` unless `--fail-fast` ended the
    /// run.
    pub stopped_early: Option<StoppedEarly>,
    /// Whether the run was interrupted before its planned end.
    pub interrupted: bool,
}

impl SavedAs for RunRecord {
    const FILE: &str = "run.json";
    const SCHEMA: &str = "loadgen.run/1";
}

impl RunRecord {
    /// Returns whether targets were measured with several numbers of server workers or users.
    #[must_use]
    pub fn is_matrix(&self) -> bool {
        self.targets.iter().any(|target| target.name != target.target)
    }
}

/// Greatest rate of the generator, measured against a server that does no work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Answers per second that the generator received, with the workers and users of the run, but
    /// with at most 1,000 users in the closed model and 100 users in the open model.
    pub rate_per_s: f64,
    /// Whether the generator sent the scenario's own steps. In records of earlier versions, where
    /// the field is absent, the generator sent `GET /` for any scenario.
    #[serde(default)]
    pub own_steps: bool,
    /// Whether an earlier run with this build on this machine measured the rate.
    pub earlier: bool,
}

/// Difference to expect between two measurements of one server on a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseFloor {
    /// Half the width of the 95 % confidence interval of the ratio of both measurements, in %.
    pub percent: f64,
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the server.
    pub target: String,
    /// Start of the run that found the noise floor, in UTC (RFC 3339).
    pub started: String,
}

/// The first failed threshold, which ended a run with `--fail-fast`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoppedEarly {
    /// Name of the target on which the threshold failed.
    pub target: String,
    /// Number of the round in which the threshold failed, from 1.
    pub round: u32,
    /// The threshold, as written in the scenario.
    pub threshold: String,
}
