//! The results of a run, before they are summed up.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::engine::Results;
use crate::failure::Failure;
use crate::lab::{LabError, Observed};
use crate::measure::{Counts, Phase, Series};
use crate::record::{Calibration, StoppedEarly};

/// One round over one contender, as it was measured.
#[derive(Default)]
pub struct MeasuredRound {
    /// The place of what was measured among the job's contenders.
    pub contender: usize,
    /// Its number, from 1.
    pub number: u32,
    /// Where the target answered.
    pub url: String,
    /// Users that it should have had.
    pub users: u32,
    /// How long the load was held.
    pub held: Duration,
    /// What the generator gave.
    pub results: Results,
    /// What each service used while the load was held.
    pub observed: Observed,
    /// What the verification read from the answers, by step and counter.
    pub verified: Vec<Vec<u64>>,
    /// What the backends answered afterwards, by the scenario's proofs; empty where the round is not
    /// whole.
    pub answers: Vec<i64>,
    /// Whether it went to its planned end with all of its load, and with no other.
    pub whole: bool,
    /// How the target or a backend ended, if one ended by itself.
    pub ended: Option<String>,
}

impl MeasuredRound {
    /// The users that were there to the end: the others were a lost worker's.
    pub fn users_achieved(&self) -> u32 {
        self.users.saturating_sub(self.results.users_lost())
    }
}

/// The results of the load on one target.
pub struct Loaded {
    /// What the verification read from the answers, by step and counter.
    pub verified: Vec<Vec<u64>>,
    /// What the generator gave.
    pub results: Results,
    /// What each service used while the load was held.
    pub observed: Observed,
    /// The service that ended by itself meanwhile, if one did: nothing that was measured with it can
    /// be believed.
    pub ended: Option<LabError>,
}

/// The results of a run.
#[derive(Default)]
pub struct Measured {
    /// The rounds, in the order in which they ran.
    pub rounds: Vec<MeasuredRound>,
    /// How many workers shared the load; 0 where there were none.
    pub workers: u32,
    /// The versions of the backends that ran.
    pub backends: BTreeMap<String, String>,
    /// What the generator can send at most.
    pub calibration: Option<Calibration>,
    /// What ended the run early, if it was an error.
    pub failure: Option<Failure>,
    /// The threshold that ended the run early, if one did.
    pub stopped_early: Option<StoppedEarly>,
}

/// Counts the requests of the hold, by step.
pub fn held(series: &Series) -> Vec<Counts> {
    series.phase(Phase::Hold)
}
