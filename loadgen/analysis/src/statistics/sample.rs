//! Provides a sample of logarithms, one for each round, with Student's t for its mean, and Welch's
//! test for the difference of two samples.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::LEVEL;

/// Greatest number of degrees of freedom of a sample with a component of known size.
const MOST_FREEDOM: f64 = 1e6;

/// Number, mean and standard deviation of the natural logarithms of a figure over rounds, or of a
/// ratio of two figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Number of rounds.
    pub rounds: u32,
    /// Mean of the logarithms.
    pub mean: f64,
    /// Standard deviation of the logarithms, with divisor n − 1; zero for one round.
    pub deviation: f64,
    /// Degrees of freedom of Student's t for the mean: the number of rounds minus one. For the
    /// difference of two samples, the degrees of freedom of Welch's test.
    pub freedom: f64,
}

impl Sample {
    /// Returns the sample of these logarithms; `None` for no logarithm, or where one is not a
    /// finite number.
    #[must_use]
    pub fn of(logarithms: &[f64]) -> Option<Self> {
        let rounds = u32::try_from(logarithms.len()).ok()?;
        let n = f64::from(rounds);
        let mean = logarithms.iter().sum::<f64>() / n;
        let squares = logarithms.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        let deviation = if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
        // The mean is not finite where a figure is zero, which has no logarithm, or without any
        // figure.
        mean.is_finite().then_some(Self { rounds, mean, deviation, freedom: n - 1.0 })
    }

    /// Returns the sample of the logarithms of these figures; `None` without figures, or if a
    /// figure is not a positive finite number.
    #[must_use]
    pub fn of_figures(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        Self::of(&figures.into_iter().map(f64::ln).collect::<Vec<_>>())
    }

    /// Restores a sample from its number of rounds, its degrees of freedom and its confidence
    /// interval [`Self::geometric_95`]; `None` if `freedom` is not greater than 0.
    #[must_use]
    pub fn of_interval(rounds: u32, freedom: f64, [low, high]: [f64; 2]) -> Option<Self> {
        let half_width = (high / low).ln() / 2.0;
        let deviation =
            half_width / t_quantile(1.0 - LEVEL / 2.0, freedom)? * f64::from(rounds).sqrt();
        Some(Self { rounds, mean: (low * high).ln() / 2.0, deviation, freedom })
    }

    /// Returns the difference of this sample and another sample with unrelated rounds, by Welch's
    /// t-test (B. L. Welch, "The Generalization of 'Student's' Problem when Several Different
    /// Population Variances are Involved", Biometrika 34, 1947). The result has the difference of
    /// the means, the error that the test computes, and the number of rounds of the smaller sample.
    #[must_use]
    pub fn less(&self, other: &Self) -> Self {
        let [one, two] = [self, other].map(|sample| sample.error().powi(2));
        let variance = one + two;
        let freedom = variance.powi(2) / (one.powi(2) / self.freedom + two.powi(2) / other.freedom);
        let rounds = self.rounds.min(other.rounds);
        Self {
            rounds,
            mean: self.mean - other.mean,
            deviation: (variance * f64::from(rounds)).sqrt(),
            // The quotient is not a number without any noise, or for a single round.
            freedom: if freedom.is_nan() { self.freedom.min(other.freedom) } else { freedom },
        }
    }

    /// Returns the sample of rounds that share one start of their servers, with an error that includes what
    /// another start would have brought: a component of known size beside the one that the rounds show
    /// (JCGM 100:2008, "Guide to the expression of uncertainty in measurement", types A and B in 4.3, and
    /// the degrees of freedom of their sum in G.4). `deviation` is the standard deviation over starts, in
    /// the unit of the sample. A single round remains as it is.
    #[must_use]
    pub fn within_one_start(self, deviation: f64) -> Self {
        if self.rounds < 2 {
            return self;
        }
        let (within, over_starts) = (self.error().powi(2), deviation.powi(2));
        let all = within + over_starts;
        let freedom = self.freedom * (all / within).powi(2);
        Self {
            deviation: (all * f64::from(self.rounds)).sqrt(),
            // Not a number without any noise. More than this hardly differs from a normal distribution.
            freedom: if freedom < MOST_FREEDOM { freedom } else { MOST_FREEDOM },
            ..self
        }
    }

    /// Returns the geometric mean of the figures.
    #[must_use]
    pub fn geometric_mean(&self) -> f64 {
        self.mean.exp()
    }

    /// Returns Student's 95 % confidence interval of the mean of the logarithms; `None` for one
    /// round.
    #[must_use]
    pub fn confidence_95(&self) -> Option<[f64; 2]> {
        self.confidence(LEVEL)
    }

    /// Returns Student's confidence interval of the mean of the logarithms, which misses the mean with
    /// the probability `level`; `None` for one round.
    #[must_use]
    pub fn confidence(&self, level: f64) -> Option<[f64; 2]> {
        let half_width = t_quantile(1.0 - level / 2.0, self.freedom)? * self.error();
        Some([self.mean - half_width, self.mean + half_width])
    }

    /// Returns the 95 % confidence interval of the geometric mean of the figures; `None` for one
    /// round.
    #[must_use]
    pub fn geometric_95(&self) -> Option<[f64; 2]> {
        self.confidence_95().map(|ends| ends.map(f64::exp))
    }

    /// Returns the probability of a mean at least this far from zero if the true mean were zero, by
    /// Student's two-sided test; `None` for one round.
    #[must_use]
    pub fn p_value(&self) -> Option<f64> {
        let student = student(self.freedom)?;
        match self.error() {
            0.0 if self.mean == 0.0 => Some(1.0),
            error => Some((2.0 * student.sf((self.mean / error).abs())).min(1.0)),
        }
    }

    /// Returns the standard error of the mean.
    fn error(&self) -> f64 {
        self.deviation / f64::from(self.rounds).sqrt()
    }
}

/// Returns Student's 95 % confidence interval of the arithmetic mean of these values, which may be
/// zero; `None` for fewer than two values.
#[must_use]
pub fn mean_95(values: &[f64]) -> Option<[f64; 2]> {
    // A sample does not care whether its numbers are logarithms.
    Sample::of(values)?.confidence_95()
}

/// Returns the quantile of Student's t with these degrees of freedom; `None` where `freedom` is not
/// greater than 0.
pub(super) fn t_quantile(probability: f64, freedom: f64) -> Option<f64> {
    Some(student(freedom)?.inverse_cdf(probability))
}

fn student(freedom: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, freedom).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn assert_close(measured: f64, expected: f64) {
        assert!((measured / expected - 1.0).abs() < 1e-9, "{measured} is not {expected}");
    }

    // scipy.stats.t.ppf(q, n - 1), SciPy 1.17.1, for q = 0.975 and 1 - 0.05 / 12: an interval's
    // end, and the first step of Holm's correction for the six pairs of four targets.
    #[test]
    fn quantiles_equal_those_of_scipy() {
        for (rounds, end, first_of_six) in [
            (2_u32, 12.706204736174694, 76.39000931113632),
            (3, 4.302652729749462, 10.885866619163108),
            (5, 2.7764451051977934, 4.851008443097864),
            (10, 2.262157162798205, 3.364203432439991),
            (30, 2.045229642132703, 2.8315526875186805),
            (100, 1.9842169515864174, 2.692306055494673),
            (1_000, 1.9623414611334493, 2.643522759641752),
        ] {
            let freedom = f64::from(rounds - 1);
            assert_close(t_quantile(0.975, freedom).unwrap(), end);
            assert_close(t_quantile(1.0 - 0.05 / 12.0, freedom).unwrap(), first_of_six);
        }
        assert_eq!(t_quantile(0.975, 0.0), None);
    }

    const A: [f64; 5] = [1203.1, 1188.4, 1240.9, 1195.2, 1211.7];
    const B: [f64; 5] = [1150.2, 1161.9, 1172.3, 1139.8, 1180.6];
    const C: [f64; 5] = [1175.0, 1168.1, 1239.5, 1121.3, 1187.6];

    fn paired(a: &[f64], b: &[f64]) -> Sample {
        Sample::of_figures(a.iter().zip(b).map(|(a, b)| a / b)).unwrap()
    }

    // r = scipy.stats.ttest_rel(np.log(a), np.log(b)); ci = r.confidence_interval(0.95)
    // np.exp(np.mean(np.log(a) - np.log(b))), r.pvalue, np.exp(ci.low), np.exp(ci.high)
    #[test]
    fn a_paired_test_equals_that_of_scipy() {
        let sample = paired(&A, &B);
        assert_close(sample.geometric_mean(), 1.0403630209519665);
        assert_close(sample.p_value().unwrap(), 0.003837779759423789);
        let [low, high] = sample.geometric_95().unwrap();
        assert_close(low, 1.021545838285155);
        assert_close(high, 1.0595268218029514);
        for (a, b, p, ends) in [
            (A, C, 0.07267127781802622, [0.9963117625386065, 1.0555453769777183]),
            (C, B, 0.2950856338476837, [0.9813743607711037, 1.0487281874352898]),
        ] {
            assert_close(paired(&a, &b).p_value().unwrap(), p);
            let [low, high] = paired(&a, &b).geometric_95().unwrap();
            assert_close(low, ends[0]);
            assert_close(high, ends[1]);
        }
    }

    // r = scipy.stats.ttest_ind(np.log(a), np.log(b), equal_var=False)
    // ci = r.confidence_interval(0.95)
    // np.exp(np.mean(np.log(a)) - np.mean(np.log(b))), r.df, r.pvalue,
    // np.exp(ci.low), np.exp(ci.high)
    #[test]
    fn a_test_of_two_samples_equals_that_of_scipy() {
        let eight = [1190.4, 1233.8, 1164.2, 1207.5, 1199.9, 1246.3, 1181.1, 1215.0];
        let of = |figures: &[f64]| Sample::of_figures(figures.iter().copied()).unwrap();
        for (a, b, ratio, freedom, p, ends) in [
            (
                &A[..],
                &B[..],
                1.0403630209519676,
                7.776645155838082,
                0.004028726100162195,
                [1.0169431960651565, 1.0643221957256273],
            ),
            (
                &A,
                &C,
                1.0255009873111527,
                5.668153491407239,
                0.2083765154138943,
                [0.9813226142778844, 1.0716682359857947],
            ),
            (
                &eight,
                &B,
                1.0375951056065718,
                10.968507834344821,
                0.003921054777374055,
                [1.0146753060985396, 1.0610326246317054],
            ),
            (
                &C,
                &eight,
                0.9777344323240025,
                5.980670272440936,
                0.2557946586752283,
                [0.9357538098928272, 1.021598426899728],
            ),
        ] {
            let difference = of(a).less(&of(b));
            assert_eq!(difference.rounds, 5);
            assert_close(difference.geometric_mean(), ratio);
            assert_close(difference.freedom, freedom);
            assert_close(difference.p_value().unwrap(), p);
            let [low, high] = difference.geometric_95().unwrap();
            assert_close(low, ends[0]);
            assert_close(high, ends[1]);
        }
    }

    // scipy.stats.t.interval(0.95, 5, loc=numpy.mean(values), scale=scipy.stats.sem(values))
    #[test]
    fn the_interval_of_a_mean_equals_that_of_scipy() {
        let [low, high] = mean_95(&[0.0, 0.12, 0.08, 0.15, 0.05, 0.11]).unwrap();
        assert_close(low, 0.028388807447235903);
        assert_close(high, 0.1416111925527641);
        assert_eq!(mean_95(&[0.5]), None);
    }

    #[test]
    fn a_difference_needs_two_rounds_for_an_interval() {
        let one = Sample::of(&[0.5]).unwrap();
        let quiet = Sample::of(&[0.25; 5]).unwrap();
        let noisy = Sample::of(&[0.0, 0.1, 0.2]).unwrap();
        assert_eq!(one.less(&noisy).confidence_95(), None);
        assert_eq!(noisy.less(&one).confidence_95(), None);
        assert_eq!(one.less(&one).confidence_95(), None);
        assert_eq!(quiet.less(&quiet).confidence_95(), Some([0.0, 0.0]));
        // All of the noise comes from one sample.
        let difference = noisy.less(&quiet);
        assert_eq!((difference.rounds, difference.freedom), (3, 2.0));
    }

    #[test]
    fn a_sample_can_be_restored_from_its_interval() {
        let sample = paired(&A, &B);
        let again = Sample::of_interval(5, 4.0, sample.geometric_95().unwrap()).unwrap();
        assert_close(again.mean, sample.mean);
        assert_close(again.deviation, sample.deviation);
        assert_eq!(Sample::of_interval(1, 0.0, [1.0, 1.0]), None);
    }

    #[test]
    fn figures_without_a_logarithm_give_no_sample() {
        assert_eq!(Sample::of(&[]), None);
        assert_eq!(Sample::of_figures([1.0, 0.0]), None);
        assert_eq!(Sample::of_figures([f64::NAN, 1.0]), None);
    }

    #[test]
    fn one_round_has_no_interval_and_equal_rounds_a_point() {
        let one = Sample::of_figures([100.0]).unwrap();
        assert_eq!((one.confidence_95(), one.p_value()), (None, None));
        let equal = Sample::of(&[0.0; 5]).unwrap();
        assert_eq!((equal.confidence_95(), equal.p_value()), (Some([0.0, 0.0]), Some(1.0)));
        assert_eq!(Sample::of(&[0.25; 5]).unwrap().p_value(), Some(0.0));
    }

    proptest! {
        #[test]
        fn results_are_independent_of_order_and_unit(
            rounds in prop::collection::vec((1.0..1e5, 1.0..1e5), 2..30),
            scale in 1e-3..1e3,
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) = rounds.into_iter().unzip();
            let close = |x: f64, y: f64| (x - y).abs() <= 1e-6 * y.abs().max(1e-6);
            let sample = paired(&a, &b);
            let p = sample.p_value().unwrap();
            let swapped = paired(&b, &a);
            prop_assert!(close(swapped.geometric_mean(), 1.0 / sample.geometric_mean()));
            prop_assert!(close(swapped.p_value().unwrap(), p));
            let by = |rates: &[f64]| rates.iter().map(|rate| rate * scale).collect::<Vec<_>>();
            let scaled = paired(&by(&a), &by(&b));
            prop_assert!(close(scaled.geometric_mean(), sample.geometric_mean()));
            prop_assert!(close(scaled.p_value().unwrap(), p));
        }

        #[test]
        fn a_reversed_difference_has_the_same_size(
            one in prop::collection::vec(1.0..1e5, 2..30),
            other in prop::collection::vec(1.0..1e5, 2..30),
        ) {
            let (a, b) = (Sample::of_figures(one).unwrap(), Sample::of_figures(other).unwrap());
            let (there, back) = (a.less(&b), b.less(&a));
            prop_assert_eq!(there.mean, -back.mean);
            prop_assert_eq!(there.deviation, back.deviation);
            prop_assert!((there.freedom / back.freedom - 1.0).abs() < 1e-12);
            let bounds = [a.freedom.min(b.freedom), a.freedom + b.freedom];
            prop_assert!(bounds[0] * 0.999_999 <= there.freedom);
            prop_assert!(there.freedom <= bounds[1] * 1.000_001);
        }

        #[test]
        fn the_interval_contains_one_if_and_only_if_p_is_above_the_level(
            ratios in prop::collection::vec(0.5..2.0, 2..30),
        ) {
            let sample = Sample::of_figures(ratios).unwrap();
            let [low, high] = sample.geometric_95().unwrap();
            prop_assert_eq!(low <= 1.0 && 1.0 <= high, sample.p_value().unwrap() >= LEVEL);
        }
    }
}
