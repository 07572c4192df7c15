//! Computes the curve of latency over throughput, and its knee.

use crate::record::CurvePoint;

use crate::record::TrialRecord;
use loadgen_measure::{Latencies, LatencySummary};

/// A trial of a capacity search with all of its latencies, so that trials at similar rates can be
/// merged.
#[derive(Debug, Clone)]
pub struct Tried {
    /// Record of the trial.
    pub record: TrialRecord,
    /// Latencies of the expected answers.
    pub answered: Latencies,
}

/// Returns the points of the curve of latency over throughput, in ascending order of the rate.
/// Trials form one point if their rates exceed the lowest rate among them by at most a share of
/// `precision`, such as 0.05. A point has the merged latencies of its trials, so that no percentile
/// is an average.
#[must_use]
pub fn curve(trials: &[Tried], precision: f64) -> Vec<CurvePoint> {
    let mut sorted: Vec<&Tried> = trials.iter().collect();
    sorted.sort_by(|a, b| a.record.rate_per_s.total_cmp(&b.record.rate_per_s));
    let mut points = Vec::new();
    let mut rest = sorted.as_slice();
    while let Some(first) = rest.first() {
        let end = first.record.rate_per_s * (1.0 + precision);
        let (alike, others) = rest.split_at(rest.partition_point(|t| t.record.rate_per_s <= end));
        points.push(point(alike));
        rest = others;
    }
    points
}

fn point(trials: &[&Tried]) -> CurvePoint {
    let sum = |of: fn(&TrialRecord) -> f64| trials.iter().map(|t| of(&t.record)).sum::<f64>();
    let mut answered = Latencies::default();
    trials.iter().for_each(|trial| answered.merge(&trial.answered));
    let (lasted_s, requests) = (sum(|t| t.held_s), sum(|t| t.total.requests as f64));
    let cpu_s: Option<f64> =
        trials.iter().map(|t| t.record.resources.get("target").map(|used| used.cpu_s)).sum();
    let over = |divisor: f64, value: f64| if divisor > 0.0 { value / divisor } else { 0.0 };
    CurvePoint {
        rate_per_s: (sum(|t| t.rate_per_s.ln()) / trials.len().max(1) as f64).exp(),
        trials: count(trials.len()),
        passed: count(trials.iter().filter(|t| t.record.passed).count()),
        answered_per_s: over(lasted_s, answered.len() as f64),
        error_rate: over(requests, sum(|t| t.total.errors as f64)),
        latency_us: LatencySummary::from(&answered),
        target_cpu_percent: cpu_s.map(|cpu_s| 100.0 * over(lasted_s, cpu_s)),
        target_cpu_us_per_request: cpu_s
            .filter(|_| requests > 0.0)
            .map(|cpu_s| 1e6 * cpu_s / requests),
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Returns the knee of a curve: the point of the greatest power, which is throughput over mean
/// latency (L. Kleinrock, "Power and Deterministic Rules of Thumb for Probabilistic Problems in
/// Computer Communications", ICC 1979). Below the knee, more load costs little latency; above the
/// knee, more load mostly costs latency. `None` if no point has a mean latency above 0.
#[must_use]
pub fn knee(curve: &[CurvePoint]) -> Option<&CurvePoint> {
    let power = |point: &CurvePoint| {
        point.latency_us.mean.filter(|us| *us > 0.0).map(|us| point.answered_per_s / us)
    };
    let powered = curve.iter().filter_map(|point| Some((point, power(point)?)));
    // `max_by` returns the last of several equal points, which is the point of the lowest rate
    // here.
    powered.rev().max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(point, _)| point)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use loadgen_measure::{Counts, Summary};

    /// Returns a trial of one second with `n` answers of this latency.
    fn tried(rate_per_s: f64, held: bool, latency: Duration, n: u32) -> Tried {
        let mut counts = Counts::default();
        (0..n).for_each(|_| counts.answered.record(latency));
        let record = TrialRecord {
            round: 1,
            rate_per_s,
            held_s: 1.0,
            passed: held,
            generator_limited: false,
            bottleneck: None,
            reasons: Vec::new(),
            total: Summary::new("all", &counts, &Counts::default(), Duration::from_secs(1)),
            resources: BTreeMap::new(),
            others_percent: None,
            other_loadgen: false,
        };
        Tried { record, answered: counts.answered }
    }

    #[test]
    fn trials_at_similar_rates_form_one_point() {
        let ms = Duration::from_millis;
        let trials = [
            tried(103.0, true, ms(30), 10),
            tried(100.0, true, ms(10), 30),
            tried(200.0, false, ms(50), 20),
        ];
        let curve = curve(&trials, 0.05);
        assert_eq!(
            curve.iter().map(|p| (p.trials, p.passed)).collect::<Vec<_>>(),
            [(2, 2), (1, 0)]
        );
        assert!((101.0..102.0).contains(&curve[0].rate_per_s), "{}", curve[0].rate_per_s);
        // Thirty of forty answers in two seconds took 10 ms: the median is that of merged
        // latencies, and not a mean of 20 ms.
        assert_eq!(curve[0].answered_per_s, 20.0);
        assert!((9_990..=10_010).contains(&curve[0].latency_us.p50.unwrap()));
        assert_eq!(curve[0].target_cpu_percent, None);
    }

    #[test]
    fn the_knee_is_where_throughput_over_latency_is_greatest() {
        // M/M/1 that serves 1,000/s: latency is 1 / (1000 - rate), and half the load is best.
        let at = |rate: u32| {
            let latency = Duration::from_secs_f64(1.0 / f64::from(1_000 - rate));
            tried(rate.into(), true, latency, rate)
        };
        let trials: Vec<Tried> = (1..10).map(|n| at(100 * n)).collect();
        let curve = curve(&trials, 0.05);
        assert_eq!(knee(&curve).unwrap().rate_per_s.round(), 500.0);
        assert_eq!(knee(&[]), None);
    }
}
