//! The run record: the document that `--format json` prints and `run.json` keeps.
//!
//! Field names carry their unit. The number in [`SCHEMA`] goes up when a field changes meaning.

use serde::{Deserialize, Serialize};

use super::comparison::Comparison;
use super::degraded::Degraded;
use super::environment::Environment;
use super::load::LoadRecord;
use super::sent::SentRecord;
use super::target::TargetRecord;
use super::threshold::ThresholdRecord;
use super::verdict::Verdict;

/// What the document calls itself.
pub const SCHEMA: &str = "loadgen.run/1";

/// The saved result of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// [`SCHEMA`].
    pub schema: String,
    /// The scenario's name.
    pub scenario: String,
    /// When the run began, in UTC (RFC 3339).
    pub started: String,
    /// What generated data and the order of the targets in each round were seeded with.
    pub seed: u64,
    /// The command line, program and all.
    #[serde(default)]
    pub command: Vec<String>,
    /// Where it ran.
    pub environment: Environment,
    /// The load that each round put on its target.
    pub load: LoadRecord,
    /// Digests of what was sent; `None` in records of earlier versions.
    #[serde(default)]
    pub sent: Option<SentRecord>,
    /// The targets, in the order in which they were named.
    pub targets: Vec<TargetRecord>,
    /// The targets in order; `None` for a server that was running already, unless it was measured
    /// against itself.
    pub comparison: Option<Comparison>,
    /// What had to hold, and whether it did.
    pub thresholds: Vec<ThresholdRecord>,
    /// What the generator can send here at most; `None` where that was not looked for.
    pub calibration: Option<Calibration>,
    /// What the last run before this one found on this machine that measured a server against
    /// itself.
    pub noise_floor: Option<NoiseFloor>,
    /// What a reader must know before believing the figures.
    pub verdicts: Vec<Verdict>,
    /// Why the result is not what was planned, if so.
    pub degraded: Option<Degraded>,
    /// The threshold that ended the run before its planned end, where that was asked for.
    pub stopped_early: Option<StoppedEarly>,
    /// Whether the run was interrupted before its planned end.
    pub interrupted: bool,
}

impl RunRecord {
    /// Whether targets were measured with several numbers of server workers or users.
    #[must_use]
    pub fn is_matrix(&self) -> bool {
        self.targets.iter().any(|target| target.name != target.target)
    }
}

/// What the generator can send: what it sent to a server that does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Answers per second, to as many users and workers as in the run.
    pub rate_per_s: f64,
    /// Whether they were sent the scenario's own steps; before records had this, it was `GET /`, whatever
    /// the scenario.
    #[serde(default)]
    pub own_steps: bool,
    /// Whether it was measured by an earlier run on this machine, with this build.
    pub earlier: bool,
}

/// How much two measurements of one server differ on a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseFloor {
    /// Half the width of the 95 % confidence interval of their ratio.
    pub percent: f64,
    /// What was asked of the server.
    pub scenario: String,
    /// The server.
    pub target: String,
    /// When that run began, in UTC (RFC 3339).
    pub started: String,
}

/// What ended a run early that was to end with the first threshold that fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoppedEarly {
    /// The target that it failed on.
    pub target: String,
    /// In which round, from 1.
    pub round: u32,
    /// The threshold, as the scenario has it.
    pub threshold: String,
}
