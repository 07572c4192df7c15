//! How many rounds a difference takes to be found.

use statrs::distribution::{ChiSquared, Continuous, ContinuousCDF};
use statrs::function::erf::erfc;

use super::sample::{FEWEST_ROUNDS, Sample, t_quantile};

/// The difference that the rounds are to find: 5 %.
const DIFFERENCE: f64 = 1.05;
/// How surely they are to find it.
const POWER: f64 = 0.9;
/// How surely the noise is no greater than what is reckoned with.
const CONFIDENCE: f64 = 0.8;
/// More are not asked for.
const MOST_ROUNDS: u32 = 1_000;

/// The fewest rounds that find a true difference of 5 % in nine of ten runs, by Student's paired
/// test at this level; `None` where that is more than a thousand.
///
/// A few rounds tell their own noise badly: half of all samples of five show less than 92 % of it,
/// and rounds planned from them fall short. So the noise is taken at an upper 80 % confidence bound
/// (Browne, "On the Use of a Pilot Sample for Sample Size Determination", 1995): in four of five
/// cases the true noise is smaller, and the rounds suffice.
#[must_use]
pub fn rounds_needed(sample: &Sample, level: f64) -> Option<u32> {
    let noise = upper_deviation(sample)?;
    let enough = |rounds: u32| power(DIFFERENCE.ln() / noise, rounds, level) >= Some(POWER);
    // The fewest that are enough lie in (short, long]: more rounds never find less.
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

/// The bound that the true standard deviation is below with a probability of [`CONFIDENCE`].
fn upper_deviation(sample: &Sample) -> Option<f64> {
    let freedom = f64::from(sample.rounds.checked_sub(1)?);
    let chi_squared = ChiSquared::new(freedom).ok()?;
    Some(sample.deviation * (freedom / chi_squared.inverse_cdf(1.0 - CONFIDENCE)).sqrt())
}

/// The probability that Student's two-sided test at this level finds a true mean of so many
/// standard deviations.
///
/// The statistic is then distributed by the noncentral t. Given the ratio s of the sample's
/// standard deviation to the true one, its tails are the normal's; what is left is to integrate
/// over s, whose square times n − 1 is distributed by chi-squared.
fn power(effect: f64, rounds: u32, level: f64) -> Option<f64> {
    /// Steps of Simpson's rule: twice as many change no digit that is tested.
    const STEPS: u32 = 200;
    /// Standard deviations of s to integrate over, which is about normal with 1 / √2(n − 1).
    const REACH: f64 = 8.0;

    let critical = t_quantile(1.0 - level / 2.0, rounds)?;
    let freedom = f64::from(rounds.checked_sub(1)?);
    let chi_squared = ChiSquared::new(freedom).ok()?;
    let shift = effect * f64::from(rounds).sqrt();
    let found = |s: f64| {
        let tails = normal(shift - critical * s) + normal(-shift - critical * s);
        // Not `pdf`, which overflows from about 250 degrees of freedom on.
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

/// The share of the standard normal distribution below `x`.
fn normal(x: f64) -> f64 {
    0.5 * erfc(-x / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    // v = n - 1; c = scipy.stats.t.ppf(1 - level / 2, v); nc = effect * math.sqrt(n)
    // scipy.stats.nct.sf(c, v, nc) + scipy.stats.nct.cdf(-c, v, nc), and the same by
    // statsmodels.stats.power.TTestPower().power(effect, n, level)
    #[test]
    fn power_is_scipys() {
        for (effect, rounds, level, expected) in [
            (1.0, 5, 0.05, 0.40138991737179536),
            (2.0, 5, 0.05 / 6.0, 0.49951577949218345),
            (0.5, 10, 0.05, 0.29317560651407687),
            (1.5, 12, 0.05, 0.9969653402916214),
            (0.3, 100, 0.05, 0.8439471027374162),
            (0.1, 1_000, 0.05 / 6.0, 0.6979491679293928),
        ] {
            let power = power(effect, rounds, level).unwrap();
            assert!((power - expected).abs() < 1e-7, "{effect} {rounds}: {power}");
        }
    }

    // scipy.stats.chi2.ppf(0.2, n - 1)
    #[test]
    fn the_bound_of_the_noise_is_scipys() {
        for (rounds, quantile) in [
            (5, 1.648776618065969),
            (10, 5.380053211773292),
            (100, 87.0052119108777),
            (300, 278.2487361216943),
            (1_000, 961.1991397603393),
        ] {
            let sample = Sample { rounds, mean: 0.0, deviation: 0.04 };
            let expected = 0.04 * (f64::from(rounds - 1) / quantile).sqrt();
            assert!((upper_deviation(&sample).unwrap() / expected - 1.0).abs() < 1e-9, "{rounds}");
        }
    }

    // TTestPower().solve_power(effect_size=math.log(1.05) / noise, alpha=level, power=0.9),
    // rounded up, and at least 5: 2.4, 3.9, 4.1, 6.2, 6.2, 9.4, 13.1, 19.7, 46.1, 68.1, 399.2, 584.6
    #[test]
    fn rounds_are_those_of_statsmodels() {
        for (noise, for_one_pair, for_six) in [
            (0.01, 5, 5),
            (0.02, 5, 7),
            (0.03, 7, 10),
            (0.05, 14, 20),
            (0.1, 47, 69),
            (0.3, 400, 585),
        ] {
            let unit = upper_deviation(&Sample { rounds: 5, mean: 0.0, deviation: 1.0 }).unwrap();
            let sample = Sample { rounds: 5, mean: 0.0, deviation: noise / unit };
            assert_eq!(rounds_needed(&sample, 0.05), Some(for_one_pair), "{noise}");
            assert_eq!(rounds_needed(&sample, 0.05 / 6.0), Some(for_six), "{noise}");
        }
    }

    #[test]
    fn no_noise_takes_the_fewest_and_too_much_no_number() {
        let sample = |deviation| Sample { rounds: 5, mean: 0.0, deviation };
        assert_eq!(rounds_needed(&sample(0.0), 0.05), Some(FEWEST_ROUNDS));
        assert_eq!(rounds_needed(&sample(1.0), 0.05), None);
        assert_eq!(rounds_needed(&Sample { rounds: 1, ..sample(0.0) }, 0.05), None);
    }
}
