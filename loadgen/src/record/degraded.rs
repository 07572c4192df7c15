//! Why a result is not what was planned.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a result is not what was planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Degraded {
    /// What happened.
    pub reason: String,
    /// The workers that were lost, in the order in which they were.
    pub lost: Vec<LossRecord>,
}

/// A worker that was lost, and from when on the load was less than planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossRecord {
    /// Its number, from 0.
    pub worker: u32,
    /// Its host, where it came from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// What was measured meanwhile, or afterwards.
    pub target: String,
    /// The first round that it was missing in, from 1.
    pub round: u32,
    /// Seconds from the end of this round's warm-up, 0 before that; `None` where it was lost before
    /// the round.
    pub second: Option<u32>,
    /// Its share of the users, which nobody took over.
    pub users: u32,
    /// What is known about why.
    pub why: String,
}

impl fmt::Display for LossRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { worker, host, target, round, second, why, .. } = self;
        write!(f, "worker {worker}")?;
        if let Some(host) = host {
            write!(f, " on {host}")?;
        }
        match second {
            Some(second) => write!(f, " was lost in second {second} of round {round}")?,
            None => write!(f, " was lost before round {round}")?,
        }
        write!(f, " ({target}): {why}")
    }
}
