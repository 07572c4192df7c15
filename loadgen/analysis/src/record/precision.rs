//! Holds how many rounds a given precision needed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Precision that a run was to reach, and what it cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrecisionRecord {
    /// Greatest half width of the 95 % intervals that was asked for.
    pub percent: f64,
    /// Greatest half width that was reached; `None` if an interval is unknown.
    pub reached_percent: Option<f64>,
    /// Measured rounds that count for each interval; `None` if an interval is unknown, or in
    /// earlier versions.
    #[serde(default)]
    pub rounds_measured: Option<u32>,
    /// Rounds that the precision needs in all, by the noise of the measured rounds; `None` if an
    /// interval is unknown.
    pub rounds_needed: Option<u32>,
    /// Greatest number of rounds that was allowed.
    pub rounds_max: u32,
    /// Greatest time that was allowed; `None` without a limit.
    pub time_max_s: Option<f64>,
    /// Time that the rounds took, with starts and stops.
    pub took_s: f64,
}

impl PrecisionRecord {
    /// Returns whether the precision was reached.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.reached_percent.is_some_and(|reached| reached <= self.percent)
    }
}
