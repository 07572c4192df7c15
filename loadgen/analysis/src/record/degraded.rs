//! Holds the reasons why a result differs from the plan.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reason why a result differs from the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Degraded {
    /// Events that degraded the result, in one text.
    pub reason: String,
    /// Lost workers, in the order in which they were lost.
    pub lost: Vec<LossRecord>,
}

/// A lost worker, and the time from which its load was missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossRecord {
    /// Number of the worker, from 0.
    pub worker: u32,
    /// Host of the worker; missing for a process that loadgen started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Target that was being measured when the worker was lost, or that was measured next.
    pub target: String,
    /// First round that lacks the worker, from 1.
    pub round: u32,
    /// Time of the loss, in s from the end of this round's warm-up; 0 before that moment. `None` if
    /// the worker was lost before the round.
    pub second: Option<u32>,
    /// Users of the worker.
    pub users: u32,
    /// Time from the end of this round's warm-up to the moment from which on the other workers carried the load of this
    /// one, in s, and 0 for a moment in the warm-up; `None` if they did not.
    #[serde(default)]
    pub taken_over_s: Option<f64>,
    /// Whether the round was measured again after `loadgen manager --resume`: the worker is missing in no figure.
    #[serde(default)]
    pub measured_again: bool,
    /// Reason of the loss, if known.
    pub why: String,
}

impl fmt::Display for LossRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { worker, host, target, round, second, why, taken_over_s, measured_again, .. } =
            self;
        write!(f, "worker {worker}")?;
        if let Some(host) = host {
            write!(f, " on {host}")?;
        }
        match second {
            Some(second) => write!(f, " was lost in second {second} of round {round}")?,
            None => write!(f, " was lost before round {round}")?,
        }
        write!(f, " ({target}): {why}")?;
        if let Some(at) = taken_over_s {
            write!(f, ", and the others carried its load from second {at:.1} on")?;
        }
        if *measured_again { write!(f, "; the round was measured again") } else { Ok(()) }
    }
}
