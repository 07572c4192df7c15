//! Estimates with confidence intervals over rounds.

use super::law::{Law, Shape};
use super::least_squares::{Linearized, solve, total};
use super::rounds::{Rounds, average};
pub use crate::record::Estimate;
use crate::statistics::mean_95;

impl Estimate {
    /// Returns the estimate with Student's interval over rounds. The rounds' mean differs from the
    /// value if a bound constrains the value; the interval extends as far from both.
    fn over_rounds(value: f64, rounds: &[f64]) -> Self {
        let ends = mean_95(rounds).map(|[low, high]| {
            let half_width = (high - low) / 2.0;
            [low.min(value - half_width), high.max(value + half_width)]
        });
        Self { value, low: ends.map(|[low, _]| low), high: ends.map(|[_, high]| high) }
    }

    /// Returns the geometric mean of the figures with these logarithms, with its interval.
    pub(super) fn geometric(logarithms: &[f64]) -> Self {
        Self::over_rounds(average(logarithms.iter().copied()), logarithms).map(f64::exp)
    }

    /// Applies an increasing function to the value and to the ends of the interval.
    fn map(self, of: impl Fn(f64) -> f64) -> Self {
        Self { value: of(self.value), low: self.low.map(&of), high: self.high.map(&of) }
    }

    /// Returns the value alone.
    pub(super) fn without_interval(self) -> Self {
        Self { low: None, high: None, ..self }
    }

    /// Returns whether all numbers are finite.
    pub(super) fn is_finite(&self) -> bool {
        let ends = self.low.iter().chain(&self.high);
        self.value.is_finite() && ends.copied().all(f64::is_finite)
    }
}

/// A shape that was fitted to all rounds, and the coefficients of each round.
#[derive(Debug)]
pub(super) struct Fitted {
    law: Law,
    /// The fitted coefficients.
    pub shape: Shape,
    /// The residuals of each round around the fitted shape.
    pub rounds: Vec<Linearized>,
    /// Coefficients of each round, by one Gauss–Newton step from the fitted shape. The step ignores
    /// the bounds. A round without some of the sizes tells less about the coefficients, and takes a
    /// shorter step.
    shapes: Vec<Shape>,
}

impl Fitted {
    /// Returns the coefficients of each round around a fitted shape; `None` if the sizes do not
    /// determine all coefficients of the law.
    pub fn of(rounds: &Rounds, law: Law, shape: Shape) -> Option<Self> {
        let rounds: Vec<_> = rounds.curves.iter().map(|c| Linearized::of(c, shape)).collect();
        let (matrix, _) = total(&rounds);
        let number = rounds.iter().map(|_| 1.0).sum::<f64>();
        let shape_of = |round: &Linearized| {
            let change = solve(matrix, round.gradient.map(|each| each * number), law.has())?;
            Some([0, 1].map(|i| shape[i] - change[i]))
        };
        let shapes = rounds.iter().map(shape_of).collect::<Option<_>>()?;
        Some(Self { law, shape, rounds, shapes })
    }

    /// Returns the throughput λ of size 1.
    pub fn rate_of_one(&self) -> Estimate {
        let log_of_one = |(round, shape): (&Linearized, &Shape)| {
            let change = [0, 1].map(|i| round.slope[i] * (shape[i] - self.shape[i]));
            round.log_of_one + change.iter().sum::<f64>()
        };
        let logarithms: Vec<f64> = self.rounds.iter().zip(&self.shapes).map(log_of_one).collect();
        let value = average(self.rounds.iter().map(|round| round.log_of_one));
        Estimate::over_rounds(value, &logarithms).map(f64::exp)
    }

    /// Returns one coefficient of the shape: 0 for σ, 1 for κ.
    pub fn coefficient(&self, i: usize) -> Estimate {
        let each: Vec<f64> = self.shapes.iter().map(|shape| shape[i]).collect();
        let greatest = self.law.greatest()[i];
        Estimate::over_rounds(self.shape[i], &each).map(|end| end.clamp(0.0, greatest))
    }

    /// Returns the number of coefficients of the law that no bound constrains.
    pub fn free(&self) -> usize {
        let greatest = self.law.greatest();
        (0..2).filter(|i| self.shape[*i] > 0.0 && self.shape[*i] < greatest[*i]).count()
    }

    /// Returns the size of the greatest throughput, at least 1; `None` if κ is 0. The interval has no
    /// upper end if the interval of κ contains 0.
    ///
    /// Throughput grows up to size N if 1 − σ > κN², so N² is in the interval if the interval of the
    /// mean of 1 − σ − κN² over rounds contains 0. This is Fieller's interval of the ratio of 1 − σ
    /// and κ.
    pub fn peak(&self) -> Option<Estimate> {
        let [contention, crosstalk] = self.shape;
        // Divides κ by its estimate, so that both means are of a similar size.
        let (parallel, each): (Vec<f64>, Vec<f64>) =
            self.shapes.iter().map(|shape| (1.0 - shape[0], shape[1] / crosstalk)).unzip();
        let ends = fieller(&parallel, &each);
        let value = 1.0 - contention;
        let peak = Estimate {
            value,
            low: ends.map(|[low, _]| low.min(value)),
            high: ends
                .map(|[_, high]| high.max(value))
                .filter(|high| high.is_finite() && self.coefficient(1).low > Some(0.0)),
        };
        let peak = peak.map(|scaled| (scaled / crosstalk).max(1.0).sqrt());
        (crosstalk > 0.0 && peak.is_finite()).then_some(peak)
    }
}

/// Returns Fieller's 95 % confidence interval of the ratio of two means, as far as the ratio is at
/// least 0. The upper end is infinite unless the interval of the divisor is above 0. `None` for a
/// single round.
fn fieller(dividends: &[f64], divisors: &[f64]) -> Option<[f64; 2]> {
    let sums: Vec<f64> = dividends.iter().zip(divisors).map(|(a, b)| a + b).collect();
    let (a, b, sum) = (mean_95(dividends)?, mean_95(divisors)?, mean_95(&sums)?);
    let middle = |[low, high]: [f64; 2]| f64::midpoint(low, high);
    let squared_half_width = |[low, high]: [f64; 2]| ((high - low) / 2.0).powi(2);
    let [of_a, of_b, of_sum] = [a, b, sum].map(squared_half_width);
    let covariance = (of_sum - of_a - of_b) / 2.0;
    // A ratio r is in the interval if square * r² - 2 * linear * r + constant <= 0.
    let square = middle(b).powi(2) - of_b;
    let linear = middle(a) * middle(b) - covariance;
    let constant = middle(a).powi(2) - of_a;
    let root = (linear.powi(2) - square * constant).max(0.0).sqrt();
    let [one, other] = [(linear - root) / square, (linear + root) / square];
    let (least, greatest) = (one.min(other), one.max(other));
    if b[0] > 0.0 {
        Some([least.max(0.0), greatest.max(0.0)])
    } else if square < 0.0 && least < 0.0 && greatest > 0.0 {
        // The interval has two parts, of which one is below 0.
        Some([greatest, f64::INFINITY])
    } else {
        Some([0.0, f64::INFINITY])
    }
}
