//! Holds figures over rounds, with their variation from one round to the next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Mean of each latency percentile over all whole rounds, which are the rounds that ran as planned.
/// A percentile is `None` with fewer than two whole rounds, or if a round has too few samples for
/// the percentile.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "a comment holds for the fields without one that follow")]
pub struct LatencyOverRounds {
    /// Percentiles; `None` with fewer than two whole rounds, or if a round has too few samples for
    /// the percentile.
    pub p50: Option<OverRounds>,
    pub p90: Option<OverRounds>,
    pub p95: Option<OverRounds>,
    pub p99: Option<OverRounds>,
}

/// Mean of a figure over rounds and its confidence interval, in µs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverRounds {
    /// Geometric mean of the rounds, in µs.
    pub mean: f64,
    /// 95 % confidence interval of the mean, in µs, by Student's t of the logarithms.
    pub confidence_95: [f64; 2],
}
