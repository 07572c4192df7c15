//! Holds the run record: the document that `--format json` prints and `run.json` keeps.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::backend_alone::BackendAloneRecord;
use super::comparison::Comparison;
use super::degraded::Degraded;
use super::duet::DuetRecord;
use super::environment::Environment;
use super::gate::GateRecord;
use super::load::LoadRecord;
use super::precision::PrecisionRecord;
use super::profile::ProfileDifference;
use super::resumed::ResumedRecord;
use super::saved_as::SavedAs;
use super::scaling::ScalingRecord;
use super::sent::SentRecord;
use super::slices::SlicesRecord;
use super::target::TargetRecord;
use super::threshold::ThresholdRecord;
use super::verdict::Verdict;

/// Name of each scenario that was made from a URL of the command line.
pub const FROM_URL: &str = "url";

/// The saved result of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// Name and version of the document's format: always `loadgen.run/1`.
    pub schema: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Start of the run.
    pub started: String,
    /// Seed of the generated data and of the order of the targets in each round.
    pub seed: u64,
    /// Command line, including the program; empty in documents of earlier versions.
    #[serde(default)]
    pub command: Vec<String>,
    /// Machine, software and limits.
    pub environment: Environment,
    /// Load of each round.
    pub load: LoadRecord,
    /// Digests of the requests; `None` in earlier versions.
    #[serde(default)]
    pub sent: Option<SentRecord>,
    /// Targets with at least one round, in the order in which the user named them.
    pub targets: Vec<TargetRecord>,
    /// Reason why a target was left out, by target: targets that the user did not name and that
    /// this machine cannot run; empty in documents of earlier versions.
    #[serde(default)]
    pub left_out: BTreeMap<String, String>,
    /// Ranking and comparison of the targets; `None` for a single server that was already running,
    /// unless it was compared with itself, or without a whole round.
    pub comparison: Option<Comparison>,
    /// Whether the figures of duets can be compared, and how much they vary; `None` without duets,
    /// or in earlier versions.
    #[serde(default)]
    pub duet: Option<DuetRecord>,
    /// How much slices and starts vary; `None` without slices or without two compared targets, or
    /// in earlier versions.
    #[serde(default)]
    pub slices: Option<SlicesRecord>,
    /// Judgement of each target against the first; `None` without `--fail-on-regression`, or in
    /// earlier versions.
    #[serde(default)]
    pub gate: Option<GateRecord>,
    /// Precision that was asked for, and what it cost; `None` without `--precision`, or in earlier
    /// versions.
    #[serde(default)]
    pub precision: Option<PrecisionRecord>,
    /// Judgement of each threshold for each target.
    pub thresholds: Vec<ThresholdRecord>,
    /// Greatest rate of the generator on this machine; `None` if not measured, or if the
    /// measurement was disturbed.
    pub calibration: Option<Calibration>,
    /// Noise floor of the last earlier run with `--aa` on this machine, in the same runtime, and
    /// likewise with rounds, duets or slices; `None` without such a run, or if this run
    /// compares a server with itself.
    pub noise_floor: Option<NoiseFloor>,
    /// Scaling of each target that was measured with at least three numbers of replicas or server
    /// workers; empty in documents of earlier versions.
    #[serde(default)]
    pub scaling: Vec<ScalingRecord>,
    /// Functions by which each other target differs from the first one, for targets that are mostly the same program;
    /// empty without profiling rounds, and in documents of earlier versions.
    #[serde(default)]
    pub profile_differences: Vec<ProfileDifference>,
    /// Measurement of a backend alone, before the rounds of an experiment's group; `None` if not
    /// measured, or in earlier versions.
    #[serde(default)]
    pub backend_alone: Option<BackendAloneRecord>,
    /// Facts to know before believing the figures.
    pub verdicts: Vec<Verdict>,
    /// Reason why the result differs from the plan; `None` if the run went as planned.
    pub degraded: Option<Degraded>,
    /// Threshold that ended the run; `None` unless `--fail-fast` ended the run.
    pub stopped_early: Option<StoppedEarly>,
    /// Resumptions of the run, in their order; empty unless `loadgen manager --resume` took it up, and in documents of
    /// earlier versions.
    #[serde(default)]
    pub resumed: Vec<ResumedRecord>,
    /// Whether the run was interrupted before its planned end. In a document that was saved while
    /// the run went on, `true`.
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// Greatest rate of the generator, in responses/s, against a server that does no work, with as
    /// many workers as in the run and as many users, but at most 1,000 users in the closed model
    /// and 100 in the open model.
    pub rate_per_s: f64,
    /// Whether the generator sent the scenario's own steps; false in documents of earlier versions,
    /// whose generator sent `GET /` for any scenario.
    #[serde(default)]
    pub own_steps: bool,
    /// Whether an earlier run with this build on this machine measured the rate.
    pub earlier: bool,
}

/// Difference to expect between two measurements of one server on a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseFloor {
    /// Half the width of the 95 % confidence interval of the ratio of both measurements.
    pub percent: f64,
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the server.
    pub target: String,
    /// Start of the run that found the noise floor.
    pub started: String,
}

/// The first failed threshold, which ended a run with `--fail-fast`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoppedEarly {
    /// Name of the target on which the threshold failed.
    pub target: String,
    /// Number of the round in which the threshold failed, from 1.
    pub round: u32,
    /// Threshold, as written in the scenario.
    pub threshold: String,
}
