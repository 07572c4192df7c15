//! Holds the fits of scaling laws to the throughput of several sizes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the throughput of a target scales with its size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScalingRecord {
    /// Name of the target, with the other conditions if the target was measured under several.
    pub name: String,
    /// Unit of the sizes: `replicas` or `server workers`.
    pub counts: String,
    /// Finding as a sentence, or the reason why no law can be fitted.
    pub says: String,
    /// Fits of both laws; `None` if no law can be fitted.
    pub fits: Option<Scaling>,
}

/// Fit of Amdahl's law.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Amdahl {
    /// Estimate of the throughput of size 1, in responses/s.
    pub rate_of_one: Estimate,
    /// Estimate of the serial share of the work, 0 to 1. Crosstalk counts as serial.
    pub serial: Estimate,
    /// Root mean square of the relative differences of the rates from the curve.
    pub residual_percent: f64,
    /// p-value of the F-test for lack of fit: below 0.05, the rates contradict the law; `None` with
    /// a single round, or if a round lacks a size.
    pub lack_of_fit: Option<f64>,
}

/// Fit of the Universal Scalability Law.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usl {
    /// Estimate of the throughput of size 1, in responses/s.
    pub rate_of_one: Estimate,
    /// Estimate of the contention, 0 to 1.
    pub contention: Estimate,
    /// Estimate of the crosstalk, at least 0.
    pub crosstalk: Estimate,
    /// Estimate of the size of the greatest throughput; `None` without crosstalk.
    pub peak: Option<Estimate>,
    /// Root mean square of the relative differences of the rates from the curve.
    pub residual_percent: f64,
    /// p-value of the F-test for lack of fit: below 0.05, the rates contradict the law; `None` with
    /// a single round, or if a round lacks a size.
    pub lack_of_fit: Option<f64>,
}

/// Measured throughput of a size relative to the smallest size, in the rounds that measured both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Speedup {
    /// Number of replicas or server workers.
    pub size: u32,
    /// Estimate of the throughput relative to that of the smallest size.
    pub fold: Estimate,
}

/// How throughput scales with size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scaling {
    /// Rounds that measured at least two sizes.
    pub rounds: u32,
    /// Smallest size.
    pub smallest: u32,
    /// Speedup of each size above the smallest.
    pub speedups: Vec<Speedup>,
    /// Fit of Amdahl's law.
    pub amdahl: Amdahl,
    /// Fit of the Universal Scalability Law; `None` with fewer than four sizes, or without finite
    /// coefficients.
    pub usl: Option<Usl>,
    /// Law that the rounds prefer.
    pub better: Law,
}

/// Estimate of a figure, with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Estimated value.
    pub value: f64,
    /// Lower end of the 95 % confidence interval; `None` with a single round.
    pub low: Option<f64>,
    /// Upper end of the interval; `None` with a single round, or if no upper bound was shown.
    pub high: Option<f64>,
}

/// Scaling law.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// The law of Amdahl.
    Amdahl,
    /// The Universal Scalability Law, if the interval of its crosstalk excludes 0.
    Usl,
}
