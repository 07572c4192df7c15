//! Computes the number of rounds needed to find a difference.

use statrs::distribution::{ChiSquared, Continuous, ContinuousCDF};
use statrs::function::erf::erfc;

use super::sample::{Sample, t_quantile};
use crate::record::FEWEST_ROUNDS;

/// Ratio of two targets whose difference the proposed rounds must find: a difference of 5 %.
const DIFFERENCE: f64 = 1.05;
/// Statistical power: probability with which the rounds must find a true difference of 5 %.
const POWER: f64 = 0.9;
/// Confidence that the true noise is no greater than the noise assumed for the proposal.
const CONFIDENCE: f64 = 0.8;
/// Greatest number of rounds to propose.
const MOST_ROUNDS: u32 = 1_000;

/// Returns the least number of rounds that find a true difference of 5 % with a probability of 90 %
/// at this significance level; `None` if more than 1,000 rounds are needed. The test is Student's
/// paired test, or Welch's test with the returned number of rounds in each of two runs.
///
/// A few rounds estimate their own noise badly: half of all samples of five rounds show less than
/// 92 % of the true noise, and rounds planned from such samples are too few. The function therefore
/// assumes the upper 80 % confidence bound of the noise (Browne, "On the Use of a Pilot Sample for
/// Sample Size Determination", 1995): in four of five cases the true noise is smaller, and the
/// rounds suffice.
#[must_use]
pub fn rounds_needed(sample: &Sample, level: f64) -> Option<u32> {
    let noise = upper_deviation(sample)?;
    let effect = DIFFERENCE.ln() / noise;
    least_rounds(|rounds| power(effect, rounds, freedom(sample, rounds), level) >= Some(POWER))
}

/// Returns the degrees of freedom of a sample like this one, with this number of rounds. A difference
/// of two samples that are equally noisy and long has twice the degrees of freedom of a paired
/// difference. More freedom comes from one sample being longer, which a new run need not repeat.
fn freedom(sample: &Sample, rounds: u32) -> f64 {
    (sample.freedom / (f64::from(sample.rounds) - 1.0)).min(2.0) * f64::from(rounds - 1)
}

/// Returns the least number of rounds that are enough; `None` if more than 1,000 rounds are needed.
fn least_rounds(enough: impl Fn(u32) -> bool) -> Option<u32> {
    // The least sufficient number lies in (short, long]: more rounds never find less.
    let (mut short, mut long) = (FEWEST_ROUNDS - 1, MOST_ROUNDS);
    if !enough(long) {
        return None;
    }
    while long - short > 1 {
        let middle = short.midpoint(long);
        *(if enough(middle) { &mut long } else { &mut short }) = middle;
    }
    Some(long)
}

/// Returns the number of further rounds after which the confidence interval of the sample's mean
/// at this level excludes `bound` with a probability of 90 %, if the mean stays as measured: one at
/// least. `None` if more than 1,000 rounds are needed in all, or for a sample of one round. The
/// function assumes the same noise as [`rounds_needed`].
#[must_use]
pub fn rounds_to_exclude(sample: &Sample, bound: f64, level: f64) -> Option<u32> {
    let noise = upper_deviation(sample)?;
    let effect = (sample.mean - bound).abs() / noise;
    let is_enough = |rounds| power(effect, rounds, freedom(sample, rounds), level) >= Some(POWER);
    let needed = least_rounds(is_enough)?;
    Some(needed.saturating_sub(sample.rounds).max(1))
}

/// Returns the upper bound of the true standard deviation, at the confidence level [`CONFIDENCE`];
/// `None` for a sample of one round.
fn upper_deviation(sample: &Sample) -> Option<f64> {
    let chi_squared = ChiSquared::new(sample.freedom).ok()?;
    Some(sample.deviation * (sample.freedom / chi_squared.inverse_cdf(1.0 - CONFIDENCE)).sqrt())
}

/// Returns the power of Student's two-sided test: the probability that the test, with this number
/// of rounds, significance level and degrees of freedom, finds a true mean of `effect` standard
/// deviations.
///
/// The test statistic has the noncentral t distribution. Let s be the ratio of the sample's
/// standard deviation to the true one. For a given s, the probability is that of two tails of the
/// normal distribution. The function integrates over s, whose square times the degrees of freedom
/// has a chi-squared distribution.
fn power(effect: f64, rounds: u32, freedom: f64, level: f64) -> Option<f64> {
    /// Number of steps of Simpson's rule. Twice as many steps change no digit that the tests check.
    const STEPS: u32 = 200;
    /// Distance from 1 to which the function integrates s, in standard deviations of s. The ratio s
    /// is about normal, with a standard deviation of 1 / √(2 · freedom).
    const REACH: f64 = 8.0;

    let critical = t_quantile(1.0 - level / 2.0, freedom)?;
    let chi_squared = ChiSquared::new(freedom).ok()?;
    let shift = effect * f64::from(rounds).sqrt();
    let found = |s: f64| {
        let tails = normal(shift - critical * s) + normal(-shift - critical * s);
        // `pdf` overflows from about 250 degrees of freedom on, so the code uses `ln_pdf`.
        tails * chi_squared.ln_pdf(freedom * s * s).exp() * 2.0 * freedom * s
    };
    let reach = REACH / (2.0 * freedom).sqrt();
    let (from, to) = ((1.0 - reach).max(0.0), 1.0 + reach);
    let step = (to - from) / f64::from(STEPS);
    let sum: f64 = (0..=STEPS)
        .map(|i| {
            let weight = match i {
                0 | STEPS => 1.0,
                i if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            weight * found(from + f64::from(i) * step)
        })
        .sum();
    Some(sum * step / 3.0)
}

/// Returns the share of the standard normal distribution below `x`.
fn normal(x: f64) -> f64 {
    0.5 * erfc(-x / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::LEVEL;

    // v = n - 1; c = scipy.stats.t.ppf(1 - level / 2, v); nc = effect * math.sqrt(n)
    // scipy.stats.nct.sf(c, v, nc) + scipy.stats.nct.cdf(-c, v, nc), and the same by
    // statsmodels.stats.power.TTestPower().power(effect, n, level)
    #[test]
    fn power_equals_that_of_scipy() {
        for (effect, rounds, level, expected) in [
            (1.0, 5, 0.05, 0.40138991737179536),
            (2.0, 5, 0.05 / 6.0, 0.49951577949218345),
            (0.5, 10, 0.05, 0.29317560651407687),
            (1.5, 12, 0.05, 0.9969653402916214),
            (0.3, 100, 0.05, 0.8439471027374162),
            (0.1, 1_000, 0.05 / 6.0, 0.6979491679293928),
        ] {
            let power = power(effect, rounds, f64::from(rounds - 1), level).unwrap();
            assert!((power - expected).abs() < 1e-7, "{effect} {rounds}: {power}");
        }
    }

    // The same with v = 2 * (n - 1), and by
    // statsmodels.stats.power.TTestIndPower().power(effect * math.sqrt(2), n, level);
    // the last with v = 7.3
    #[test]
    fn power_with_more_freedom_equals_that_of_scipy() {
        for (effect, rounds, freedom, level, expected) in [
            (1.0, 5, 8.0, 0.05, 0.5024881312367732),
            (2.0, 5, 8.0, 0.05 / 6.0, 0.7993557049723132),
            (0.3, 100, 198.0, 0.05, 0.8474258551212468),
            (1.0, 7, 7.3, 0.05, 0.6296051977794561),
        ] {
            let power = power(effect, rounds, freedom, level).unwrap();
            assert!((power - expected).abs() < 1e-7, "{effect} {rounds}: {power}");
        }
    }

    // scipy.stats.chi2.ppf(0.2, n - 1)
    #[test]
    fn the_bound_of_the_noise_equals_that_of_scipy() {
        for (rounds, quantile) in [
            (5, 1.648776618065969),
            (10, 5.380053211773292),
            (100, 87.0052119108777),
            (300, 278.2487361216943),
            (1_000, 961.1991397603393),
        ] {
            let sample = paired(rounds, 0.04);
            let expected = 0.04 * (f64::from(rounds - 1) / quantile).sqrt();
            assert!((upper_deviation(&sample).unwrap() / expected - 1.0).abs() < 1e-9, "{rounds}");
        }
    }

    // TTestPower().solve_power(effect_size=math.log(1.05) / noise, alpha=level, power=0.9),
    // rounded up, and at least 5:
    // 2.4, 3.9, 4.1, 6.2, 6.2, 9.4, 13.1, 19.7, 46.1, 68.1, 399.2, 584.6
    #[test]
    fn rounds_equal_those_of_statsmodels() {
        for (noise, for_one_pair, for_six) in [
            (0.01, 5, 5),
            (0.02, 5, 7),
            (0.03, 7, 10),
            (0.05, 14, 20),
            (0.1, 47, 69),
            (0.3, 400, 585),
        ] {
            assert_asked(paired, noise, for_one_pair, for_six);
        }
    }

    // effect = |mean - bound| / upper bound of the noise, and the first of 5, 6, … rounds at which the
    // power above, with scipy's nct, is at least 0.9
    #[test]
    fn rounds_that_exclude_a_bound_equal_those_of_scipy() {
        for (values, bound, more) in [
            ([0.05, 0.01, 0.08, 0.02, 0.06], 0.0, Some(14 - 5)),
            ([0.5, 0.6, 0.4, 0.7, 0.3], 0.4, Some(66 - 5)),
            ([0.5, 0.52, 0.49, 0.51, 0.5], 0.2, Some(1)),
            ([0.5, 0.6, 0.4, 0.7, 0.3], 0.49, None),
        ] {
            let sample = Sample::of(&values).unwrap();
            assert_eq!(rounds_to_exclude(&sample, bound, LEVEL), more, "{values:?} {bound}");
        }
        assert_eq!(rounds_to_exclude(&Sample::of(&[0.5]).unwrap(), 0.0, LEVEL), None);
    }

    // TTestIndPower().solve_power(effect_size=math.log(1.05) / noise * math.sqrt(2), alpha=level,
    // power=0.9), rounded up, and at least 5:
    // (does not converge), 2.4, 3.1, 4.6, 5.2, 7.7, 12.1, 18.0, 45.1, 66.3, 398.2, 582.7
    #[test]
    fn rounds_of_two_samples_equal_those_of_statsmodels() {
        for (noise, for_one_pair, for_six) in [
            (0.01, 5, 5),
            (0.02, 5, 5),
            (0.03, 6, 8),
            (0.05, 13, 18),
            (0.1, 46, 67),
            (0.3, 399, 583),
        ] {
            assert_asked(apart, noise, for_one_pair, for_six);
        }
    }

    #[test]
    fn a_longer_baseline_does_not_reduce_the_rounds() {
        let longer = Sample { freedom: 12.0, ..apart(5, 1.0) };
        let of = |noise: f64, sample: Sample| {
            let unit = upper_deviation(&Sample { deviation: 1.0, ..sample }).unwrap();
            rounds_needed(&Sample { deviation: noise / unit, ..sample }, 0.05)
        };
        assert_eq!(of(0.03, longer), of(0.03, apart(5, 1.0)));
    }

    /// Asserts the number of rounds needed for one pair and for six pairs of targets. `of` creates
    /// a sample from a number of rounds and a standard deviation; `noise` is the upper bound of the
    /// sample's noise.
    #[track_caller]
    fn assert_asked(of: fn(u32, f64) -> Sample, noise: f64, for_one_pair: u32, for_six: u32) {
        let unit = upper_deviation(&of(5, 1.0)).unwrap();
        let sample = of(5, noise / unit);
        assert_eq!(rounds_needed(&sample, 0.05), Some(for_one_pair), "{noise}");
        assert_eq!(rounds_needed(&sample, 0.05 / 6.0), Some(for_six), "{noise}");
    }

    fn paired(rounds: u32, deviation: f64) -> Sample {
        Sample { rounds, mean: 0.0, deviation, freedom: f64::from(rounds.saturating_sub(1)) }
    }

    /// Returns the difference of two runs with the same noise and the same number of rounds.
    /// `deviation` is the standard deviation of the difference.
    fn apart(rounds: u32, deviation: f64) -> Sample {
        let one = paired(rounds, deviation / std::f64::consts::SQRT_2);
        one.less(&one)
    }

    #[test]
    fn no_noise_needs_the_fewest_rounds_and_too_much_gives_none() {
        assert_eq!(rounds_needed(&paired(5, 0.0), 0.05), Some(FEWEST_ROUNDS));
        assert_eq!(rounds_needed(&paired(5, 1.0), 0.05), None);
        assert_eq!(rounds_needed(&paired(1, 0.0), 0.05), None);
    }
}
