//! Holds the load of each round, and changes of the load.

use std::fmt;

use serde::{Deserialize, Serialize};

use loadgen_text::{counted, precise};

/// Planned load, which is the same in each round.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadRecord {
    /// Load model: `closed` or `open`.
    pub model: String,
    /// Number of users of the whole test, or the greatest number if the run has several. In the
    /// open model: the greatest number of users that send at the same time.
    pub users: u32,
    /// Rate of arrivals in the open model, in requests/s; the highest rate of any stage. `None` in
    /// the closed model.
    pub rate_per_s: Option<f64>,
    /// Distribution of arrivals over time: `evenly spaced` or `Poisson`. `None` in the closed
    /// model.
    pub arrivals: Option<String>,
    /// Planned changes of the load, in order; empty for a constant load.
    pub stages: Vec<StageRecord>,
    /// Time over which the load rises from zero, in s; 0 without a ramp-up.
    pub ramp_up_s: f64,
    /// Time that users wait between an answer and their next request, in words; `None` for users
    /// that do not wait.
    pub think_time: Option<String>,
    /// Duration of the hold (the measured period) of each round, in s; `None` if a number of
    /// iterations ends the round.
    pub duration_s: Option<f64>,
    /// Number of iterations in each round, over all users; `None` if time ends the round.
    pub iterations: Option<u64>,
    /// Time at the beginning of each round that is not measured, in s.
    pub warmup_s: f64,
    /// Time after a round in which answers to requests in flight were awaited, if time ended the
    /// round, in s; 3 in records of earlier versions.
    #[serde(default = "drain_s")]
    pub drain_s: f64,
    /// Names of the targets to be loaded, each with its number of server workers or users where the
    /// run has several numbers.
    pub targets: Vec<String>,
    /// Whether each round loaded two targets at the same time, on the same CPUs. False in records of
    /// earlier versions.
    #[serde(default)]
    pub duet: bool,
    /// Planned rate of the probe, which measures the latency beside the load, in requests/s. `None`
    /// without a probe, and in records of earlier versions.
    #[serde(default)]
    pub probe_per_s: Option<f64>,
    /// Number of rounds for each target; with slices, of starts, each of which has several slices.
    pub rounds: u32,
    /// Number of slices of each start: each is one of `targets[].rounds`, and holds the load for
    /// `duration_s`. `None` without slices, and in records of earlier versions.
    #[serde(default)]
    pub slices: Option<u32>,
    /// Time at the beginning of each slice but the first of a start that is not measured, in s. The
    /// first slice has `warmup_s`. `None` without slices.
    #[serde(default)]
    pub slice_warmup_s: Option<f64>,
    /// Number of worker processes; 0 where loadgen's own process made the load.
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StageRecord {
    /// Users, or requests/s in the open model, at the end of the stage.
    pub to: f64,
    /// Duration of the stage, in s.
    pub over_s: f64,
}

/// An unplanned change of the load, which lasts until the end of the round or the next change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadChangeRecord {
    /// Time of the change, in seconds from the end of the warm-up; 0 during the warm-up.
    pub second: u32,
    /// Number of users of the whole test after the change; `None` in the open model.
    pub users: Option<u32>,
    /// Rate of the whole test after the change, in requests/s; `None` in the closed model.
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
