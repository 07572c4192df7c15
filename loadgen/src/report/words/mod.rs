//! Puts results into sentences and short lines that all formats share.

pub mod bottlenecks;
pub mod capacity;
pub mod changes;
pub mod comparison;
pub mod conclusion;
pub mod containers;
pub mod degraded;
pub mod differences;
pub mod efficiency;
pub mod headline;
pub mod interval;
pub mod matrix;
pub mod proofs;
pub mod ranked;
pub mod ratio;
pub mod rows;
pub mod thresholds;
pub mod warnings;
pub mod workers;

use crate::record::VerdictKind;

/// A warning to read before believing a figure.
pub struct Warning {
    /// Kind of the verdict; `None` if the warning is not a verdict.
    pub kind: Option<VerdictKind>,
    /// The observation.
    pub what: String,
    /// Advice, or further details.
    pub more: Option<String>,
}

impl Warning {
    /// Returns the observation, with the code of the kind if the warning is a verdict.
    pub fn coded(&self) -> String {
        self.kind.map_or_else(|| self.what.clone(), |kind| kind.coded(&self.what))
    }
}
