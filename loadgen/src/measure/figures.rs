//! What targets are compared by: a figure of each round, by its number.

use std::collections::BTreeMap;

use super::record::RoundRecord;

/// What the ranking goes by: the rates of whole rounds, or of the others where there is none.
///
/// Those of a target that is ranked all the same ended the run, or had too few rows, as all the others
/// then: there are never enough of them for a claim.
#[must_use]
pub fn rates(rounds: &[RoundRecord]) -> BTreeMap<u32, f64> {
    let any_whole = rounds.iter().any(|round| round.whole);
    let ranked = rounds.iter().filter(|round| round.whole || !any_whole);
    ranked.map(|round| (round.round, round.total.rate_per_s)).collect()
}

/// How fast the rounds were answered: one over the median latency in s.
#[must_use]
pub fn speeds(rounds: &[RoundRecord]) -> BTreeMap<u32, f64> {
    at_the_rate(rounds, |round| Some(1e6 / round.total.latency_us.p50? as f64))
}

/// How many expected answers a second of the target's CPU gave.
#[must_use]
pub fn requests_per_cpu_s(rounds: &[RoundRecord]) -> BTreeMap<u32, f64> {
    at_the_rate(rounds, |round| round.resources.get("target")?.requests_per_cpu_s)
}

/// From this share of its planned requests on, a target carries the rate of the open model.
const CARRIED: f64 = 0.99;

/// A figure of each whole round; nothing where one of them did not carry the rate or lacks the
/// figure.
fn at_the_rate(
    rounds: &[RoundRecord],
    figure: impl Fn(&RoundRecord) -> Option<f64>,
) -> BTreeMap<u32, f64> {
    let carried = |round: &RoundRecord| {
        let total = &round.total;
        let planned = total.requests + total.cancelled + total.unsent;
        (total.requests - total.errors) as f64 >= CARRIED * planned as f64
    };
    let whole = rounds.iter().filter(|round| round.whole);
    let figure =
        |round: &RoundRecord| Some((round.round, figure(round).filter(|_| carried(round))?));
    whole.map(figure).collect::<Option<_>>().unwrap_or_default()
}
