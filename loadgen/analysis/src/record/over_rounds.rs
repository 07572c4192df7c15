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

/// Mean of a figure over rounds, and its confidence interval, in the figure's unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverRounds {
    /// Geometric mean of the rounds.
    pub mean: f64,
    /// 95 % confidence interval of the mean, by Student's t of the logarithms.
    pub confidence_95: [f64; 2],
}

/// Figures of one step over all whole rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepOverRounds {
    /// Expected responses per second; `None` with fewer than two whole rounds, or if a round has no
    /// expected response.
    pub rate_per_s: Option<OverRounds>,
    /// Latencies of the expected responses.
    pub latency_us: LatencyOverRounds,
    /// Requests that failed or had no response, of all requests; `None` with fewer than two whole
    /// rounds, or without a request.
    pub failed_percent: Option<ShareOverRounds>,
}

/// Share of the requests of all rounds, and its confidence interval, in %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShareOverRounds {
    /// Share in all rounds together.
    pub share: f64,
    /// 95 % confidence interval of the share: from the lower of two lower bounds to the higher of two upper
    /// bounds. These are Student's for the mean of the rounds' shares, and Wilson's score interval, as if no
    /// request depended on another.
    pub confidence_95: [f64; 2],
}
