//! Holds how many rounds a given precision needed.

use serde::{Deserialize, Serialize};

/// Precision that a run was to reach, and what it cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrecisionRecord {
    /// Greatest half width, in %, that was asked for: of the 95 % intervals of the compared ratios or,
    /// for a single target, of that of its rate.
    pub percent: f64,
    /// Greatest half width that was reached, in %; `None` if an interval is unknown.
    pub reached_percent: Option<f64>,
    /// Number of measured rounds that count for each interval; `None` if an interval is unknown.
    #[serde(default)]
    pub rounds_measured: Option<u32>,
    /// Number of rounds that the precision needs in all, by the noise of the measured rounds; `None` if
    /// unknown.
    pub rounds_needed: Option<u32>,
    /// Greatest number of rounds that was allowed.
    pub rounds_max: u32,
    /// Greatest time that was allowed, in s; `None` for any.
    pub time_max_s: Option<f64>,
    /// Time that the rounds took, in s, with starts and stops.
    pub took_s: f64,
}

impl PrecisionRecord {
    /// Returns whether the precision was reached.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.reached_percent.is_some_and(|reached| reached <= self.percent)
    }
}
