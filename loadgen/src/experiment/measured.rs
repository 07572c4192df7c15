//! Holds the results of a run, before they are summed up.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::engine::Results;
use crate::failure::Failure;
use crate::lab::{LabError, Observed};
use crate::measure::{Counts, Phase, Series};
use crate::record::{Calibration, StoppedEarly};

/// Results of one round over one contender.
#[derive(Default)]
pub struct MeasuredRound {
    /// Index of the contender in the job.
    pub contender: usize,
    /// Number of the round, counted from 1.
    pub number: u32,
    /// Base URL of the target.
    pub url: String,
    /// Number of users planned.
    pub users: u32,
    /// Duration of the hold.
    pub held: Duration,
    /// Results of the generator.
    pub results: Results,
    /// Resources that each service used during the hold.
    pub observed: Observed,
    /// Values that the verification read from the answers, by step and counter.
    pub verified: Vec<Vec<u64>>,
    /// Answers of the backends after the round, in the order of the scenario's proofs. Empty if the
    /// round is not whole, or if there is no lab.
    pub answers: Vec<i64>,
    /// Whether the round reached its planned end with all of its load, and with no other load.
    pub whole: bool,
    /// Description of the end of the target or a backend, if one ended by itself.
    pub ended: Option<String>,
}

impl MeasuredRound {
    /// Returns the number of users that were there to the end, without those of lost workers.
    pub fn users_achieved(&self) -> u32 {
        self.users.saturating_sub(self.results.users_lost())
    }
}

/// Results of the load on one target.
pub struct Loaded {
    /// Values that the verification read from the answers, by step and counter.
    pub verified: Vec<Vec<u64>>,
    /// Results of the generator.
    pub results: Results,
    /// Resources that each service used during the hold.
    pub observed: Observed,
    /// Error of the service that ended by itself during the round, if any. No result measured with
    /// such a service can be trusted.
    pub ended: Option<LabError>,
}

/// Results of a run.
#[derive(Default)]
pub struct Measured {
    /// Rounds, in the order in which they ran.
    pub rounds: Vec<MeasuredRound>,
    /// Number of workers that shared the load; 0 if there were none.
    pub workers: u32,
    /// Versions of the backends that ran, by name.
    pub backends: BTreeMap<String, String>,
    /// Maximum rate of the generator, if known.
    pub calibration: Option<Calibration>,
    /// Error that ended the run early, if any.
    pub failure: Option<Failure>,
    /// Threshold that ended the run early, if any.
    pub stopped_early: Option<StoppedEarly>,
}

/// Returns the counts of the hold, by step.
pub fn held(series: &Series) -> Vec<Counts> {
    series.phase(Phase::Hold)
}
