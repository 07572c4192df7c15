//! Holds the comparison of targets: which one is better, and how certain the difference is.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::percentile::Percentile;

/// Least number of rounds for which a difference is claimed. If the noise is normal, two rounds are
/// enough for Student's t. But fewer than five rounds cannot show whether the noise is normal, and
/// their confidence intervals are so wide that they say little.
pub const FEWEST_ROUNDS: u32 = 5;

/// Ranking of the targets, and comparison of pairs of targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Quantity of the ranking.
    pub ranked_by: RankedBy,
    /// Test of two targets; `paired` in documents of earlier versions.
    #[serde(default)]
    pub test: Test,
    /// Number of the last round of each stage of a run with `--precision`; empty for a fixed number
    /// of rounds, and in documents of earlier versions.
    #[serde(default)]
    pub stages: Vec<u32>,
    /// Ranked targets, best first.
    pub ranking: Vec<Placing>,
    /// Compared pairs of targets. With several numbers of server workers or users, only different
    /// targets with equal numbers form a pair. Between saved runs, only a target and the same
    /// target in the first run form a pair.
    pub pairs: Vec<Pair>,
    /// Pairs compared by the target's CPU time per expected response; empty for capacities and,
    /// without duets, in the closed model.
    pub cpu_pairs: Vec<Pair>,
    /// Pairs compared by each latency percentile; without the median in the open model, where
    /// `pairs` has it; empty for capacities, and in documents of earlier versions.
    #[serde(default)]
    pub latency_pairs: Vec<LatencyPair>,
    /// Pairs of one target with itself: most server workers with fewest, and most users with
    /// fewest; empty if the run has only one number of each.
    pub scaling: Vec<Pair>,
    /// Difference to expect between two measurements of the same server: half the width of the 95 %
    /// confidence interval of their ratio; `None` if different servers were compared, or with
    /// fewer than five rounds.
    pub noise_floor_percent: Option<f64>,
    /// Targets that were measured but have no place in the ranking: another party limited the rate,
    /// the capacity is only a bound, or no round is whole.
    pub unranked: Vec<String>,
    /// Reason why a target has no figure to compare, by target; empty in documents of earlier
    /// versions.
    #[serde(default)]
    pub lacking: BTreeMap<String, Lack>,
    /// Reason why a target is not compared by a latency percentile, by target and percentile, such
    /// as `p99_9`; empty for capacities, and in documents of earlier versions.
    #[serde(default)]
    pub latency_lacking: BTreeMap<String, BTreeMap<Percentile, Lack>>,
}

/// Reason why a target has no figure to compare.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error,
)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// The target has no round of full length and load.
    #[error("has no round of full length and load")]
    NoWholeRound,
    /// The target fell behind by more than 1 % of the requested load in a round of the open model.
    #[error("did not carry the rate")]
    RateNotCarried,
    /// The target has a round in which more than 1 % of the requests failed or had no response.
    #[error("has a round in which more than 1 % of the requests failed or had no response")]
    TooManyErrors,
    /// The target has a rate that loadgen itself limited, or may have limited.
    #[error("has a rate that loadgen itself limited")]
    LimitedByLoadgen,
    /// The target has a rate that a backend limited.
    #[error("has a rate that a backend limited")]
    LimitedByBackend,
    /// The target has a rate that the network limited.
    #[error("has a rate that the network limited")]
    LimitedByNetwork,
    /// The target has a round with too few expected responses for a median, or for the percentile.
    #[error("has a round with too few expected responses for a median")]
    TooFewAnswers,
    /// The target has a round without a known CPU time.
    #[error("has a round without a known CPU time")]
    NoCpuTime,
    /// The target has only a bound of its capacity.
    #[error("has only a bound of its capacity")]
    OnlyABound,
}

/// Quantity that decides which target is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RankedBy {
    /// The closed model, in which users wait for each response.
    #[serde(rename = "expected answers per second")]
    Answers,
    /// The open model, in which all targets get the same rate.
    #[serde(rename = "median latency")]
    Speed,
    /// Searches: the highest rate that the target carries.
    #[serde(rename = "capacity")]
    Capacity,
}

/// Statistical test of whether two targets differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// By Student, of the differences within rounds, in which an influence on a whole round cancels
    /// out.
    #[default]
    Paired,
    /// Like `Paired`, for rounds in one start of the servers: the error includes what another start would
    /// have brought.
    OneStart,
    /// By Welch, for rounds that have nothing in common.
    Welch,
}

/// Place of one target in the ranking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Placing {
    /// Name of the target.
    pub target: String,
    /// Expected responses per second: the geometric mean over rounds, or the arithmetic mean if a
    /// round has no expected response. Ranked by capacity: the geometric mean of the rounds'
    /// capacities, in requests/s.
    pub rate_per_s: f64,
    /// 95 % confidence interval of the geometric mean; `None` with fewer than two rounds, or if a
    /// round has no expected response.
    pub confidence_95_per_s: Option<[f64; 2]>,
    /// `rate_per_s` over the highest `rate_per_s` of any target, from 0 to 1.
    pub relative_to_best: f64,
}

/// Comparison of two targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// Target with more expected responses, or a higher capacity, in these rounds; in the open
    /// model, the faster target; in `cpu_pairs`, the target that needs less CPU; in
    /// `latency_pairs`, the target with the lower percentile. The difference may be chance: see
    /// `shown`.
    pub better: String,
    /// The other target.
    pub worse: String,
    /// Rounds that both targets have; with Welch's test, rounds of the target that has fewer.
    pub rounds: u32,
    /// Rate of `better` over that of `worse`; by latency or CPU time, the median or other
    /// percentile of the latency, or the CPU time per expected response, of `worse` over that of
    /// `better`. Each is the geometric mean over these rounds, so the ratio is at least 1. `None`
    /// without a round, or if a round has no expected response.
    pub ratio: Option<f64>,
    /// Degrees of freedom of the test; `None` with fewer than five rounds, without a ratio, or in
    /// earlier versions.
    #[serde(default)]
    pub freedom: Option<f64>,
    /// 95 % confidence interval of the ratio, for this pair alone; `None` with fewer than five
    /// rounds or without a ratio.
    pub confidence_95: Option<[f64; 2]>,
    /// p-value of the test, for this pair alone; `None` with fewer than five rounds or without a
    /// ratio.
    pub p_value: Option<f64>,
    /// p-value after Holm's correction over all pairs of the comparison, of which those by latency
    /// percentiles are a family of their own; `None` if `p_value` is `null`.
    pub p_holm: Option<f64>,
    /// Whether a difference is shown: `p_holm` is below 0.05. The interval then excludes 1.
    pub shown: bool,
    /// Further rounds needed to find a difference of 5 % with 90 % power; 0 if these rounds
    /// suffice. `None` if `p_value` is `null`, or if more than 1,000 rounds are needed in all.
    pub more_rounds_for_5_percent: Option<u32>,
}

/// Comparison of two targets by a latency percentile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyPair {
    /// Only in `latency_pairs`: the compared percentile.
    pub percentile: Percentile,
    /// The comparison.
    #[serde(flatten)]
    pub pair: Pair,
}

impl Comparison {
    /// Returns the first of two targets that has no figure to compare, and the reason; `None` if
    /// both targets have a figure.
    #[must_use]
    pub fn lack<'a>(&self, two: [&'a str; 2]) -> Option<(&'a str, Lack)> {
        two.into_iter().find_map(|name| Some((name, *self.lacking.get(name)?)))
    }

    /// Returns the pair of these two targets, in either order.
    #[must_use]
    pub fn pair(&self, one: &str, other: &str) -> Option<&Pair> {
        find(&self.pairs, one, other)
    }

    /// Returns the pair of these two targets compared by CPU time, in either order.
    #[must_use]
    pub fn cpu_pair(&self, one: &str, other: &str) -> Option<&Pair> {
        find(&self.cpu_pairs, one, other)
    }

    /// Returns the pair of these two targets compared by a latency percentile, in either order. In
    /// the open model, the pair of the medians is that of the ranking.
    #[must_use]
    pub fn latency_pair(&self, percentile: Percentile, one: &str, other: &str) -> Option<&Pair> {
        if percentile == Percentile::P50 && self.ranked_by == RankedBy::Speed {
            return self.pair(one, other);
        }
        let of = self.latency_pairs.iter().filter(|it| it.percentile == percentile);
        of.map(|it| &it.pair).find(|pair| pair.is_of(one, other))
    }

    /// Returns whether two targets were tested by a latency percentile: whether all percentiles before
    /// it in its sequence are shown. A percentile by which they are not compared keeps none from it.
    #[must_use]
    pub fn is_tested(&self, percentile: Percentile, one: &str, other: &str) -> bool {
        let before = |it: &&LatencyPair| percentile.before().contains(&it.percentile);
        let of_two = self.latency_pairs.iter().filter(|it| it.pair.is_of(one, other));
        of_two.filter(before).all(|it| it.pair.shown || it.pair.p_value.is_none())
    }
}

impl Pair {
    /// Returns whether the pair compares these two targets.
    #[must_use]
    pub fn is_of(&self, one: &str, other: &str) -> bool {
        [(one, other), (other, one)].contains(&(&*self.better, &*self.worse))
    }
}

fn find<'a>(pairs: &'a [Pair], one: &str, other: &str) -> Option<&'a Pair> {
    pairs.iter().find(|pair| pair.is_of(one, other))
}
