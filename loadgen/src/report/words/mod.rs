//! Puts results into sentences and short lines that all formats share.

pub(super) mod arm_figures;
pub(super) mod arm_table;
pub(super) mod bottlenecks;
pub(super) mod capacity;
pub(super) mod changes;
pub(super) mod claims;
pub(super) mod commits;
pub(super) mod comparison;
pub(super) mod conclusion;
pub(super) mod connections;
pub(super) mod containers;
pub(super) mod curves;
pub(super) mod degraded;
pub(super) mod duet;
pub(super) mod efficiency;
pub(super) mod experiment;
pub(super) mod failures;
pub(super) mod first_byte;
pub(super) mod flows;
pub(super) mod folded;
pub(super) mod gate;
pub(super) mod headline;
pub(super) mod here;
pub(super) mod history;
pub(super) mod interval;
pub(super) mod latencies;
pub(super) mod matrix;
pub(super) mod occupancy;
pub(super) mod pair;
pub(super) mod postgres;
mod precision;
pub(super) mod probe;
pub(super) mod profile;
pub(super) mod proofs;
pub(super) mod ranked;
pub(super) mod ratio;
mod replicas;
pub(super) mod results;
pub(super) mod rows;
pub(super) mod searched;
mod slices;
pub(super) mod stages;
pub(super) mod streams;
pub(super) mod thresholds;
pub(super) mod title;
pub(super) mod traces;
pub(super) mod uploads;
pub(super) mod warnings;
pub(super) mod workers;

use crate::record::VerdictKind;

/// Returns that a target was left out, and why.
pub(super) fn left_out(target: &str, why: &str) -> String {
    let were = if target.contains(", ") { "were" } else { "was" };
    format!("{target} {were} left out: {why}")
}

/// A warning to read before believing a figure.
pub(super) struct Warning {
    /// Kind of the verdict; `None` if the warning is not a verdict.
    pub kind: Option<VerdictKind>,
    /// Target that the warning is about; `None` if it is about the whole run.
    pub who: Option<String>,
    /// Observation to warn of, as a sentence that begins with the target.
    pub what: String,
    /// Advice, or further details.
    pub more: Option<String>,
}

impl Warning {
    /// Returns the observation, followed by the code of the verdict's kind if the warning is a
    /// verdict.
    pub(super) fn coded(&self) -> String {
        self.kind.map_or_else(|| self.what.clone(), |kind| kind.coded(&self.what))
    }
}
