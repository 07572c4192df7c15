//! Holds the results of a search.

use std::collections::BTreeMap;

use crate::analysis::Tried;
use crate::failure::Failure;
use crate::measure::{Connections, Stacks};
use crate::record::CapacityRound;

/// Results of a search.
pub struct Searched {
    /// Results of each target, by the target's index in the job.
    pub targets: Vec<OfTarget>,
    /// Versions of the backends that ran, by name.
    pub backends: BTreeMap<String, String>,
    /// Error that ended the search early, if any.
    pub failure: Option<Failure>,
}

/// Results of all rounds over one target.
#[derive(Default)]
pub struct OfTarget {
    /// Base URL of the target in its last trial.
    pub url: String,
    /// Result of the search in each round.
    pub rounds: Vec<CapacityRound>,
    /// Trials, in the order in which they ran.
    pub trials: Vec<Tried>,
    /// Stacks of each profiling round, or why there are none.
    pub profiles: Vec<Result<Stacks, String>>,
    /// Statistics of the connections in all trials together.
    pub connections: Connections,
}

impl Searched {
    /// Creates empty results for this number of targets.
    pub fn new(targets: usize) -> Self {
        let targets = (0..targets).map(|_| OfTarget::default()).collect();
        Self { targets, backends: BTreeMap::new(), failure: None }
    }

    /// Returns whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.targets.iter().all(|target| target.trials.is_empty())
    }
}
