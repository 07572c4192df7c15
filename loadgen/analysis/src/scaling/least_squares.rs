//! Finds the shape of a curve by nonlinear least squares of logarithms, within the bounds of a law.

use super::law::{Law, Shape, factors, relative, shortfall};
use super::rounds::{Curve, Rounds, average};

/// Greatest number of steps of the search. Measured rates need about ten.
const MOST_STEPS: u32 = 500;

/// Change of a curve, relative to its shortfall at the largest size, below which a step ends the
/// search.
const NEGLIGIBLE: f64 = 1e-12;

/// Damping at which a step is too short to change anything.
const MOST_DAMPING: f64 = 1e12;

/// Least damping. It keeps the matrix of a step from being singular.
const LEAST_DAMPING: f64 = 1e-9;

/// Least determinant of a matrix whose diagonal is scaled to 1. Below it, rounding errors decide
/// about the solution.
const SINGULAR: f64 = 1e-10;

/// One round's residuals around a curve of a given shape, and their sensitivity to the shape.
#[derive(Debug)]
pub(super) struct Linearized {
    /// Logarithm of the round's own λ.
    pub log_of_one: f64,
    /// Logarithm of measured over predicted rate, in ascending order of the size; the sum is 0.
    pub residuals: Vec<f64>,
    /// Mean derivative of the logarithm of the shortfall with respect to σ and κ.
    pub slope: Shape,
    /// Half the second derivatives of the sum of squares, without the residuals' own curvature.
    pub matrix: [Shape; 2],
    /// Half the gradient of the sum of squares.
    pub gradient: Shape,
}

impl Linearized {
    /// Computes the residuals of one round.
    pub fn of(curve: &Curve, shape: Shape) -> Self {
        let logs: Vec<f64> =
            curve.iter().map(|(size, log)| log - relative(shape, *size).ln()).collect();
        let log_of_one = average(logs.iter().copied());
        let residuals: Vec<f64> = logs.iter().map(|log| log - log_of_one).collect();
        let slopes: Vec<Shape> = curve
            .keys()
            .map(|size| factors(*size).map(|factor| factor / shortfall(shape, *size)))
            .collect();
        let slope = [0, 1].map(|i| average(slopes.iter().map(|slope| slope[i])));
        let centred = |i: usize| slopes.iter().map(move |each| each[i] - slope[i]);
        let matrix =
            [0, 1].map(|i| [0, 1].map(|j| centred(i).zip(centred(j)).map(|(a, b)| a * b).sum()));
        let gradient = [0, 1].map(|i| centred(i).zip(&residuals).map(|(a, b)| a * b).sum());
        Self { log_of_one, residuals, slope, matrix, gradient }
    }
}

/// Returns the sum of the matrices of all rounds, and of their gradients.
pub(super) fn total(rounds: &[Linearized]) -> ([Shape; 2], Shape) {
    let sum = |of: &dyn Fn(&Linearized) -> f64| rounds.iter().map(of).sum::<f64>();
    let matrix = [0, 1].map(|i| [0, 1].map(|j| sum(&|round| round.matrix[i][j])));
    (matrix, [0, 1].map(|i| sum(&|round| round.gradient[i])))
}

/// Returns the shape of the least sum of squares among those that the law allows; `None` if the
/// search does not end at a finite shape.
///
/// The search is that of Levenberg (1944) and Marquardt (1963), from the best point of a grid.
/// Coefficients at a bound that the sum of squares pushes outwards are left out of a step, and a
/// step ends at the bounds. The damping follows H. B. Nielsen, "Damping Parameter in Marquardt's
/// Method" (1999).
pub(super) fn minimize(rounds: &Rounds, law: Law) -> Option<Shape> {
    let mut shape = start(rounds, law)?;
    let mut squares = sum_of_squares(rounds, shape);
    let largest = *rounds.sizes.last()?;
    let (mut damping, mut growth) = (1e-3, 2.0);
    for _ in 0..MOST_STEPS {
        let each: Vec<_> = rounds.curves.iter().map(|c| Linearized::of(c, shape)).collect();
        let (matrix, gradient) = total(&each);
        let next = step(law, shape, (matrix, gradient), damping)?;
        let next_squares = sum_of_squares(rounds, next);
        let change = [0, 1].map(|i| next[i] - shape[i]);
        let effect = (0..2).map(|i| change[i].abs() * factors(largest)[i]).sum::<f64>();
        if effect <= NEGLIGIBLE * shortfall(shape, largest) || damping > MOST_DAMPING {
            return shape.iter().all(|each| each.is_finite()).then_some(shape);
        }
        if next_squares < squares {
            let quality = (next_squares - squares) / expected(matrix, gradient, change);
            let factor = (1.0 - (2.0 * quality - 1.0).powi(3)).clamp(1.0 / 3.0, 2.0);
            damping = (damping * factor).max(LEAST_DAMPING);
            (shape, squares, growth) = (next, next_squares, 2.0);
        } else {
            damping *= growth;
            growth *= 2.0;
        }
    }
    None
}

/// Returns the change of the sum of squares that a linear curve would have.
fn expected(matrix: [Shape; 2], gradient: Shape, change: Shape) -> f64 {
    let curvature = |i: usize| matrix[i][0] * change[0] + matrix[i][1] * change[1];
    (0..2).map(|i| change[i] * (2.0 * gradient[i] + curvature(i))).sum()
}

/// Returns the best point of a coarse grid, which is near the least of several minima. The grid of κ
/// is relative to its effect at the largest size.
fn start(rounds: &Rounds, law: Law) -> Option<Shape> {
    let [_, pairs] = factors(*rounds.sizes.last()?);
    let [_, greatest] = law.greatest();
    let contentions = (0..=8).map(|i| (f64::from(i) / 8.0).powi(2));
    let crosstalks =
        (0..=12).map(|i| if i == 0 { 0.0 } else { 0.01 * 2.5_f64.powi(i) / pairs }.min(greatest));
    contentions
        .flat_map(|contention| crosstalks.clone().map(move |crosstalk| [contention, crosstalk]))
        .min_by(|a, b| sum_of_squares(rounds, *a).total_cmp(&sum_of_squares(rounds, *b)))
}

fn sum_of_squares(rounds: &Rounds, shape: Shape) -> f64 {
    let of = |curve| Linearized::of(curve, shape).residuals.iter().map(|r| r * r).sum::<f64>();
    rounds.curves.iter().map(of).sum()
}

/// Returns the shape after one damped Gauss–Newton step within the bounds.
fn step(
    law: Law,
    shape: Shape,
    (mut matrix, gradient): ([Shape; 2], Shape),
    damping: f64,
) -> Option<Shape> {
    let greatest = law.greatest();
    let free = [0, 1].map(|i| {
        let pushed_below = shape[i] <= 0.0 && gradient[i] >= 0.0;
        let pushed_above = shape[i] >= greatest[i] && gradient[i] <= 0.0;
        law.has()[i] && !pushed_below && !pushed_above
    });
    (0..2).for_each(|i| matrix[i][i] *= 1.0 + damping);
    let change = solve(matrix, gradient, free)?;
    Some([0, 1].map(|i| (shape[i] - change[i]).clamp(0.0, greatest[i])))
}

/// Solves two linear equations for the free unknowns, with the others at 0; `None` if the matrix is
/// singular or the solution is not finite.
pub(super) fn solve(matrix: [Shape; 2], right: Shape, free: [bool; 2]) -> Option<Shape> {
    // Scales the diagonal to 1, which avoids overflow.
    let scaled = [right[0] / matrix[0][0], right[1] / matrix[1][1]];
    let solution = match free {
        [true, true] => {
            let other = [matrix[0][1] / matrix[0][0], matrix[1][0] / matrix[1][1]];
            let determinant = 1.0 - other[0] * other[1];
            if determinant < SINGULAR {
                return None;
            }
            [scaled[0] - other[0] * scaled[1], scaled[1] - other[1] * scaled[0]]
                .map(|each| each / determinant)
        }
        [true, false] => [scaled[0], 0.0],
        [false, true] => [0.0, scaled[1]],
        [false, false] => [0.0; 2],
    };
    solution.iter().all(|each| each.is_finite()).then_some(solution)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Observation;
    use super::*;

    proptest! {
        #[test]
        fn no_point_of_a_fine_grid_has_fewer_squares(
            rates in prop::array::uniform5(100.0..1000.0),
        ) {
            let sizes = [1, 2, 4, 8, 16].into_iter().zip(rates);
            let all = sizes.map(|(size, rate)| Observation { size, round: 1, rate });
            let rounds = Rounds::of(&all.collect::<Vec<_>>()).unwrap();
            for law in [Law::Amdahl, Law::Usl] {
                let found = sum_of_squares(&rounds, minimize(&rounds, law).unwrap());
                for i in 0..50 {
                    let contention = f64::from(i) / 49.0;
                    for j in 0..50 {
                        let crosstalk = if j == 0 { 0.0 } else { 1e-5 * 1.4_f64.powi(j) };
                        let shape = [contention, crosstalk.min(law.greatest()[1])];
                        prop_assert!(found <= sum_of_squares(&rounds, shape) + 1e-9, "{shape:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn equations_without_a_single_solution_have_none() {
        let both = [true; 2];
        assert_eq!(solve([[1.0, 0.5], [0.5, 1.0]], [2.0, 2.5], both), Some([1.0, 2.0]));
        assert_eq!(solve([[2.0, 4.0], [4.0, 8.0]], [1.0, 2.0], both), None);
        assert_eq!(solve([[0.0; 2]; 2], [1.0, 2.0], both), None);
        assert_eq!(solve([[2.0, 1.0], [1.0, 4.0]], [4.0, 8.0], [true, false]), Some([2.0, 0.0]));
        assert_eq!(solve([[2.0, 1.0], [1.0, 4.0]], [4.0, 8.0], [false, true]), Some([0.0, 2.0]));
    }
}
