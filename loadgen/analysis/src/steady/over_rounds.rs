//! Finds changes that all rounds have in common, such as a warm-up that is too short.

use crate::record::FEWEST_ROUNDS;
use crate::statistics::{LEVEL, Sample};

/// Least number of seconds that a round must measure to show a change.
pub(super) const FEWEST_SECONDS: usize = 4;

/// Least change of a figure that counts, as a share of the figure. With a greater change, the figure
/// mixes several states of the target.
pub(super) const LEAST: f64 = 0.02;

/// Number of figures that are tested for each target: the rate, and the CPU time per request. The
/// tests share the significance level.
const FIGURES: f64 = 2.0;

/// Difference between the beginning of rounds and the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Beginning {
    /// Length of the beginning, in seconds.
    pub seconds: usize,
    /// Sample of the logarithms of the ratio of the beginning to the rest, round by round.
    pub difference: Sample,
}

impl Beginning {
    /// Compares the beginning of rounds with the rest, for beginnings of 1, 2, 4 … seconds up to half
    /// of the rounds. Returns the most certain difference of more than [`LEAST`], or `None` if none is
    /// more than chance, by Student's test over rounds with Bonferroni's correction. Rounds are
    /// independent, so that the test holds however much the seconds of a round depend on each other.
    /// `rounds` has the logarithms of a figure in the seconds of each round.
    pub(super) fn of(rounds: &[&[f64]]) -> Option<Self> {
        let length = rounds.iter().map(|round| round.len()).min()?;
        if rounds.len() < FEWEST_ROUNDS as usize || length < FEWEST_SECONDS {
            return None;
        }
        let half = length / 2;
        let mut lengths: Vec<usize> = (0..).map(|n| 1 << n).take_while(|it| *it < half).collect();
        lengths.push(half);
        let level = LEVEL / FIGURES / lengths.len() as f64;
        let tested = lengths.into_iter().filter_map(|seconds| {
            let beginning = Self::at(rounds, seconds).filter(Self::is_great)?;
            Some((beginning.difference.p_value()?, beginning))
        });
        let (p_value, most) = tested.min_by(|a, b| a.0.total_cmp(&b.0))?;
        (p_value < level).then_some(most)
    }

    /// Returns whether the difference is more than [`LEAST`], and its 95 % interval excludes zero.
    pub(super) fn is_great(&self) -> bool {
        let excludes_zero = self.difference.p_value().is_some_and(|p| p < LEVEL);
        self.difference.mean.exp_m1().abs() > LEAST && excludes_zero
    }

    /// Compares the first seconds of rounds with the rest.
    pub(super) fn at(rounds: &[&[f64]], seconds: usize) -> Option<Self> {
        let length = rounds.iter().map(|round| round.len()).min()?;
        let difference = |round: &&[f64]| {
            let (beginning, rest) = round[..length].split_at(seconds);
            mean(beginning) - mean(rest)
        };
        let difference = Sample::of(&rounds.iter().map(difference).collect::<Vec<_>>())?;
        Some(Self { seconds, difference })
    }

    /// Returns the number of seconds after which rounds show no further difference: beginnings are cut
    /// off until none differs. `None` if the rest is too short to tell.
    pub(super) fn settled(rounds: &[&[f64]]) -> Option<usize> {
        let length = rounds.iter().map(|round| round.len()).min()?;
        let mut cut = 0;
        while let Some(beginning) =
            Self::of(&rounds.iter().map(|round| &round[cut..]).collect::<Vec<_>>())
        {
            cut += beginning.seconds;
        }
        (length - cut >= FEWEST_SECONDS).then_some(cut)
    }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
