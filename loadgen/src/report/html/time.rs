//! Defines an axis of time: the rounds of all targets, one after the other.

use std::collections::BTreeMap;

use crate::record::{RoundRecord, RunRecord};

/// Maps each second of each round to a point on a chart's axis of time. A point covers several
/// seconds if one point for each second would be too many points.
pub(super) struct Axis {
    width: u32,
    /// Index of each round's first point, and number of the round's points, by the round's number.
    rounds: BTreeMap<u32, (usize, usize)>,
}

impl Axis {
    /// Makes the axis for all seconds of `record`, with about `most` points.
    pub(super) fn new(record: &RunRecord, most: usize) -> Self {
        let mut seconds: BTreeMap<u32, u32> = BTreeMap::new();
        for round in record.targets.iter().flat_map(|target| &target.rounds) {
            let length = round.seconds.last().map_or(0, |last| last.second.saturating_add(1));
            let known = seconds.entry(round.round).or_default();
            *known = (*known).max(length);
        }
        Self::of_rounds(&seconds, most)
    }

    /// Makes the axis with about `most` points. `seconds` has the length of each round, in s, by
    /// the round's number.
    fn of_rounds(seconds: &BTreeMap<u32, u32>, most: usize) -> Self {
        let all: u64 = seconds.values().map(|n| u64::from(*n)).sum();
        let width = u32::try_from(all.div_ceil(most.max(1) as u64)).unwrap_or(u32::MAX).max(1);
        let mut next = 0;
        let place = |(round, seconds): (&u32, &u32)| {
            let places = seconds.div_ceil(width) as usize;
            let first = next;
            // An empty point between two rounds separates their lines.
            next += places + 1;
            (*round, (first, places))
        };
        Self { width, rounds: seconds.iter().map(place).collect() }
    }

    /// Returns the number of seconds that a point of the axis covers.
    pub(super) fn width(&self) -> u32 {
        self.width
    }

    /// Returns the position of each point, in s from the start of the first round, as if the rounds
    /// followed each other with a gap of one point.
    pub(super) fn x(&self) -> Vec<f64> {
        let (first, places) = self.rounds.values().last().copied().unwrap_or_default();
        (0..first + places).map(|place| place as f64 * f64::from(self.width)).collect()
    }

    /// Returns the position, in s, and the number of each round's start.
    pub(super) fn marks(&self) -> Vec<(f64, u32)> {
        let start = |(round, (first, _)): (&u32, &(usize, usize))| {
            (*first as f64 * f64::from(self.width), *round)
        };
        self.rounds.iter().map(start).collect()
    }

    /// Returns the values of a line, one for each point of the axis; `None` where unknown. `of`
    /// returns the figures of a round by second, and `together` combines the figures of one point.
    pub(super) fn line(
        &self,
        rounds: &[RoundRecord],
        of: impl Fn(&RoundRecord) -> Vec<(u32, f64)>,
        together: fn(&[f64]) -> f64,
    ) -> Vec<Option<f64>> {
        let mut figures: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for round in rounds {
            let Some((first, places)) = self.rounds.get(&round.round).copied() else { continue };
            for (second, figure) in of(round) {
                let place = (second / self.width) as usize;
                if place < places {
                    figures.entry(first + place).or_default().push(figure);
                }
            }
        }
        let length = figures.keys().last().map_or(0, |last| last + 1);
        let mut line = vec![None; length];
        for (place, figures) in figures {
            line[place] = Some(super::chart::short(together(&figures)));
        }
        line
    }
}

/// Returns the arithmetic mean.
pub(super) fn mean(figures: &[f64]) -> f64 {
    figures.iter().sum::<f64>() / figures.len().max(1) as f64
}

/// Returns the greatest figure; used for percentiles, which have no mean.
pub(super) fn highest(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(seconds: &[(u32, u32)], most: usize) -> Axis {
        Axis::of_rounds(&seconds.iter().copied().collect(), most)
    }

    fn round(number: u32) -> RoundRecord {
        RoundRecord { round: number, ..RoundRecord::default() }
    }

    #[test]
    fn rounds_follow_each_other_with_a_gap() {
        let axis = axis(&[(1, 2), (2, 2)], 10);
        assert_eq!(axis.x(), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(axis.marks(), [(0.0, 1), (3.0, 2)]);
        let of = |round: &RoundRecord| vec![(0, f64::from(round.round)), (1, 7.0), (9, 1.0)];
        let line = axis.line(&[round(1), round(2), round(3)], of, mean);
        assert_eq!(line, [Some(1.0), Some(7.0), None, Some(2.0), Some(7.0)]);
    }

    #[test]
    fn a_point_of_a_long_round_covers_several_seconds() {
        let axis = axis(&[(1, 100)], 25);
        assert_eq!((axis.width(), axis.x().len()), (4, 25));
        let of = |_: &RoundRecord| (0..100).map(|second| (second, f64::from(second))).collect();
        assert_eq!(axis.line(&[round(1)], of, mean)[..2], [Some(1.5), Some(5.5)]);
        assert_eq!(axis.line(&[round(1)], of, highest)[..2], [Some(3.0), Some(7.0)]);
    }
}
