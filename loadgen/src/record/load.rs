//! The load of each round, and how it was changed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::{count, precise};

/// The load of each round.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadRecord {
    /// The load model: `closed` or `open`.
    pub model: String,
    /// Users of the whole test, the most where there are several numbers; in the open model the most
    /// that send at the same time.
    pub users: u32,
    /// Requests per second that arrive in the open model; the most of any stage.
    pub rate_per_s: Option<f64>,
    /// How they are spread over time: `evenly spaced` or `Poisson`.
    pub arrivals: Option<String>,
    /// How the load changes, where it does.
    pub stages: Vec<StageRecord>,
    /// The time over which they start.
    pub ramp_up_s: f64,
    /// How long users wait between an answer and their next request, if they do: in words.
    pub think_time: Option<String>,
    /// How long each round holds the load; `None` where iterations end it.
    pub duration_s: Option<f64>,
    /// Iterations of each round, over all users.
    pub iterations: Option<u64>,
    /// The time for which each round runs before it counts.
    pub warmup_s: f64,
    /// How long after an end by time the answers to requests in flight were waited for.
    #[serde(default = "drain_s")]
    pub drain_s: f64,
    /// The names of what was to be loaded, with whatever there are several numbers of.
    pub targets: Vec<String>,
    /// Rounds for each target.
    pub rounds: u32,
    /// Worker processes; 0 where the load came from the process itself.
    pub workers: u32,
}

/// What it was before it could be chosen.
pub(super) fn drain_s() -> f64 {
    3.0
}

/// A change of the load in a straight line, from what it was before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StageRecord {
    /// Users, or requests per second, at its end.
    pub to: f64,
    /// How long it takes.
    pub over_s: f64,
}

/// A change of the load that was not planned, to the end of the round or the next change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadChangeRecord {
    /// When: seconds from the end of the warm-up, 0 before that.
    pub second: u32,
    /// Users of the whole test, in the closed model.
    pub users: Option<u32>,
    /// Requests per second of the whole test, in the open model.
    pub rate_per_s: Option<f64>,
}

impl fmt::Display for LoadChangeRecord {
    /// A change, and since when: `200 users from second 12`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.users, self.rate_per_s) {
            (Some(1), _) => f.write_str("1 user")?,
            (Some(users), _) => write!(f, "{} users", count(users.into()))?,
            (None, rate) => write!(f, "{} requests/s", precise(rate.unwrap_or_default()))?,
        }
        write!(f, " from second {}", self.second)
    }
}
