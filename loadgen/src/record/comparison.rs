//! Which target was better, and how sure that is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Rounds without which no difference is claimed. Student's t holds from two on if the noise is
/// normal; with fewer than five nobody could tell that it is not, and the intervals are so wide
/// that they say little.
pub const FEWEST_ROUNDS: u32 = 5;

/// What the comparison of all targets concludes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What the targets were ranked by.
    pub ranked_by: RankedBy,
    /// How two of them were held against each other.
    #[serde(default)]
    pub test: Test,
    /// The targets, best first.
    pub ranking: Vec<Placing>,
    /// Each target held against each other.
    pub pairs: Vec<Pair>,
    /// The same by what an expected answer took of the target's CPU, which can be compared where all
    /// were asked for one rate: empty in the closed model.
    pub cpu_pairs: Vec<Pair>,
    /// Each target with the most server workers against the fewest, and under the most users against
    /// the fewest; empty where there is one number of each.
    pub scaling: Vec<Pair>,
    /// By how much two measurements of the same server may differ: half the width of the 95 %
    /// confidence interval of their ratio. `None` where different servers were compared.
    pub noise_floor_percent: Option<f64>,
    /// Targets that were measured and are in no place: because the rate was that of somebody else, or
    /// their capacity no more than a bound, or none of their rounds whole.
    pub unranked: Vec<String>,
    /// The targets that have no figure to be compared by, and why.
    #[serde(default)]
    pub lacking: BTreeMap<String, Lack>,
}

/// Why a target has no figure to be compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// All of its rounds were cut short, or had less load than planned.
    #[error("has no round of full length and load")]
    NoWholeRound,
    /// It fell behind by more than a hundredth of what it was asked for in a round of the open model.
    #[error("did not carry the rate")]
    RateNotCarried,
    /// More than a hundredth of a round's requests failed, or had no answer.
    #[error("has a round in which more than 1 % of the requests failed or had no answer")]
    TooManyErrors,
    /// loadgen itself limited its rate, or may have.
    #[error("has a rate that loadgen itself limited")]
    LimitedByLoadgen,
    /// A backend limited its rate.
    #[error("has a rate that a backend limited")]
    LimitedByBackend,
    /// The network limited its rate.
    #[error("has a rate that the network limited")]
    LimitedByNetwork,
    /// One of its rounds has no median.
    #[error("has a round with too few answers for a median")]
    TooFewAnswers,
    /// Its capacity was not found.
    #[error("has only a bound of its capacity")]
    OnlyABound,
}

/// What tells which target is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RankedBy {
    /// How much they answered to users that wait for it.
    #[serde(rename = "expected answers per second")]
    Answers,
    /// How fast they answered at one rate.
    #[serde(rename = "median latency")]
    Speed,
    /// The highest rate that they carry.
    #[serde(rename = "capacity")]
    Capacity,
}

/// A test of whether two targets differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// Student's, of the differences within rounds: what slows or speeds a whole round cancels out.
    #[default]
    Paired,
    /// Welch's, of rounds that have nothing in common.
    Welch,
}

/// One target's place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Placing {
    /// The target.
    pub target: String,
    /// Expected answers per second: the geometric mean of its rounds; where a round has none at
    /// all, their arithmetic mean.
    pub rate_per_s: f64,
    /// The 95 % confidence interval of the geometric mean; `None` with fewer than two rounds, or
    /// where a round has no expected answer.
    pub confidence_95_per_s: Option<[f64; 2]>,
    /// This rate over that of the best target.
    pub relative_to_best: f64,
}

/// Two targets, held against each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The one that answered more in these rounds, in the open model faster, or with less CPU, whether
    /// or not that is more than chance.
    pub better: String,
    /// The other.
    pub worse: String,
    /// The rounds that both have; by Welch's test those of the one that has fewer.
    pub rounds: u32,
    /// The better's rate over the worse's; or the worse's median latency, or its CPU time for an
    /// expected answer, over the better's: by the geometric means of these rounds; `None` without any,
    /// or where one of them has no expected answer in a round.
    pub ratio: Option<f64>,
    /// The test's degrees of freedom; `None` with fewer than five rounds, as all that follows.
    #[serde(default)]
    pub freedom: Option<f64>,
    /// The ratio's 95 % confidence interval, for this pair on its own.
    pub confidence_95: Option<[f64; 2]>,
    /// The p-value of the test, for this pair on its own.
    pub p_value: Option<f64>,
    /// That value after Holm's correction for all pairs.
    pub p_holm: Option<f64>,
    /// Whether a difference was shown: `p_holm` is below 0.05. The interval then excludes 1.
    pub shown: bool,
    /// How many more rounds than these it takes to find a difference of 5 % with 90 % power;
    /// `None` also where it takes more than a thousand in all.
    pub more_rounds_for_5_percent: Option<u32>,
}

impl Comparison {
    /// Which of these two has no figure to be compared by, and why.
    #[must_use]
    pub fn lack<'a>(&self, two: [&'a str; 2]) -> Option<(&'a str, Lack)> {
        two.into_iter().find_map(|name| Some((name, *self.lacking.get(name)?)))
    }

    /// What was found of these two targets.
    #[must_use]
    pub fn pair(&self, one: &str, other: &str) -> Option<&Pair> {
        find(&self.pairs, one, other)
    }

    /// What was found of the CPU that these two targets need.
    #[must_use]
    pub fn cpu_pair(&self, one: &str, other: &str) -> Option<&Pair> {
        find(&self.cpu_pairs, one, other)
    }
}

fn find<'a>(pairs: &'a [Pair], one: &str, other: &str) -> Option<&'a Pair> {
    pairs.iter().find(|pair| {
        [(one, other), (other, one)].contains(&(pair.better.as_str(), pair.worse.as_str()))
    })
}
