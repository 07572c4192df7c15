//! Decides whether a target was steady while it was measured.
//!
//! - [`over_rounds`]: rounds that all begin alike, and unlike the rest: a warm-up that is too short.
//!   Needs at least five rounds.
//! - [`within`]: changes of any kind within single rounds, by changepoint analysis. Needs at least
//!   twenty seconds.

mod noise;
mod over_rounds;
mod pelt;
mod series;
mod within;

use self::over_rounds::{Beginning, LEAST};
pub use self::series::Figure;
use self::within::levels;
pub(crate) use self::within::{Level, levels_of};
use crate::record::RoundRecord;
use crate::starts::starts;

/// A figure that changed during the measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Unsteady {
    /// The figure that changed.
    pub figure: Figure,
    /// The change.
    pub change: Change,
    /// Number of seconds of the hold after which the figure was steady; `None` if it was not steady
    /// until the end, or if the rest is too short to tell.
    pub settles_after_s: Option<usize>,
}

/// A change of a figure.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The beginning of all rounds differs from the rest.
    OverRounds {
        /// Length of the beginning, in s.
        seconds: usize,
        /// Difference of the beginning from the rest, in % of the rest: the geometric mean over
        /// rounds.
        percent: f64,
        /// 95 % confidence interval of `percent`, in %.
        confidence_95_percent: [f64; 2],
    },
    /// The figure changed within most rounds.
    WithinRounds {
        /// Number of rounds in which it changed.
        rounds: usize,
        /// Number of all rounds.
        of: usize,
        /// The greatest change.
        worst: Step,
    },
}

/// A change of a figure from one level to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Number of the round, from 1.
    pub round: u32,
    /// Second of the hold at which the new level begins.
    pub second: usize,
    /// Figure before the change, as a geometric mean.
    pub before: f64,
    /// Figure after the change, as a geometric mean.
    pub after: f64,
}

impl Unsteady {
    /// Returns the first of `figures` that changed during the hold of a target's rounds; `None` if
    /// none did. Only rounds that ran as planned count. The load must be constant in the hold, which
    /// begins `ramp_up_s` seconds after the warm-up.
    #[must_use]
    pub fn of(rounds: &[RoundRecord], ramp_up_s: f64, figures: &[Figure]) -> Option<Self> {
        figures.iter().find_map(|figure| {
            let whole = rounds.iter().filter(|round| round.whole);
            let series: Option<Vec<(u32, Vec<f64>)>> =
                whole.map(|it| Some((it.round, figure.of(it, ramp_up_s)?))).collect();
            let series = series?;
            let starts: Option<Vec<Vec<f64>>> = starts(rounds)
                .into_values()
                .map(|slices| {
                    let all = slices.into_iter().map(|it| figure.of(it, ramp_up_s));
                    Some(mean_series(&all.collect::<Option<Vec<_>>>()?))
                })
                .collect();
            over_rounds(*figure, &starts?).or_else(|| within_rounds(*figure, &series))
        })
    }
}

/// Returns the mean of the series of a start's slices, second by second, as long as the shortest of them.
fn mean_series(series: &[Vec<f64>]) -> Vec<f64> {
    let length = series.iter().map(Vec::len).min().unwrap_or_default();
    let at = |second: usize| series.iter().map(|it| it[second]).sum::<f64>() / series.len() as f64;
    (0..length).map(at).collect()
}

/// Compares the beginning of the rounds with the rest. With slices, `starts` has the mean of the slices
/// of each start, which are not independent of each other.
fn over_rounds(figure: Figure, starts: &[Vec<f64>]) -> Option<Unsteady> {
    let series: Vec<&[f64]> = starts.iter().map(Vec::as_slice).collect();
    let most = Beginning::of(&series)?;
    let settles_after_s = Beginning::settled(&series);
    // All that is cut off, unless its parts differ from the rest in opposite directions.
    let whole = settles_after_s.and_then(|seconds| Beginning::at(&series, seconds));
    let Beginning { seconds, difference } = whole.filter(Beginning::is_great).unwrap_or(most);
    let percent = |logarithm: f64| logarithm.exp_m1() * 100.0;
    let change = Change::OverRounds {
        seconds,
        percent: percent(difference.mean),
        confidence_95_percent: difference.confidence_95()?.map(percent),
    };
    Some(Unsteady { figure, change, settles_after_s })
}

fn within_rounds(figure: Figure, rounds: &[(u32, Vec<f64>)]) -> Option<Unsteady> {
    let changed: Vec<(u32, usize, Vec<Level>)> = rounds
        .iter()
        .map(|(number, series)| (*number, series.len(), levels(series)))
        .filter(|(_, _, levels)| steepest(levels).is_some_and(|two| size(two) > LEAST))
        .collect();
    if changed.len() * 2 <= rounds.len() {
        return None;
    }
    let steps = changed.iter().filter_map(|(round, _, levels)| {
        let [before, after] = steepest(levels)?;
        let step = Step {
            round: *round,
            second: after.from,
            before: before.mean.exp(),
            after: after.mean.exp(),
        };
        Some((size([before, after]), step))
    });
    let (_, worst) = steps.max_by(|a, b| a.0.total_cmp(&b.0))?;
    // A round that changed in its second half may change again.
    let settles = changed.iter().map(|(_, length, levels)| {
        levels.last().map(|level| level.from).filter(|from| from * 2 <= *length)
    });
    let settles_after_s = settles.collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().max());
    let change = Change::WithinRounds { rounds: changed.len(), of: rounds.len(), worst };
    Some(Unsteady { figure, change, settles_after_s })
}

/// Returns the two successive levels that differ most; `None` if there is one level.
fn steepest(levels: &[Level]) -> Option<[Level; 2]> {
    let two = levels.windows(2).map(|two| [two[0], two[1]]);
    two.max_by(|a, b| size(*a).total_cmp(&size(*b)))
}

/// Returns the change from one level to the next, as a share of the lower one.
fn size([before, after]: [Level; 2]) -> f64 {
    (after.mean - before.mean).abs().exp_m1()
}

#[cfg(test)]
mod simulations;
#[cfg(test)]
mod tests;
