//! What targets are compared by: a figure of each whole round, by its number.

use super::compare::{ByRound, Lack};
use super::record::RoundRecord;

/// What the ranking goes by.
#[must_use]
pub fn rates(rounds: &[RoundRecord]) -> ByRound {
    let whole = rounds.iter().filter(|round| round.whole);
    whole.map(|round| (round.round, round.total.rate_per_s)).collect()
}

/// How fast the rounds were answered: one over the median latency in s.
///
/// # Errors
///
/// If there is no such figure of a round, or no round.
pub fn speeds(rounds: &[RoundRecord]) -> Result<ByRound, Lack> {
    at_the_rate(rounds, |round| Some(1e6 / round.total.latency_us.p50? as f64))
}

/// How many expected answers a second of the target's CPU gave; nothing where a round lacks the figure.
#[must_use]
pub fn requests_per_cpu_s(rounds: &[RoundRecord]) -> ByRound {
    at_the_rate(rounds, |round| round.resources.get("target")?.requests_per_cpu_s)
        .unwrap_or_default()
}

/// From this share of its planned requests on, a target carries the rate of the open model.
const CARRIED: f64 = 0.99;

/// A figure of each whole round.
fn at_the_rate(
    rounds: &[RoundRecord],
    figure: impl Fn(&RoundRecord) -> Option<f64>,
) -> Result<ByRound, Lack> {
    let carried = |round: &RoundRecord| {
        let total = &round.total;
        let planned =
            [total.cancelled, total.unsent].into_iter().fold(total.requests, u64::saturating_add);
        total.requests.saturating_sub(total.errors) as f64 >= CARRIED * planned as f64
    };
    let whole = || rounds.iter().filter(|round| round.whole);
    if whole().next().is_none() {
        return Err(Lack::NoWholeRound);
    }
    if !whole().all(carried) {
        return Err(Lack::RateNotCarried);
    }
    let figures = whole().map(|round| Some((round.round, figure(round)?)));
    figures.collect::<Option<_>>().ok_or(Lack::TooFewAnswers)
}
