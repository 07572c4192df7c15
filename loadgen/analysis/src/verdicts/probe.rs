//! Checks whether the latencies of the load are those of another client at the same time, the probe.

use super::rate::rate_not_kept;
use super::verdict;
use crate::probe::{over_rounds, us};
use crate::record::{
    LoadRecord, Percentile, ProbeRatio, RoundRecord, RunRecord, TargetRecord, Verdict, VerdictKind,
};
use crate::statistics::LEVEL;
use loadgen_text::milliseconds;

/// Least factor between the latencies of load and probe, and least difference in µs, for a verdict;
/// both must be exceeded. A percentile with only ten samples beyond it is estimated too low, by 2 % for
/// exponentially distributed latencies; and a process that sends rarely finds its caches cold, and must
/// first be woken.
const LEAST: (f64, f64) = (1.1, 200.0);

/// Greatest number of requests of the probe, as a share of those of the load, for a verdict that the
/// load waits longer. Where a server works on one request at a time, each request of the probe delays
/// one of each user: of up to four users, fewer than half of the requests are then delayed. With more
/// users, one more request matters less than [`LEAST`].
const MOST: f64 = 0.1;

/// Share of a latency that may be due to a late process: as late as the probe sends a request, it may
/// also read the response.
const SENT_AND_READ: f64 = 2.0;

/// Returns a verdict if a latency percentile of the load is shown to differ from that of the probe, in
/// at least five rounds: of the highest such percentile.
pub(super) fn probe_differs(target: &TargetRecord, record: &RunRecord) -> Option<Verdict> {
    let ratios = target.probe.as_ref()?.ratios.iter().rev();
    // Requests that wait until a user is free, because the target does not carry the rate, wait for no
    // other reason that is known: `rate_not_kept` tells of them.
    let waits_for_users = rate_not_kept(target, record).is_some();
    let differs = |percentile: Percentile, ratio: &ProbeRatio| {
        differs(target, percentile, ratio) && !(waits_for_users && ratio.ratio > 1.0)
    };
    let (percentile, ratio) = ratios.into_iter().find(|it| differs(*it.0, it.1))?;
    let [low, high] = ratio.confidence_95?;
    let [load, probe] = means(target, *percentile)?.map(|us| milliseconds(Some(us as u64)));
    let waits = if ratio.ratio > 1.0 { "less" } else { "longer" };
    let message = format!(
        "{percentile} of the load is {:.2} times that of the probe ({low:.2}–{high:.2}), {load} and \
         {probe} ms: another client that sends the same requests at the same time waits {waits} than \
         the figures of the load say",
        ratio.ratio
    );
    let advice = if ratio.ratio > 1.0 { LONGER.to_owned() } else { shorter(&record.load) };
    Some(verdict(target, VerdictKind::ProbeDiffers, message, &advice))
}

const LONGER: &str = "the load waits for itself: in loadgen (give it more CPUs or --workers), on connections that its \
     users share, or because its requests come together (spread them over time); or the server serves \
     its connections unequally";

/// Returns the advice for a load whose latencies are shorter than those of the probe.
fn shorter(load: &LoadRecord) -> String {
    let why = match load.arrivals.as_deref() {
        None => {
            "in the closed model, a user finds only the requests of the other users, and a stall of the \
             server delays each user once: use more users, or the open model with arrivals = \"poisson\"; \
             or "
        }
        Some("Poisson") => "both send at random times: ",
        Some(_) => {
            "evenly spaced requests meet each other less often than requests at random times: set \
             arrivals = \"poisson\"; or "
        }
    };
    format!(
        "{why}see whether the server serves its connections unequally, or closes idle ones, so that \
         requests of the probe must connect"
    )
}

fn differs(target: &TargetRecord, percentile: Percentile, ratio: &ProbeRatio) -> bool {
    let far = means(target, percentile).is_some_and(|[load, probe]| {
        (load - probe).abs() >= LEAST.1 && ratio.ratio.ln().abs() >= LEAST.0.ln()
    });
    let is_true = match ratio.ratio > 1.0 {
        true => is_small(target),
        false => is_shorter_than_without_delays(target, percentile),
    };
    far && ratio.p_holm.is_some_and(|p| p < LEVEL) && is_true
}

/// Returns whether the probe sent few enough requests not to be a load of its own.
fn is_small(target: &TargetRecord) -> bool {
    let probe = target.probe.as_ref().map_or(0, |probe| probe.total.requests);
    probe as f64 <= MOST * target.total.requests as f64
}

/// Returns whether the latency of the load is still shorter than that of the probe if the probe's own
/// delays are left out, as far as they are known.
fn is_shorter_than_without_delays(target: &TargetRecord, percentile: Percentile) -> bool {
    let without = over_rounds(&target.rounds, |load, probe| {
        let delay = us(percentile, &probe.delay_us)?;
        let of_server = us(percentile, &probe.latency_us)? - SENT_AND_READ * delay;
        // A ratio that is not positive has no logarithm.
        Some(us(percentile, &load.latency_us)? / of_server)
    });
    without.is_some_and(|sample| sample.geometric_mean() * LEAST.0 <= 1.0)
}

/// Returns the means of a percentile of the load and of the probe over whole rounds, in µs.
fn means(target: &TargetRecord, percentile: Percentile) -> Option<[f64; 2]> {
    let whole: Vec<&RoundRecord> = target.rounds.iter().filter(|round| round.whole).collect();
    let mean = |of: &dyn Fn(&RoundRecord) -> Option<f64>| {
        let all: Option<Vec<f64>> = whole.iter().map(|round| of(round)).collect();
        Some(all?.iter().sum::<f64>() / whole.len() as f64)
    };
    Some([
        mean(&|round| us(percentile, &round.total.latency_us))?,
        mean(&|round| us(percentile, &round.probe.as_ref()?.latency_us))?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe_ratios;
    use crate::record::ProbeRecord;
    use loadgen_measure::{LatencySummary, Summary};

    /// Noise of five rounds, as factors.
    const NOISE: [f64; 5] = [1.0, 1.02, 0.99, 0.98, 1.01];

    fn summary(us: f64, delay_us: u64, requests: u64) -> Summary {
        let latency = |us: u64| LatencySummary { p50: Some(us), ..LatencySummary::default() };
        let latency_us = latency(us as u64);
        Summary { requests, latency_us, delay_us: latency(delay_us), ..Summary::default() }
    }

    /// Returns a target whose load and probe have these medians in µs in each of five rounds.
    fn target(load_us: f64, probe_us: f64, delay_us: u64, probes: u64) -> TargetRecord {
        let round = |noise: f64| RoundRecord {
            whole: true,
            total: summary(load_us * noise, 0, 1_000),
            probe: Some(summary(probe_us, delay_us, probes)),
            ..RoundRecord::default()
        };
        let rounds: Vec<RoundRecord> = NOISE.map(round).into();
        let probe = ProbeRecord {
            total: summary(probe_us, delay_us, 5 * probes),
            ratios: probe_ratios(&rounds),
        };
        let total = summary(load_us, 0, 5_000);
        TargetRecord { rounds, total, probe: Some(probe), ..TargetRecord::default() }
    }

    fn said(target: &TargetRecord, arrivals: Option<&str>) -> Option<[String; 2]> {
        let arrivals = arrivals.map(str::to_owned);
        let rate_per_s = arrivals.is_some().then_some(100.0);
        let load = LoadRecord { arrivals, rate_per_s, ..LoadRecord::default() };
        let verdict = probe_differs(target, &RunRecord { load, ..RunRecord::default() })?;
        Some([verdict.message, verdict.advice])
    }

    #[test]
    fn a_load_that_waits_longer_than_the_probe_waits_for_itself() {
        let [message, advice] = said(&target(12_000.0, 6_000.0, 100, 50), None).unwrap();
        assert_eq!(
            message,
            "p50 of the load is 2.00 times that of the probe (1.96–2.04), 12.0 and 6.00 ms: another \
             client that sends the same requests at the same time waits less than the figures of the \
             load say"
        );
        assert_eq!(advice, LONGER);
    }

    #[test]
    fn a_probe_that_waits_longer_shows_what_users_do_not_see() {
        let four = target(8_000.0, 9_000.0, 100, 50);
        let [message, closed] = said(&four, None).unwrap();
        assert!(message.starts_with("p50 of the load is 0.89 times"), "{message}");
        assert!(message.ends_with("waits longer than the figures of the load say"), "{message}");
        assert!(closed.starts_with("in the closed model"), "{closed}");
        let [_, even] = said(&four, Some("evenly spaced")).unwrap();
        assert!(even.starts_with("evenly spaced requests"), "{even}");
        let [_, poisson] = said(&four, Some("Poisson")).unwrap();
        assert!(poisson.starts_with("both send at random times"), "{poisson}");
    }

    #[test]
    fn small_differences_and_few_rounds_give_no_verdict() {
        assert_eq!(said(&target(9_300.0, 9_000.0, 100, 50), None), None, "3 %");
        assert_eq!(said(&target(400.0, 300.0, 10, 50), None), None, "100 us");
        assert_eq!(said(&TargetRecord::default(), None), None, "no probe");
        let mut four = target(12_000.0, 6_000.0, 100, 50);
        four.rounds.pop();
        let ratios = probe_ratios(&four.rounds);
        four.probe = four.probe.map(|probe| ProbeRecord { ratios, ..probe });
        assert_eq!(said(&four, None), None, "four rounds");
    }

    #[test]
    fn a_probe_that_is_a_load_or_late_gives_no_verdict() {
        assert_eq!(said(&target(12_000.0, 6_000.0, 100, 150), None), None, "15 % of the requests");
        assert_eq!(
            said(&target(8_000.0, 9_000.0, 400, 50), None),
            None,
            "its own delays explain it"
        );
        assert_eq!(said(&target(8_000.0, 9_000.0, 5_000, 50), None), None, "nothing is left");
        // More requests of the probe make the load wait longer, and hide no shorter latency.
        assert!(said(&target(8_000.0, 9_000.0, 100, 150), None).is_some());
    }

    #[test]
    fn a_rate_that_is_not_kept_explains_that_the_load_waits_longer() {
        let mut slow = target(12_000.0, 6_000.0, 100, 50);
        slow.total.unsent = 100;
        assert_eq!(said(&slow, Some("evenly spaced")), None);
        assert!(said(&slow, None).is_some(), "the closed model has no rate to keep");
        let mut fast = target(8_000.0, 9_000.0, 100, 50);
        fast.total.unsent = 100;
        assert!(said(&fast, Some("evenly spaced")).is_some(), "the load waits less all the same");
    }
}
