//! What a search has found.

use std::collections::BTreeMap;

use crate::analysis::Tried;
use crate::failure::Failure;
use crate::measure::Connections;
use crate::record::CapacityRound;

/// What came of a search.
pub struct Searched {
    /// By the targets' places in the job.
    pub targets: Vec<OfTarget>,
    /// The versions of the backends that ran.
    pub backends: BTreeMap<String, String>,
    /// What ended it early, if it was an error.
    pub failure: Option<Failure>,
}

/// What came of the rounds over one target.
#[derive(Default)]
pub struct OfTarget {
    /// Where it answered.
    pub url: String,
    /// One search each.
    pub rounds: Vec<CapacityRound>,
    /// In the order in which they ran.
    pub trials: Vec<Tried>,
    /// The connections of all of them.
    pub connections: Connections,
}

impl Searched {
    /// Nothing yet.
    pub fn new(targets: usize) -> Self {
        let targets = (0..targets).map(|_| OfTarget::default()).collect();
        Self { targets, backends: BTreeMap::new(), failure: None }
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.targets.iter().all(|target| target.trials.is_empty())
    }
}
