//! Applies Little's law: the users in a closed system are its throughput times the time that each
//! request takes.

use super::verdict;
use crate::record::{RoundRecord, RunRecord, TargetRecord, Verdict, VerdictKind};
use loadgen_text::counted;

/// Least share of the users' time, in %, spent on anything but waiting for answers, that leads to a
/// verdict.
const ELSEWHERE_PERCENT: f64 = 20.0;

/// Least length of a round, as a multiple of the mean latency. In a shorter round, requests that
/// the beginning or the end of the round cuts off would weigh too much.
const LATENCIES: f64 = 20.0;

/// Returns a verdict if users of the closed model spent much of their time on anything but waiting
/// for answers. The time between an answer and the next request is then loadgen's own, and limits
/// the rate.
///
/// The method is Little's law: J. D. C. Little, "A Proof for the Queuing Formula: L = λW",
/// Operations Research 9(3), 1961.
pub(super) fn littles_law(target: &TargetRecord, record: &RunRecord) -> Option<Verdict> {
    let load = &record.load;
    let waits = load.rate_per_s.is_none() && load.think_time.is_none() && load.stages.is_empty();
    if !waits || load.duration_s.is_none() {
        return None;
    }
    let waiting: Option<Vec<f64>> =
        target.rounds.iter().filter(|round| round.whole).map(waiting).collect();
    let waiting = waiting.filter(|rounds| !rounds.is_empty())?;
    let mean = waiting.iter().sum::<f64>() / waiting.len() as f64;
    let users = f64::from(target.users);
    if mean >= users * (1.0 - ELSEWHERE_PERCENT / 100.0) {
        return None;
    }
    let message = format!(
        "on average, only {mean:.1} of {} were waiting for a response: by Little's law, \
         the others were between two requests",
        counted(target.users.into(), "user")
    );
    let advice = "the time between two requests is loadgen's and not the server's: use more users, so \
                  that some always wait";
    Some(verdict(target, VerdictKind::LittlesLaw, message, advice))
}

/// Returns the mean number of requests in flight in a round; `None` for a round that is too short.
/// A request that failed after the round or never had an answer has an unknown duration. Such a
/// request counts as in flight for the whole round, which is an upper bound.
fn waiting(round: &RoundRecord) -> Option<f64> {
    let total = &round.total;
    let answered = (total.requests - total.errors) as f64;
    let seconds_of = |n: f64, mean_us: Option<f64>| n * mean_us.unwrap_or(0.0) / 1e6;
    let took_s = seconds_of(answered, total.latency_us.mean)
        + seconds_of(total.errors as f64, total.failed_us.mean);
    let each_s = took_s / (total.requests as f64).max(1.0);
    (total.requests > 0 && round.held_s >= LATENCIES * each_s)
        .then(|| took_s / round.held_s + total.unanswered as f64 + total.failed_late as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen_measure::{LatencySummary, Summary};

    fn round(requests: u64, errors: u64, mean_us: f64) -> RoundRecord {
        let latency = LatencySummary { mean: Some(mean_us), ..LatencySummary::default() };
        let total = Summary {
            requests,
            errors,
            latency_us: latency.clone(),
            failed_us: latency,
            ..Summary::default()
        };
        RoundRecord { held_s: 10.0, total, ..RoundRecord::default() }
    }

    #[test]
    fn rate_times_latency_is_the_number_of_waiting_users() {
        assert_eq!(waiting(&round(10_000, 0, 5_000.0)), Some(5.0));
        assert_eq!(waiting(&round(10_000, 2_500, 5_000.0)), Some(5.0), "failed ones are too");
        let mut stuck = round(10_000, 0, 5_000.0);
        stuck.total.unanswered = 3;
        assert_eq!(waiting(&stuck), Some(8.0), "who waits for ever waits");
        assert_eq!(waiting(&round(40, 0, 1e6)), None, "a tenth of the round each");
        assert_eq!(waiting(&round(0, 0, 1.0)), None);
    }
}
