//! Reduces slices to starts.
//!
//! The start is the independent unit of repetition: slices of one start share what that start of the
//! servers brought with it (Kalibera and Jones, "Rigorous Benchmarking in Reasonable Time", 2013, on
//! levels of variation). Every figure that is compared or has an interval therefore becomes one figure
//! for each start here, before any statistics. A round without slices is a start of its own.

#[cfg(test)]
mod simulations;

use std::collections::BTreeMap;

use super::compare::ByRound;
use crate::record::RoundRecord;

/// Returns the rounds of each start of a target that ran as planned, by the number of the start. A
/// start counts only if all of its slices did: two targets then have the same slices of each start that
/// both have, so that the mean of the slices' ratios is the ratio of the slices' means.
#[must_use]
pub fn starts(rounds: &[RoundRecord]) -> BTreeMap<u32, Vec<&RoundRecord>> {
    let mut starts: BTreeMap<u32, Vec<&RoundRecord>> = BTreeMap::new();
    for round in rounds.iter().filter(|round| round.whole) {
        let start = round.slice.map_or(round.round, |slice| slice.start);
        starts.entry(start).or_default().push(round);
    }
    let slices = |rounds: &[&RoundRecord]| rounds[0].slice.map_or(1, |slice| slice.of as usize);
    starts.retain(|_, rounds| rounds.len() == slices(rounds));
    starts
}

/// Returns a figure of each start: the geometric mean over its slices. `None` if a slice lacks the
/// figure.
pub fn by_start(
    rounds: &[RoundRecord],
    figure: impl Fn(&RoundRecord) -> Option<f64>,
) -> Option<ByRound> {
    let of_start = |(start, slices): (u32, Vec<&RoundRecord>)| {
        let figures: Option<Vec<f64>> = slices.into_iter().map(&figure).collect();
        Some((start, geometric_mean(&figures?)))
    };
    starts(rounds).into_iter().map(of_start).collect()
}

/// Returns the geometric mean: that of a single figure exactly, and zero if a figure is zero.
fn geometric_mean(figures: &[f64]) -> f64 {
    match figures {
        [figure] => *figure,
        all => (all.iter().map(|figure| figure.ln()).sum::<f64>() / all.len() as f64).exp(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::compare::compare;
    use crate::record::SliceRecord;
    use crate::statistics::Sample;
    use loadgen_measure::Summary;

    /// Returns the rounds of starts whose slices have these rates.
    fn sliced(starts: &[Vec<f64>]) -> Vec<RoundRecord> {
        let mut rounds = Vec::new();
        for (start, slices) in (1..).zip(starts) {
            for (number, rate) in (1..).zip(slices) {
                let of = u32::try_from(slices.len()).unwrap();
                rounds.push(RoundRecord {
                    round: (start - 1) * of + number,
                    slice: Some(SliceRecord { start, number, of }),
                    whole: true,
                    total: Summary { rate_per_s: *rate, ..Summary::default() },
                    ..RoundRecord::default()
                });
            }
        }
        rounds
    }

    fn rates(rounds: &[RoundRecord]) -> ByRound {
        by_start(rounds, |round| Some(round.total.rate_per_s)).unwrap()
    }

    #[test]
    fn a_start_has_the_geometric_mean_of_its_slices() {
        let figures = rates(&sliced(&[vec![100.0, 400.0], vec![50.0, 50.0]]));
        assert_eq!(figures.keys().collect::<Vec<_>>(), [&1, &2]);
        assert!((figures[&1] - 200.0).abs() < 1e-9 && (figures[&2] - 50.0).abs() < 1e-9);
        assert_eq!(rates(&sliced(&[vec![100.0, 0.0]]))[&1], 0.0, "as a round without responses");
    }

    #[test]
    fn a_start_counts_only_with_all_of_its_slices() {
        let mut rounds = sliced(&[vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 6.0]]);
        rounds[2].whole = false;
        rounds.pop();
        assert_eq!(rates(&rounds).keys().collect::<Vec<_>>(), [&1]);
    }

    #[test]
    fn a_round_without_slices_is_a_start_and_keeps_its_figure() {
        let mut rounds = sliced(&[vec![1_234.567], vec![0.1]]);
        for (number, round) in (7..).zip(&mut rounds) {
            (round.slice, round.round) = (None, number);
        }
        assert_eq!(rates(&rounds), [(7, 1_234.567), (8, 0.1)].into());
    }

    #[test]
    fn a_figure_that_a_slice_lacks_is_lacking() {
        let rounds = sliced(&[vec![1.0, 2.0]]);
        let first = |round: &RoundRecord| (round.round == 1).then_some(1.0);
        assert_eq!(by_start(&rounds, first), None);
    }

    fn two() -> impl Strategy<Value = [Vec<Vec<f64>>; 2]> {
        (5..12_usize, 1..8_usize).prop_flat_map(|(starts, slices)| {
            let one = || prop::collection::vec(prop::collection::vec(1.0..1e5_f64, slices), starts);
            [one(), one()]
        })
    }

    proptest! {
        #[test]
        fn the_interval_is_that_of_the_mean_of_each_start([one, other] in two()) {
            let named = |name: &str, starts| (name.to_owned(), rates(&sliced(starts)));
            let comparison = compare(&[named("one", &one), named("other", &other)]);
            let pair = &comparison.pairs[0];
            // The mean of the logarithms of the ratios, slice by slice.
            let of_start = |(one, other): (&Vec<f64>, &Vec<f64>)| {
                let ratios = one.iter().zip(other).map(|(one, other)| (one / other).ln());
                ratios.sum::<f64>() / one.len() as f64
            };
            let means: Vec<f64> = one.iter().zip(&other).map(of_start).collect();
            let sample = Sample::of(&means).unwrap();
            let [low, high] = sample.confidence_95().unwrap();
            let expected = if pair.better == "one" { [low, high] } else { [-high, -low] };
            let ends = pair.confidence_95.unwrap().map(f64::ln);
            prop_assert_eq!(pair.rounds as usize, one.len());
            for (end, expected) in ends.into_iter().zip(expected) {
                prop_assert!((end - expected).abs() < 1e-9, "{} {}", end, expected);
            }
        }
    }
}
