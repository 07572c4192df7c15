//! Names the latency percentiles by which targets are compared.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use loadgen_measure::LatencySummary;

/// A latency percentile by which targets are compared.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the field's own")]
pub enum Percentile {
    P50,
    P90,
    P95,
    P99,
    #[serde(rename = "p99_9")]
    P99_9,
}

impl Percentile {
    /// All percentiles, in ascending order.
    pub const ALL: [Self; 5] = [Self::P50, Self::P90, Self::P95, Self::P99, Self::P99_9];

    /// Sequences in which the percentiles of two targets are tested: each only if all before it in its
    /// sequence are shown. Targets may differ in typical responses, in slow ones or in the slowest
    /// alone, so each has a sequence of its own, which begins with its most precise percentile. Of
    /// several designs, these sequences find the most: see docs/explanation/simulations.md.
    pub const SEQUENCES: [&[Self]; 3] =
        [&[Self::P50, Self::P90], &[Self::P95], &[Self::P99, Self::P99_9]];

    /// Returns the percentiles that come before this one in its sequence of tests.
    #[must_use]
    pub fn before(self) -> &'static [Self] {
        let before = |of: &'static [Self]| Some(&of[..of.iter().position(|it| *it == self)?]);
        Self::SEQUENCES.into_iter().find_map(before).unwrap_or_default()
    }

    /// Returns this percentile of a distribution, in µs; `None` if too few samples support it.
    #[must_use]
    pub fn of(self, latency: &LatencySummary) -> Option<u64> {
        match self {
            Self::P50 => latency.p50,
            Self::P90 => latency.p90,
            Self::P95 => latency.p95,
            Self::P99 => latency.p99,
            Self::P99_9 => latency.p99_9,
        }
    }
}

impl fmt::Display for Percentile {
    /// Writes the usual name, such as `p99.9`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P99_9 => "p99.9",
        })
    }
}
