//! Extracts the figures by which targets are compared: one figure for each start, by the start's
//! number. A round is whole if it ran to its planned end under its planned load. Without slices, each
//! whole round is a start of its own, and has the same number.

use super::compare::{ByPercentile, ByRound};
use super::offered_rate::OfferedRate;
use super::starts::{by_start, starts};
use crate::record::{Lack, LoadRecord, Percentile, RoundRecord};

/// Returns the rate of expected answers in each start, in requests/s, by which targets are ranked in
/// the closed model.
#[must_use]
pub fn rates(rounds: &[RoundRecord]) -> ByRound {
    by_start(rounds, |round| Some(round.total.rate_per_s)).unwrap_or_default()
}

/// Returns the speed of the answers in each start: one over the median latency in s.
///
/// # Errors
///
/// Returns an error if no round ran to its planned end under its planned load, or if such a round
/// did not carry the requested rate, has too many failures, or has too few answers for a median.
pub fn speeds(rounds: &[RoundRecord], load: &LoadRecord) -> Result<ByRound, Lack> {
    let speed = |round: &RoundRecord| Some(1e6 / round.total.latency_us.p50? as f64);
    at_the_rate(rounds, load, Lack::TooFewAnswers, speed)
}

/// Returns one over each latency percentile in s, by percentile. A percentile has an error instead
/// if no round ran to its planned end under its planned load, or if such a round did not carry the
/// requested rate, has too many failures, or has too few answers for the percentile.
#[must_use]
pub fn by_percentile(rounds: &[RoundRecord], load: &LoadRecord) -> ByPercentile {
    let figures = |percentile: Percentile| {
        let figure =
            |round: &RoundRecord| Some(1e6 / percentile.of(&round.total.latency_us)? as f64);
        at_the_rate(rounds, load, Lack::TooFewAnswers, figure)
    };
    Percentile::ALL.map(|percentile| (percentile, figures(percentile))).into()
}

/// Returns the expected answers per second of the target's CPU time, for each start.
///
/// # Errors
///
/// Returns an error if no round ran to its planned end under its planned load, or if such a round
/// did not carry the requested rate, has too many failures, or has no known CPU time
/// ([`Lack::NoCpuTime`]).
pub fn requests_per_cpu_s(rounds: &[RoundRecord], load: &LoadRecord) -> Result<ByRound, Lack> {
    let figure = |round: &RoundRecord| round.resources.get("target")?.requests_per_cpu_s;
    at_the_rate(rounds, load, Lack::NoCpuTime, figure)
}

/// Greatest share of requests (0 to 1) that may fail or have no answer in a compared round. With
/// more failures, the latencies of the other requests are not those of the requested load.
pub(super) const FAILED: f64 = 0.01;

/// Returns `figure` of each start if all of its whole rounds carried the requested rate (if any)
/// with few enough failures; otherwise the reason why the target has no figure to compare. That reason is
/// `without` if a round lacks the figure.
fn at_the_rate(
    rounds: &[RoundRecord],
    load: &LoadRecord,
    without: Lack,
    figure: impl Fn(&RoundRecord) -> Option<f64>,
) -> Result<ByRound, Lack> {
    let kept = |round: &RoundRecord| {
        OfferedRate::of(load, round.held_s).is_none_or(|asked| asked.is_kept_by(&round.total))
    };
    let starts = starts(rounds);
    let whole = || starts.values().flatten();
    if starts.is_empty() {
        return Err(Lack::NoWholeRound);
    }
    if !whole().all(|round| kept(round)) {
        return Err(Lack::RateNotCarried);
    }
    if whole().any(|round| round.total.error_rate_with_in_flight() > FAILED) {
        return Err(Lack::TooManyErrors);
    }
    by_start(rounds, figure).ok_or(without)
}
