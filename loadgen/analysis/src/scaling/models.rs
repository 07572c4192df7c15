//! The results: both laws with their coefficients, and which of them the rounds prefer.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::FEWEST_SIZES_USL;
use super::estimate::{Estimate, Fitted};
use super::law::{Law, relative};
use super::least_squares::minimize;
use super::rounds::{Curve, Rounds, average};
pub use crate::record::{Amdahl, Scaling, Speedup, Usl};

impl Amdahl {
    fn of(rounds: &Rounds) -> Option<Self> {
        let fitted = Fitted::of(rounds, Law::Amdahl, minimize(rounds, Law::Amdahl)?)?;
        let fit = Self {
            rate_of_one: fitted.rate_of_one(),
            serial: fitted.coefficient(0),
            residual_percent: residual_percent(rounds, &fitted),
            lack_of_fit: lack_of_fit(rounds, &fitted),
        };
        let estimates = [fit.rate_of_one, fit.serial];
        (estimates.iter().all(Estimate::is_finite) && fit.residual_percent.is_finite())
            .then_some(fit)
    }

    /// Returns the throughput that the law predicts for a size.
    #[must_use]
    pub fn predict(&self, size: u32) -> f64 {
        self.rate_of_one.value * relative([self.serial.value, 0.0], size)
    }
}

impl Usl {
    fn of(rounds: &Rounds) -> Option<Self> {
        let fitted = Fitted::of(rounds, Law::Usl, minimize(rounds, Law::Usl)?)?;
        let fit = Self {
            rate_of_one: fitted.rate_of_one(),
            contention: fitted.coefficient(0),
            crosstalk: fitted.coefficient(1),
            peak: fitted.peak(),
            residual_percent: residual_percent(rounds, &fitted),
            lack_of_fit: lack_of_fit(rounds, &fitted),
        };
        let coefficients = [fit.rate_of_one, fit.contention, fit.crosstalk];
        (coefficients.iter().chain(&fit.peak).all(Estimate::is_finite)
            && fit.residual_percent.is_finite())
        .then_some(fit)
    }

    /// Returns the throughput that the law predicts for a size.
    #[must_use]
    pub fn predict(&self, size: u32) -> f64 {
        self.rate_of_one.value * relative([self.contention.value, self.crosstalk.value], size)
    }
}

impl Scaling {
    /// Fits both laws; `None` if the rates determine no finite coefficients of Amdahl's law.
    pub(super) fn of(rounds: &Rounds) -> Option<Self> {
        let (smallest, others) = rounds.sizes.split_first()?;
        let speedups: Vec<Speedup> =
            others.iter().filter_map(|size| Speedup::of(rounds, *smallest, *size)).collect();
        let amdahl = Amdahl::of(rounds)?;
        let usl = (rounds.sizes.len() >= FEWEST_SIZES_USL).then(|| Usl::of(rounds)).flatten();
        let shows_crosstalk = usl.is_some_and(|usl| usl.crosstalk.low > Some(0.0));
        speedups.iter().all(|speedup| speedup.fold.is_finite()).then_some(Self {
            rounds: u32::try_from(rounds.curves.len()).unwrap_or(u32::MAX),
            smallest: *smallest,
            speedups,
            amdahl,
            usl,
            better: if shows_crosstalk { Law::Usl } else { Law::Amdahl },
        })
    }

    /// Returns the throughput that the preferred law predicts for a size. A size beyond the measured
    /// ones is an extrapolation.
    #[must_use]
    pub fn predict(&self, size: u32) -> f64 {
        match self.usl.filter(|_| self.better == Law::Usl) {
            Some(usl) => usl.predict(size),
            None => self.amdahl.predict(size),
        }
    }
}

impl Speedup {
    /// Returns the ratio of two sizes; `None` if no round measured both.
    fn of(rounds: &Rounds, smallest: u32, size: u32) -> Option<Self> {
        let ratio = |curve: &Curve| Some(curve.get(&size)? - curve.get(&smallest)?);
        let logarithms: Vec<f64> = rounds.curves.iter().filter_map(ratio).collect();
        (!logarithms.is_empty()).then(|| Self { size, fold: Estimate::geometric(&logarithms) })
    }
}

fn residual_percent(rounds: &Rounds, fitted: &Fitted) -> f64 {
    let log_of_one = average(fitted.rounds.iter().map(|round| round.log_of_one));
    let points = rounds.curves.iter().flatten();
    let relative_residual = |(size, log): (&u32, &f64)| {
        (log - log_of_one - relative(fitted.shape, *size).ln()).exp_m1()
    };
    100.0 * average(points.map(|point| relative_residual(point).powi(2))).sqrt()
}

/// Returns the p-value of the F-test that compares the distances of the sizes' mean rates from the
/// curve to the noise around these means (N. R. Draper and H. Smith, *Applied Regression Analysis*,
/// 1998, chapter 2). The rounds' own λ count as known.
fn lack_of_fit(rounds: &Rounds, fitted: &Fitted) -> Option<f64> {
    /// Mean square of relative distances that count as none, such as rounding errors.
    const NONE: f64 = 1e-18;

    let (sizes, number) = (rounds.sizes.len(), rounds.curves.len());
    if !rounds.are_complete() || number < 2 {
        return None;
    }
    let means: Vec<f64> =
        (0..sizes).map(|i| average(fitted.rounds.iter().map(|round| round.residuals[i]))).collect();
    let distances = average(means.iter().map(|mean| mean.powi(2)));
    let noise = average(fitted.rounds.iter().flat_map(|round| {
        round.residuals.iter().zip(&means).map(|(residual, mean)| (residual - mean).powi(2))
    }));
    if distances <= NONE {
        return Some(1.0);
    }
    let points = f64::from(u32::try_from(sizes * number).ok()?);
    let lack_freedom = f64::from(u32::try_from(sizes - 1 - fitted.free()).ok()?);
    let noise_freedom = f64::from(u32::try_from((sizes - 1) * (number - 1)).ok()?);
    let ratio = (points * distances / lack_freedom) / (points * noise / noise_freedom);
    let test = FisherSnedecor::new(lack_freedom, noise_freedom).ok()?;
    (!ratio.is_nan()).then(|| test.sf(ratio).clamp(0.0, 1.0))
}
