//! Holds the fits of scaling laws to the throughput of several sizes.

use serde::{Deserialize, Serialize};

/// How the throughput of a target scales with its size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScalingRecord {
    /// Name of the target, with the other conditions if the target was measured under several.
    pub name: String,
    /// Unit of the sizes: `replicas` or `server workers`.
    pub counts: String,
    /// The finding, as a sentence; the reason, if no law can be fitted.
    pub says: String,
    /// Fits of both laws; `None` if no law can be fitted.
    pub fits: Option<Scaling>,
}

/// Fit of Amdahl's law.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Amdahl {
    /// Throughput λ of size 1.
    pub rate_of_one: Estimate,
    /// Serial share σ of the work, 0 to 1. Crosstalk that exists counts as serial work: the interval
    /// contains the serial share only of a target without crosstalk. [`Usl::contention`] is free of
    /// crosstalk, and its interval is wider.
    pub serial: Estimate,
    /// Root mean square of the rates' relative differences from the curve, in %. The noise of the
    /// rounds is part of it.
    pub residual_percent: f64,
    /// P-value of the F-test for lack of fit: below 0.05, the mean rates are farther from the curve
    /// than the noise explains, and the intervals tell too little. `None` for a single round, or if
    /// a round lacks a size.
    pub lack_of_fit: Option<f64>,
}

/// Fit of the Universal Scalability Law.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Usl {
    /// Throughput λ of size 1.
    pub rate_of_one: Estimate,
    /// Contention σ, 0 to 1.
    pub contention: Estimate,
    /// Crosstalk κ, at least 0.
    pub crosstalk: Estimate,
    /// Size of the greatest throughput, at least 1; `None` without crosstalk. The upper end is `None`
    /// if the interval of the crosstalk contains 0.
    pub peak: Option<Estimate>,
    /// Like [`Amdahl::residual_percent`].
    pub residual_percent: f64,
    /// Like [`Amdahl::lack_of_fit`].
    pub lack_of_fit: Option<f64>,
}

/// Measured throughput of a size relative to the smallest size, in the rounds that measured both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Speedup {
    /// The size, above the smallest.
    pub size: u32,
    /// Geometric mean of the ratios over rounds.
    pub fold: Estimate,
}

/// How throughput scales with size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// Number of rounds that measured at least two sizes.
    pub rounds: u32,
    /// Smallest size.
    pub smallest: u32,
    /// The other sizes, in ascending order, if a round measured both them and the smallest.
    pub speedups: Vec<Speedup>,
    /// Fit of Amdahl's law.
    pub amdahl: Amdahl,
    /// Fit of the Universal Scalability Law; `None` for fewer than four distinct sizes, or if the
    /// rates determine no finite coefficients.
    pub usl: Option<Usl>,
    /// Law that the rounds prefer: the USL if the interval of its crosstalk excludes 0, otherwise
    /// Amdahl's law, which is simpler.
    pub better: Law,
}

/// Estimate of a figure, with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Estimated value.
    pub value: f64,
    /// Lower end of the interval; `None` for a single round.
    pub low: Option<f64>,
    /// Upper end of the interval; `None` for a single round, or if the rounds show no upper bound.
    pub high: Option<f64>,
}

/// Scaling law.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// Amdahl's law: contention only.
    Amdahl,
    /// Universal Scalability Law: contention and crosstalk.
    Usl,
}
