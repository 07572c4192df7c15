//! Detects whether the rate still rises or falls during the measurement of a round.

use std::ops::Range;

use crate::analysis::statistics::Sample;
use crate::measure::SecondRecord;
use crate::record::{FEWEST_ROUNDS, RoundRecord};

/// Least number of whole seconds that a round must measure to show a trend.
const FEWEST_SECONDS: usize = 4;

/// Change of the rate from the first half of a round's hold to the second half.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Size of the change, in %: the geometric mean over rounds.
    pub percent: f64,
    /// 95 % confidence interval of `percent`, in %.
    pub confidence_95_percent: [f64; 2],
}

impl Trend {
    /// Returns the trend of the rate within a target's rounds; `None` unless Student's 95 %
    /// confidence interval over rounds excludes zero. Requires at least five rounds that ran as
    /// planned, each with at least four whole seconds of hold, the measured period. The load must
    /// not change during the hold, which begins `ramp_up_s` seconds after the warm-up.
    #[must_use]
    pub fn of(rounds: &[RoundRecord], ramp_up_s: f64) -> Option<Self> {
        let ratios: Option<Vec<f64>> = rounds
            .iter()
            .filter(|round| round.whole)
            .map(|round| second_half_to_first(&round.seconds, ramp_up_s, round.held_s))
            .collect();
        let sample = Sample::of_figures(ratios?).filter(|s| s.rounds >= FEWEST_ROUNDS)?;
        let ends = sample.confidence_95()?;
        let leaves_out_zero = ends[0] > 0.0 || ends[1] < 0.0;
        let percent = |logarithm: f64| logarithm.exp_m1() * 100.0;
        leaves_out_zero.then(|| Self {
            percent: percent(sample.mean),
            confidence_95_percent: ends.map(percent),
        })
    }
}

/// Returns the ratio of the rate in the second half of the hold (the measured period) to the rate
/// in the first half. Only whole seconds count, and an odd middle second belongs to neither half.
/// `None` for fewer than four whole seconds.
fn second_half_to_first(seconds: &[SecondRecord], ramp_up_s: f64, held_s: f64) -> Option<f64> {
    let Range { start: from, end: to } = whole_seconds(ramp_up_s, held_s);
    let half = to.checked_sub(from).filter(|whole| *whole >= FEWEST_SECONDS)? / 2;
    let answered = |from: usize| -> f64 {
        let within =
            |second: &&SecondRecord| (from..from + half).contains(&(second.second as usize));
        seconds.iter().filter(within).map(|second| second.answered as f64).sum()
    };
    Some(answered(to - half) / answered(from))
}

/// Returns the whole seconds of a hold, counted from the end of the warm-up.
pub(super) fn whole_seconds(ramp_up_s: f64, held_s: f64) -> Range<usize> {
    // A second that a clock measures slightly short still counts as whole.
    const CLOCK: f64 = 1e-3;
    let from = (ramp_up_s - CLOCK).ceil().max(0.0) as usize;
    from..(ramp_up_s + held_s + CLOCK).floor() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a round with a ramp-up of 2 s and a hold of as many seconds as there are rates.
    fn round(rates: &[u64]) -> RoundRecord {
        let second = |(second, answered): (u32, &u64)| SecondRecord {
            second,
            answered: *answered,
            errors: 0,
            p50_us: None,
            p99_us: None,
        };
        RoundRecord {
            held_s: rates.len() as f64,
            whole: true,
            seconds: (0..).zip(&[&[1, 50][..], rates].concat()).map(second).collect(),
            ..RoundRecord::default()
        }
    }

    #[test]
    fn a_rate_that_rises_in_every_round_is_a_trend() {
        let rounds: Vec<RoundRecord> =
            [110, 108, 112, 109, 111].map(|late| round(&[95, 105, 7, late, late])).into();
        let trend = Trend::of(&rounds, 2.0).unwrap();
        // x = np.log(np.array([110, 108, 112, 109, 111]) / 100)
        // h = stats.t.ppf(0.975, 4) * x.std(ddof=1) / 5 ** 0.5
        // np.expm1([x.mean(), x.mean() - h, x.mean() + h]) * 100
        let [low, high] = trend.confidence_95_percent;
        for (measured, expected) in [trend.percent, low, high].into_iter().zip(EXPECTED) {
            assert!((measured - expected).abs() < 1e-6, "{trend:?}");
        }
        assert_eq!(Trend::of(&rounds[1..], 2.0), None, "four rounds");
    }

    const EXPECTED: [f64; 3] = [9.99090818915744, 8.04503319489973, 11.9718281029391];

    #[test]
    fn a_rate_that_rises_and_falls_is_no_trend() {
        let rounds: Vec<RoundRecord> =
            [110, 91, 100, 108, 94].map(|late| round(&[100, 100, late, late])).into();
        assert_eq!(Trend::of(&rounds, 2.0), None);
    }

    #[test]
    fn short_rounds_and_ramps_show_no_trend() {
        let short: Vec<RoundRecord> = vec![round(&[100, 150, 200]); 5];
        assert_eq!(Trend::of(&short, 2.0), None);
        let level: Vec<RoundRecord> = vec![round(&[100; 6]); 5];
        assert_eq!(Trend::of(&level, 2.0), None);
        assert!(Trend::of(&level, 0.5).is_some(), "where the ramp was taken for the hold");
    }

    #[test]
    fn a_half_without_answers_gives_no_trend() {
        assert_eq!(Trend::of(&vec![round(&[0, 0, 100, 100]); 5], 2.0), None);
    }
}
