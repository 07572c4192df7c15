//! Holds the evidence on duets, besides the comparison.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::comparison::Lack;

/// Evidence on the figures of duets, in which two contenders were loaded at the same time on the same
/// CPUs: whether the figures can be compared, and how much they vary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DuetRecord {
    /// Target that was measured together with each of the others.
    pub base: String,
    /// Each of the others.
    pub pairs: Vec<DuetPair>,
}

/// The duets of two contenders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DuetPair {
    /// Target that was measured together with the base.
    pub other: String,
    /// Rounds of full length and load.
    pub rounds: u32,
    /// CPU time of `other` over that of the base, while the full load was held: geometric mean over
    /// rounds; `None` without a round, or if the CPU time is unknown.
    pub cpu_time_ratio: Option<f64>,
    /// Reason why a contender has no CPU time per request to compare, by contender; empty if both
    /// have one.
    #[serde(default)]
    pub cpu_lacking: BTreeMap<String, Lack>,
    /// Reason why the requests per second of the two are not compared; `None` if they are compared.
    pub rates_not_compared: Option<NoRates>,
    /// Standard deviation over rounds of the ratio of the two rates; `None` with fewer than two
    /// rounds.
    pub rounds_deviation_percent: Option<f64>,
    /// Standard deviation over the seconds within a round of the ratio of the two rates; `None`
    /// with fewer than two whole seconds a round.
    pub seconds_deviation_percent: Option<f64>,
    /// Correlation of the ratio in one second with that in the next, from -1 to 1; `None` if
    /// `seconds_deviation_percent` is `null`.
    pub seconds_autocorrelation: Option<f64>,
}

/// Reason why the requests per second of two contenders of a duet are not compared. Their ratio is
/// that of the CPU time that they were given, unless each had work all the time and the scheduler
/// gave each the same.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error,
)]
#[serde(rename_all = "snake_case")]
pub enum NoRates {
    /// No round has full length and load.
    #[error("no round has full length and load")]
    NoWholeRound,
    /// Both had the same requested rate.
    #[error("both had the same requested rate")]
    OpenModel,
    /// Not both were limited by their CPU time in each round.
    #[error("not both were limited by their CPU time in each round")]
    Unsaturated,
    /// The two did not get the same CPU time: the ratio differs from 1 by more than 1 %, or by more
    /// than 5 % in a round.
    #[error("the two did not get the same CPU time")]
    UnequalShares,
    /// More than 1 % of the requests of a round failed or had no response.
    #[error("more than 1 % of the requests of a round failed or had no response")]
    TooManyErrors,
}

/// The other contender of a duet, as a round saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartnerRecord {
    /// Name of the target.
    pub name: String,
    /// Whether the target was started first.
    pub is_first: bool,
}
