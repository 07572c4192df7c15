//! Holds the load of each round, and changes of the load.

use std::num::NonZeroU32;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use loadgen_text::{counted, precise};

/// Planned load, which is the same in each round.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRecord {
    /// Load model: `closed` or `open`.
    pub model: String,
    /// Users of the whole test, the greatest number if the run has several; in the open model, the
    /// most users that send at the same time.
    pub users: u32,
    /// Rate of arrivals, in requests/s; the highest rate of any stage. `None` in the closed model.
    pub rate_per_s: Option<f64>,
    /// Distribution of arrivals over time: `evenly spaced` or `Poisson`; `None` in the closed
    /// model.
    pub arrivals: Option<String>,
    /// Planned changes of the load, in order; empty for a constant load.
    pub stages: Vec<StageRecord>,
    /// Time over which the load rises from zero; 0 without a ramp-up.
    pub ramp_up_s: f64,
    /// Think time in words, such as `1s to 3s`; `None` if users do not wait.
    pub think_time: Option<String>,
    /// Duration of the hold in each round or slice; with stages, of all stages. `None` if
    /// iterations end the round.
    pub duration_s: Option<f64>,
    /// Iterations in each round, over all users; `None` if time ends the round.
    pub iterations: Option<u64>,
    /// Duration of the warm-up of each round.
    pub warmup_s: f64,
    /// Longest wait for the responses to in-flight requests after an end by time; 3 in documents of
    /// earlier versions.
    #[serde(default = "drain_s")]
    pub drain_s: f64,
    /// Names of the targets to be loaded, each with its number of server workers or users if the
    /// run has several numbers.
    pub targets: Vec<String>,
    /// Whether each round loaded two targets at the same time, on the same CPUs; false in documents
    /// of earlier versions.
    #[serde(default)]
    pub duet: bool,
    /// Planned rate of the probe, in requests/s; `None` without a probe, or in earlier versions.
    #[serde(default)]
    pub probe_per_s: Option<f64>,
    /// One request in so many told its server to trace it; `None` if none did, and in earlier versions.
    #[serde(default)]
    pub trace_one_in: Option<NonZeroU32>,
    /// Rounds for each target; with slices, starts.
    pub rounds: u32,
    /// Whether all rounds of a target had one start, in which all targets were up and were loaded in turn:
    /// the quick form of an experiment, or servers that loadgen has deployed in a cluster; false in earlier versions.
    #[serde(default)]
    pub one_start: bool,
    /// Slices of each start; each slice is an entry of the target's `rounds`. `None` without
    /// slices, or in earlier versions.
    #[serde(default)]
    pub slices: Option<u32>,
    /// Duration of the warm-up of each slice, or round, but the first of a start, which has `warmup_s`; `None`
    /// if each round has a start of its own, and in earlier versions.
    #[serde(default)]
    pub slice_warmup_s: Option<f64>,
    /// Worker processes; 0 if loadgen's own process made the load.
    pub workers: u32,
}

impl LoadRecord {
    /// Returns the planned number of measured passes over each target: rounds, or slices of all starts.
    #[must_use]
    pub fn passes(&self) -> u32 {
        self.rounds.saturating_mul(self.slices.unwrap_or(1))
    }
}

/// Returns the drain, the wait for answers after a round, of earlier versions, in s. In these
/// versions the drain was fixed.
pub(super) fn drain_s() -> f64 {
    3.0
}

/// A linear change of the load, from the level before the stage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageRecord {
    /// Load at the end of the stage: users, or requests/s in the open model.
    pub to: f64,
    /// Duration of the stage.
    pub over_s: f64,
}

/// An unplanned change of the load, which lasts until the end of the round or the next change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadChangeRecord {
    /// Time of the change, in s from the end of the warm-up; 0 before that moment.
    pub second: u32,
    /// Users of the whole test from now on; `None` in the open model.
    pub users: Option<u32>,
    /// Rate of the whole test from now on, in requests/s; `None` in the closed model.
    pub rate_per_s: Option<f64>,
}

impl fmt::Display for LoadChangeRecord {
    /// Writes the change and its time: `200 users from second 12`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.users, self.rate_per_s) {
            (Some(users), _) => f.write_str(&counted(users.into(), "user"))?,
            (None, rate) => write!(f, "{} requests/s", precise(rate.unwrap_or_default()))?,
        }
        write!(f, " from second {}", self.second)
    }
}
