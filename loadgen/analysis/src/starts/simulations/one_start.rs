//! Simulates runs in one start, as the quick form of an experiment measures: what another start would have
//! brought is not in its rounds.

use super::machine::{NEIGHBOURS, Noise, QUIET, Time};
use super::{Design, half_width, median};
use crate::compare::{compare, compare_in_one_start};
use crate::figures::rates;
use crate::record::{Comparison, RoundRecord};

/// Returns the comparison of two equal targets in one start, with and without the error over starts.
fn compared(seed: u64, rounds: u32, noise: Noise) -> [Comparison; 2] {
    let design = Design { starts: 1, slices: Some(rounds), hold_s: 0.5 };
    let mut all = design.run(&mut Time::new(seed, noise), seed);
    all.iter_mut().flatten().for_each(|round| round.slice = None);
    let [one, other] = all.each_ref().map(|rounds: &Vec<RoundRecord>| rates(rounds));
    let both = [("one".to_owned(), one), ("other".to_owned(), other)];
    [compare_in_one_start(&both), compare(&both)]
}

/// Returns the shares of runs over equal targets that claim a difference, with and without the error over
/// starts, and half the width of the first interval: the median over runs.
fn simulated(runs: u32, rounds: u32, noise: Noise) -> ([f64; 2], f64) {
    let all: Vec<_> = (0..runs).map(|seed| compared(seed.into(), rounds, noise)).collect();
    let share =
        |of: usize| all.iter().filter(|it| it[of].pairs[0].shown).count() as f64 / f64::from(runs);
    ([share(0), share(1)], median(all.iter().map(|it| half_width(&it[0])).collect()))
}

#[test]
fn one_start_keeps_the_level_and_would_not_without_the_error_over_starts() {
    for rounds in [5, 20] {
        let ([with, _], _) = simulated(1_000, rounds, NEIGHBOURS);
        assert!(with <= 0.07, "{rounds} rounds among neighbours: {with}");
        let ([with, without], _) = simulated(1_000, rounds, QUIET);
        assert!(with <= 0.06, "{rounds} rounds on a quieter machine: {with}");
        assert!(rounds == 5 || without > 0.15, "{rounds} rounds without the error: {without}");
    }
}

/// Prints the table of docs/explanation/simulations.md on one start, with the command:
///
/// `cargo test --release --lib -- --ignored --nocapture table_of_one_start`
#[test]
#[ignore = "prints a table"]
#[expect(clippy::print_stdout, reason = "prints a table for the documentation")]
fn prints_the_table_of_one_start() {
    for (what, noise) in [("neighbours", NEIGHBOURS), ("quiet", QUIET)] {
        for rounds in [5, 8, 12, 20] {
            let ([with, without], width) = simulated(5_000, rounds, noise);
            let percent = |share: f64| format!("{:.1} %", share * 100.0);
            println!(
                "{what}, {rounds} rounds: ±{}, false {}, without the error over starts {}",
                percent(width),
                percent(with),
                percent(without)
            );
        }
    }
}
