//! Holds the comparison of targets: which one is better, and how certain the difference is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::percentile::Percentile;

/// Least number of rounds for which a difference is claimed. If the noise is normal, two rounds are
/// enough for Student's t. But fewer than five rounds cannot show whether the noise is normal, and
/// their confidence intervals are so wide that they say little.
pub const FEWEST_ROUNDS: u32 = 5;

/// Ranking of the targets, and comparison of pairs of targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Quantity by which the targets are ranked.
    pub ranked_by: RankedBy,
    /// Test that compares two targets; [`Test::Paired`] in records of earlier versions.
    #[serde(default)]
    pub test: Test,
    /// Number of rounds at the end of each stage of a measurement that decided on its rounds
    /// (`--precision`). Empty for a fixed number of rounds, and in records of earlier versions.
    #[serde(default)]
    pub stages: Vec<u32>,
    /// Ranked targets, best first.
    pub ranking: Vec<Placing>,
    /// Compared pairs of targets. In a run with several numbers of server workers or users, a pair
    /// consists of different targets with equal numbers. In a comparison of saved runs, a pair
    /// consists of a target and the same target in the first run.
    pub pairs: Vec<Pair>,
    /// Pairs compared by the targets' CPU time per expected answer. Empty for
    /// capacities and, without duets, in the closed model, because CPU times are comparable only at an
    /// equal rate.
    pub cpu_pairs: Vec<Pair>,
    /// Pairs compared by each latency percentile. Without the median in the open model, where
    /// `pairs` has it. Empty for capacities, and in records of earlier versions.
    #[serde(default)]
    pub latency_pairs: Vec<LatencyPair>,
    /// Pairs of a target with itself: with most and fewest server workers, and with most and fewest
    /// users. Empty if the run has only one number of server workers and of users.
    pub scaling: Vec<Pair>,
    /// Noise floor: the difference to expect between two measurements of the same server, in %. The
    /// value is half the width of the 95 % confidence interval of the ratio of two measurements.
    /// `None` where different servers were compared, and with fewer than five rounds.
    pub noise_floor_percent: Option<f64>,
    /// Targets that were measured but not ranked: another party than the target limited the rate,
    /// the capacity is only a bound, or no round ran as planned.
    pub unranked: Vec<String>,
    /// Reason why a target has no figure to compare, by the target's name. Empty in records of
    /// earlier versions.
    #[serde(default)]
    pub lacking: BTreeMap<String, Lack>,
    /// Reason why a target is not compared by a latency percentile, by the target's name. Empty for
    /// capacities, and in records of earlier versions.
    #[serde(default)]
    pub latency_lacking: BTreeMap<String, BTreeMap<Percentile, Lack>>,
}

/// Reason why a target has no figure to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// All rounds were cut short, or had another load than planned.
    #[error("has no round of full length and load")]
    NoWholeRound,
    /// In a round of the open model, the target fell behind by more than 1 % of the requested load.
    #[error("did not carry the rate")]
    RateNotCarried,
    /// More than 1 % of a round's requests failed or had no answer.
    #[error("has a round in which more than 1 % of the requests failed or had no response")]
    TooManyErrors,
    /// loadgen itself limited the rate, or may have limited the rate.
    #[error("has a rate that loadgen itself limited")]
    LimitedByLoadgen,
    /// A backend limited the rate.
    #[error("has a rate that a backend limited")]
    LimitedByBackend,
    /// The network limited the rate.
    #[error("has a rate that the network limited")]
    LimitedByNetwork,
    /// A round has too few expected answers for a median, or for the percentile concerned.
    #[error("has a round with too few expected responses for a median")]
    TooFewAnswers,
    /// The CPU time of the target is unknown in a round.
    #[error("has a round without a known CPU time")]
    NoCpuTime,
    /// The search found only a bound of the capacity.
    #[error("has only a bound of its capacity")]
    OnlyABound,
}

/// Quantity that decides which target is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RankedBy {
    /// Number of expected answers per second, in the closed model, in which users wait for each
    /// answer.
    #[serde(rename = "expected answers per second")]
    Answers,
    /// Median latency, in the open model, in which all targets get the same rate.
    #[serde(rename = "median latency")]
    Speed,
    /// Highest rate that the target carries.
    #[serde(rename = "capacity")]
    Capacity,
}

/// Statistical test of whether two targets differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// Student's t-test of the differences within each round, in which an influence on a whole
    /// round cancels out.
    #[default]
    Paired,
    /// Welch's t-test, for rounds of different runs, which have nothing in common.
    Welch,
}

/// Place of one target in the ranking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Placing {
    /// Name of the target.
    pub target: String,
    /// Expected answers per second: the geometric mean over rounds, or the arithmetic mean if a
    /// round has no expected answer. In a ranking by capacity: the geometric mean of the rounds'
    /// capacities, in requests/s.
    pub rate_per_s: f64,
    /// 95 % confidence interval of the geometric mean, in the same unit as `rate_per_s`. `None`
    /// with fewer than two rounds, or where a round has no expected answer.
    pub confidence_95_per_s: Option<[f64; 2]>,
    /// `rate_per_s` over the highest `rate_per_s` of any target, from 0 to 1.
    pub relative_to_best: f64,
}

/// Comparison of two targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Name of the better target, which has the higher rate of expected answers or the higher
    /// capacity; in the open model, the lower median latency; in `cpu_pairs`, the lower CPU time
    /// per answer; in `latency_pairs`, the lower percentile. The difference may be chance: see
    /// `shown`.
    pub better: String,
    /// Name of the other target.
    pub worse: String,
    /// Number of rounds that both targets have. With Welch's test: number of rounds of the target
    /// that has fewer.
    pub rounds: u32,
    /// Ratio of the two targets, at least 1. By rate or capacity: the better target's value over
    /// the worse target's. By latency or CPU time per expected answer: the worse target's value
    /// over the better target's. The values are geometric means over the compared rounds. `None`
    /// without a round, or if a target has no expected answer in a round.
    pub ratio: Option<f64>,
    /// Degrees of freedom of the test; `None` with fewer than five rounds, without a ratio, and in
    /// records of earlier versions.
    #[serde(default)]
    pub freedom: Option<f64>,
    /// 95 % confidence interval of the ratio, for this pair alone; `None` with fewer than five
    /// rounds or without a ratio.
    pub confidence_95: Option<[f64; 2]>,
    /// p-value of the test, for this pair alone; `None` with fewer than five rounds or without a
    /// ratio.
    pub p_value: Option<f64>,
    /// p-value after Holm's correction over all pairs of the comparison, of which those by latency
    /// percentiles are a family of their own; `None` where `p_value` is `None`.
    pub p_holm: Option<f64>,
    /// Whether the difference is more than chance: `p_holm` is below 0.05. The interval
    /// `confidence_95` then excludes 1.
    pub shown: bool,
    /// Number of further rounds needed to find a difference of 5 % with 90 % power; 0 if the
    /// measured rounds suffice. `None` where `p_value` is `None`, and where more than 1,000 rounds
    /// are needed in all.
    pub more_rounds_for_5_percent: Option<u32>,
}

/// Comparison of two targets by a latency percentile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyPair {
    /// The compared percentile of the latency, from the planned send of a request.
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
