//! Holds the results of a probe, which measures the latency beside the load.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::percentile::Percentile;
use loadgen_measure::Summary;

/// Results of the probe over all rounds of a target. They are in no other figure of the target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeRecord {
    /// Results of the probe in the hold of all rounds, all steps together; `rounds[].probe` has
    /// those of each round.
    pub total: Summary,
    /// Ratio of each latency percentile of the load to that of the probe, by percentile, such as
    /// `p99`: for the percentiles that both have in each whole round.
    pub ratios: BTreeMap<Percentile, ProbeRatio>,
}

/// Ratio of a latency percentile of the load to that of the probe, in the same rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeRatio {
    /// Geometric mean of the ratios of the rounds.
    pub ratio: f64,
    /// 95 % confidence interval of the mean, by Student's t of the logarithms; `None` for a single
    /// round.
    pub confidence_95: Option<[f64; 2]>,
    /// p-value of equal latencies, after Holm's correction for all percentiles in `ratios`; `None`
    /// with fewer than five rounds.
    pub p_holm: Option<f64>,
}
