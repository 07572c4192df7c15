//! What targets are compared by: a figure of each whole round, by its number.

use super::compare::ByRound;
use super::offered_rate::OfferedRate;
use crate::record::{Lack, LoadRecord, RoundRecord};

/// What the ranking goes by.
#[must_use]
pub fn rates(rounds: &[RoundRecord]) -> ByRound {
    let whole = rounds.iter().filter(|round| round.whole);
    whole.map(|round| (round.round, round.total.rate_per_s)).collect()
}

/// How fast the rounds of this load were answered: one over the median latency in s.
///
/// # Errors
///
/// If there is no such figure of a round, or no round.
pub fn speeds(rounds: &[RoundRecord], load: &LoadRecord) -> Result<ByRound, Lack> {
    at_the_rate(rounds, load, |round| Some(1e6 / round.total.latency_us.p50? as f64))
}

/// How many expected answers a second of the target's CPU gave; nothing where a round lacks the figure.
#[must_use]
pub fn requests_per_cpu_s(rounds: &[RoundRecord], load: &LoadRecord) -> ByRound {
    at_the_rate(rounds, load, |round| round.resources.get("target")?.requests_per_cpu_s)
        .unwrap_or_default()
}

/// The share of requests that may fail, or have no answer, in a round that is compared: the latencies
/// of the others are not those of the load that was asked for.
const FAILED: f64 = 0.01;

/// A figure of each whole round.
fn at_the_rate(
    rounds: &[RoundRecord],
    load: &LoadRecord,
    figure: impl Fn(&RoundRecord) -> Option<f64>,
) -> Result<ByRound, Lack> {
    let kept = |round: &RoundRecord| {
        OfferedRate::of(load, round.held_s).is_none_or(|asked| asked.is_kept_by(&round.total))
    };
    let whole = || rounds.iter().filter(|round| round.whole);
    if whole().next().is_none() {
        return Err(Lack::NoWholeRound);
    }
    if !whole().all(kept) {
        return Err(Lack::RateNotCarried);
    }
    if whole().any(|round| round.total.error_rate_with_in_flight() > FAILED) {
        return Err(Lack::TooManyErrors);
    }
    let figures = whole().map(|round| Some((round.round, figure(round)?)));
    figures.collect::<Option<_>>().ok_or(Lack::TooFewAnswers)
}
