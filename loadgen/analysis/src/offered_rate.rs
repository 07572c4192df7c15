//! Decides whether a target carried the rate of the open model: one rule for runs, comparisons and
//! searches.

use crate::record::{LoadRecord, StageRecord};
use loadgen_measure::Summary;

/// Greatest share of the planned requests (0 to 1) that may be missing if a target is to count as
/// carrying a rate.
const MISSED: f64 = 0.01;

/// The load that the open model requested during the hold, the measured period of a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OfferedRate {
    /// Mean number of planned requests. Infinite if a number of iterations ends the round, because
    /// then all requests must end.
    requests: f64,
    /// Load before the hold, which determines the number of requests in flight at the beginning of
    /// the hold.
    before: Before,
    /// Requested rate at the end of the hold, in requests/s.
    at_end_per_s: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Before {
    /// A constant rate in requests/s, and its duration in s.
    Constant(f64, f64),
    /// A rate in requests/s that is reached from zero, and the duration of the rise in s.
    Ramp(f64, f64),
}

impl OfferedRate {
    /// Returns a load of `rate_per_s` requests/s for `held_s` seconds, after a warm-up of
    /// `warmup_s` seconds at the same rate.
    #[must_use]
    pub fn constant(rate_per_s: f64, held_s: f64, warmup_s: f64) -> Self {
        Self {
            requests: rate_per_s * held_s,
            before: Before::Constant(rate_per_s, warmup_s),
            at_end_per_s: rate_per_s,
        }
    }

    /// Returns the rate that `load` requests in a round whose measured period took `held_s`
    /// seconds; `None` in the closed model.
    #[must_use]
    pub fn of(load: &LoadRecord, held_s: f64) -> Option<Self> {
        let rate_per_s = load.rate_per_s?;
        let constant = Self::constant(rate_per_s, held_s, load.warmup_s);
        if load.iterations.is_some() {
            return Some(Self { requests: f64::INFINITY, ..constant });
        }
        if let (Some(first), Some(last)) = (load.stages.first(), load.stages.last()) {
            return Some(Self {
                requests: area(&load.stages),
                before: Before::Constant(first.to, load.warmup_s),
                at_end_per_s: last.to,
            });
        }
        let before = match load.ramp_up_s > 0.0 {
            true => Before::Ramp(rate_per_s, load.ramp_up_s),
            false => constant.before,
        };
        Some(Self { before, ..constant })
    }

    /// Returns whether the target carried the rate. Either hardly any request was unsent or in
    /// flight at the end, or nearly all planned requests ended. The second condition allows for
    /// requests that are in flight at the end only because each request takes its time, and not
    /// because the target fell behind.
    #[must_use]
    pub fn is_kept_by(&self, total: &Summary) -> bool {
        let left = total.cancelled as f64 + total.unsent as f64;
        let ended = total.requests as f64;
        let planned = ended + left;
        let latency_s = total.latency_us.mean.unwrap_or(0.0) / 1e6;
        let due = (1.0 - MISSED) * self.requests - self.filling(latency_s);
        planned > 0.0 && (left <= MISSED * planned || ended >= due)
    }

    /// Returns by how much the number of requests in flight grows during the hold if each request
    /// takes `latency_s` seconds, by Little's law. Without a warm-up, the growth equals the number
    /// of requests that arrive before the first request is answered.
    fn filling(&self, latency_s: f64) -> f64 {
        let at_start = match self.before {
            Before::Constant(rate, seconds) => rate * latency_s.min(seconds),
            Before::Ramp(rate, seconds) => {
                let latency_s = latency_s.min(seconds);
                rate * latency_s * (1.0 - latency_s / (2.0 * seconds))
            }
        };
        (self.at_end_per_s * latency_s - at_start).max(0.0)
    }
}

/// Returns the number of requests in these stages. The rate changes linearly within a stage, and
/// the first stage begins at a rate of zero.
fn area(stages: &[StageRecord]) -> f64 {
    let before = [0.0].into_iter().chain(stages.iter().map(|stage| stage.to));
    before.zip(stages).map(|(from, stage)| (from + stage.to) / 2.0 * stage.over_s).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen_measure::LatencySummary;

    /// Returns a summary with this many requests that ended (`requests`), were in flight at the end
    /// (`cancelled`) or were not sent (`unsent`), and with this mean latency in ms.
    fn total(requests: u64, cancelled: u64, unsent: u64, mean_ms: f64) -> Summary {
        let latency_us = LatencySummary { mean: Some(mean_ms * 1e3), ..LatencySummary::default() };
        Summary { requests, cancelled, unsent, latency_us, ..Summary::default() }
    }

    fn kept(asked: OfferedRate, requests: u64, cancelled: u64, mean_ms: f64) -> bool {
        asked.is_kept_by(&total(requests, cancelled, 0, mean_ms))
    }

    #[test]
    fn slow_answers_do_not_mean_a_missed_rate() {
        // 100 requests/s for 3 s, of 50 ms each: five are in flight at any time.
        let warm = OfferedRate::constant(100.0, 3.0, 1.0);
        assert!(kept(warm, 300, 5, 50.0));
        // Without a warm-up, the first five answers come later than the requests.
        let cold = OfferedRate::constant(100.0, 3.0, 0.0);
        assert!(kept(cold, 295, 5, 50.0));
        assert!(kept(cold, 200, 100, 1_000.0), "of 1 s each");
    }

    #[test]
    fn a_target_that_falls_behind_does_not_carry_the_rate() {
        let warm = OfferedRate::constant(100.0, 3.0, 1.0);
        assert!(!kept(warm, 294, 20, 50.0));
        // The target carries 95/s: 15 requests wait at the end of 3 s, each 80 ms longer on
        // average.
        let cold = OfferedRate::constant(100.0, 3.0, 0.0);
        assert!(!kept(cold, 280, 20, 130.0));
        // Five in a hundred requests have no answer; the others are fast.
        assert!(!kept(warm, 285, 20, 50.0));
        assert!(!kept(cold, 280, 20, 50.0));
        assert!(!warm.is_kept_by(&total(200, 0, 100, 1.0)), "unsent");
        assert!(!kept(warm, 0, 0, 0.0), "nothing was planned");
    }

    #[test]
    fn a_random_number_of_planned_requests_is_tolerated() {
        let asked = OfferedRate::constant(1_000.0, 1.0, 1.0);
        assert!(kept(asked, 950, 5, 1.0));
        assert!(kept(asked, 1_000, 100, 100.0));
        assert!(!kept(asked, 900, 110, 10.0));
    }

    #[test]
    fn requests_in_flight_at_the_last_stage_are_expected() {
        let stage = |to, over_s| StageRecord { to, over_s };
        let load = |stages: &[StageRecord]| LoadRecord {
            rate_per_s: Some(500.0),
            stages: stages.to_vec(),
            ..LoadRecord::default()
        };
        // The rate rises to 500/s over 10 s: 2,500 requests, of which 250 are in flight at the end,
        // of 0.5 s each.
        let up = OfferedRate::of(&load(&[stage(500.0, 10.0)]), 10.0).unwrap();
        assert!(kept(up, 2_250, 250, 500.0));
        assert!(!kept(up, 2_000, 500, 500.0));
        // The rate falls again: no request should be left.
        let down = OfferedRate::of(&load(&[stage(500.0, 10.0), stage(0.0, 10.0)]), 20.0).unwrap();
        assert!(!kept(down, 4_750, 250, 500.0));
    }

    #[test]
    fn requests_in_flight_after_a_ramp_up_are_expected() {
        let load = LoadRecord { rate_per_s: Some(100.0), ramp_up_s: 1.0, ..LoadRecord::default() };
        let asked = OfferedRate::of(&load, 3.0).unwrap();
        // Requests take 1 s each: 50 are in flight at the beginning, and 100 at the end.
        assert!(kept(asked, 250, 100, 1_000.0));
        assert!(!kept(asked, 230, 120, 1_000.0));
        assert_eq!(OfferedRate::of(&LoadRecord::default(), 3.0), None, "the closed model");
    }

    #[test]
    fn all_requests_must_end_if_iterations_end_the_round() {
        let load =
            LoadRecord { rate_per_s: Some(100.0), iterations: Some(300), ..LoadRecord::default() };
        let asked = OfferedRate::of(&load, 3.05).unwrap();
        assert!(kept(asked, 300, 0, 50.0));
        assert!(!kept(asked, 290, 10, 50.0));
    }
}
