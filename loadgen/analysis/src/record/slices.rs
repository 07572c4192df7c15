//! Holds the place of slices, which share a start of their servers, and how much slices and starts vary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Place of a slice: a round that shares the start of its server with other rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SliceRecord {
    /// Number of the start, from 1. Servers at URLs are not started: their starts are groups of
    /// successive slices.
    pub start: u32,
    /// Number of the slice within its start, from 1.
    pub number: u32,
    /// Slices of each start.
    pub of: u32,
}

/// How much the ratios of compared targets vary within starts, and from start to start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlicesRecord {
    /// Each pair of `comparison.pairs` with a start in which all slices of both targets ran as
    /// planned.
    pub pairs: Vec<SlicesPair>,
}

/// Variation of the ratio of two targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlicesPair {
    /// The two targets.
    pub targets: [String; 2],
    /// Starts in which all slices of both targets ran as planned.
    pub starts: u32,
    /// Standard deviation of the ratio over the slices of a start: the root of the mean over starts
    /// of the variance.
    pub slices_deviation_percent: f64,
    /// Standard deviation over starts of the mean ratio of each start; `None` with fewer than two
    /// starts.
    pub starts_deviation_percent: Option<f64>,
    /// Share of the variance over starts that the variation within starts does not explain, from 0
    /// to 100: more slices do not reduce it; `None` with fewer than two starts.
    pub starts_own_percent: Option<f64>,
}
