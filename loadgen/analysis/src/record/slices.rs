//! Holds the place of slices, which share a start of their servers, and how much slices and starts vary.

use serde::{Deserialize, Serialize};

/// Place of a slice: a round that shares the start of its server with other rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceRecord {
    /// Number of the start, from 1. Servers at URLs are not started: their starts are groups of
    /// successive slices.
    pub start: u32,
    /// Number of the slice within its start, from 1.
    pub number: u32,
    /// Number of slices of each start.
    pub of: u32,
}

/// How much the ratios of compared targets vary within starts, and from start to start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlicesRecord {
    /// Each pair of targets in `comparison.pairs` that have a start in common.
    pub pairs: Vec<SlicesPair>,
}

/// Variation of the ratio of two targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlicesPair {
    /// Names of the targets: the better one of the pair in `comparison.pairs` first.
    pub targets: [String; 2],
    /// Number of starts in which all slices of both targets ran as planned.
    pub starts: u32,
    /// Standard deviation over the slices of a start of the ratio of both figures, in %: the root of
    /// the mean over starts of the variance.
    pub slices_deviation_percent: f64,
    /// Standard deviation over starts of the mean ratio of each start, in %. `None` with fewer than two
    /// starts.
    pub starts_deviation_percent: Option<f64>,
    /// Share of the variance over starts that the variation within starts does not explain, in %, from
    /// 0 to 100: the part that is the starts' own, and that further slices do not reduce. `None` with
    /// fewer than two starts.
    pub starts_own_percent: Option<f64>,
}
