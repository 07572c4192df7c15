//! Provides the sample of a figure whose number of rounds was decided during the measurement.
//!
//! Stein's two-stage procedure (C. Stein, *A Two-Sample Test for a Linear Hypothesis Whose Power is
//! Independent of the Variance*, Annals of Mathematical Statistics 16, 1945): a first stage estimates the
//! deviation, which decides how many rounds follow. Student's t with the deviation and the degrees of
//! freedom of the first stage then holds exactly for the mean over all rounds if the noise is normal,
//! because a normal sample's mean does not depend on its deviation. Looking again and again at an
//! ordinary interval would not keep its level.
//!
//! A first stage without the outliers that come later shows too small a deviation. Here, the deviation
//! is therefore the greatest of all stages, which makes the interval wider, never narrower.

use super::LEVEL;
use super::sample::{Sample, t_quantile};

impl Sample {
    /// Returns the sample of these logarithms, one for each round, of a measurement in stages. `ends` has
    /// the number of rounds at the end of each stage; the last stage ends with the last logarithm.
    /// Without stages, the sample is that of all rounds. `None` for no logarithm, or where one is not a
    /// finite number.
    #[must_use]
    pub fn in_stages(logarithms: &[f64], ends: &[usize]) -> Option<Self> {
        let all = Self::of(logarithms)?;
        let before = ends.iter().filter(|end| (1..logarithms.len()).contains(*end));
        let stages: Vec<Self> = before.filter_map(|end| Self::of(&logarithms[..*end])).collect();
        let deviation = stages.iter().map(|it| it.deviation).fold(all.deviation, f64::max);
        let freedom = stages.first().map_or(all.freedom, |first| first.freedom);
        Some(Self { deviation, freedom, ..all })
    }

    /// Returns the number of rounds in all after which Student's 95 % interval of the geometric mean is
    /// no wider than ± `percent` %, if the deviation stays; `None` for a sample of one round.
    #[must_use]
    pub fn rounds_for(&self, percent: f64) -> Option<u32> {
        let quantile = t_quantile(1.0 - LEVEL / 2.0, self.freedom)?;
        let needed = (quantile * self.deviation / (percent / 100.0).ln_1p()).powi(2).ceil();
        // A number that is too large becomes the greatest one.
        Some((needed as u32).max(1))
    }

    /// Returns half the width of Student's 95 % interval of the geometric mean, in %; `None` for a sample
    /// of one round.
    #[must_use]
    pub fn plus_minus_percent(&self) -> Option<f64> {
        let [low, high] = self.confidence_95()?;
        Some(((high - low) / 2.0).exp_m1() * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_stage_gives_the_freedom_and_the_widest_stage_the_deviation() {
        let [calm, wild] = [[0.1, 0.2, 0.3], [0.1, 0.9, -0.7]];
        let all = [calm, wild].concat();
        let plain = Sample::of(&all).unwrap();
        assert_eq!(Sample::in_stages(&all, &[]), Some(plain));
        assert_eq!(Sample::in_stages(&all, &[6]), Some(plain), "a single stage");
        let staged = Sample::in_stages(&all, &[3, 6]).unwrap();
        assert_eq!((staged.mean, staged.rounds, staged.freedom), (plain.mean, 6, 2.0));
        assert_eq!(staged.deviation, plain.deviation, "the later rounds are noisier");
        let calmer = Sample::in_stages(&[wild, calm].concat(), &[3]).unwrap();
        assert_eq!(calmer.deviation, Sample::of(&wild).unwrap().deviation);
        assert_eq!(Sample::in_stages(&[], &[3]), None);
    }

    #[test]
    fn the_needed_rounds_make_the_interval_as_narrow_as_asked() {
        // stats.t.ppf(.975, 9) = 2.2621571628540993; (2.2621571628540993 * 0.06 / np.log(1.03)) ** 2
        let sample = Sample { rounds: 10, mean: 0.0, deviation: 0.06, freedom: 9.0 };
        assert_eq!(sample.rounds_for(3.0), Some(22), "21.1");
        let then = Sample { rounds: 22, ..sample };
        assert!(then.plus_minus_percent().unwrap() <= 3.0);
        assert!(Sample { rounds: 21, ..sample }.plus_minus_percent().unwrap() > 3.0);
        assert_eq!(Sample { deviation: 0.0, ..sample }.rounds_for(3.0), Some(1));
        assert_eq!(Sample { rounds: 1, freedom: 0.0, ..sample }.rounds_for(3.0), None);
    }
}
