//! Simulates duets that take the same time.

use super::{half_width, median, range};
use crate::compare::compare;
use crate::statistics::simulations::{Machine, REAL};

/// A duet: both targets are loaded at the same time, and what slows the machine slows both.
///
/// The noise is that of ten A/A duets of ten rounds of 3 s on a shared machine with two cores. The
/// deviation of the ratio was 1.2 to 2.6 % over rounds (1.9 % in the quadratic mean), and 2.1 to 5.3 % over
/// the seconds of a round (3.1 %), which did not depend on each other: 1.8 % of 3 s, so that 0.8 % remain
/// for the starts.
#[derive(Debug, Clone, Copy)]
struct Duet {
    /// Number of starts of both targets.
    starts: u32,
    /// Time for which a round holds the load, in s.
    hold_s: f64,
}

impl Duet {
    const SECOND: f64 = 0.031;
    const START: f64 = 0.008;

    /// Returns the logarithms of the ratio of both targets' figures, by round.
    fn run(self, random: &mut Machine) -> Vec<f64> {
        let second = Self::SECOND / self.hold_s.sqrt();
        (0..self.starts).map(|_| Self::START * random.normal() + second * random.normal()).collect()
    }

    /// Returns the shares of runs that claim a false difference, and that find a true one of 2 %, and
    /// the median half width of the interval.
    fn found(self, seed: u64, runs: u32) -> [f64; 3] {
        let mut random = Machine::new(seed, REAL);
        let (mut claims, mut finds, mut widths) = (0, 0, Vec::new());
        for _ in 0..runs {
            let ratios = self.run(&mut random);
            let compared = |gain: f64| {
                let rates = ratios.iter().map(|ratio| (ratio + gain.ln()).exp());
                let level = (1..=self.starts).map(|round| (round, 1.0)).collect();
                compare(&[
                    ("one".to_owned(), (1..).zip(rates).collect()),
                    ("other".to_owned(), level),
                ])
            };
            let equal = compared(1.0);
            claims += u32::from(equal.pairs[0].shown);
            widths.push(half_width(&equal));
            let pair = &compared(1.02).pairs[0];
            finds += u32::from(pair.shown && pair.better == "one");
        }
        let share = |n: u32| f64::from(n) / f64::from(runs);
        [share(claims), share(finds), median(widths)]
    }
}

#[test]
fn ten_duets_of_three_seconds_are_near_the_best_of_their_time() {
    let width = |starts, hold_s| Duet { starts, hold_s }.found(1, 2_000)[2];
    let default = width(10, 3.0);
    // The same time with starts of 2.5 s and warm-ups of 1 s.
    let others = [(5, 9.5), (7, 5.8), (13, 1.5), (15, 0.83)];
    let best = others.map(|(starts, hold_s)| width(starts, hold_s)).into_iter().fold(1.0, f64::min);
    assert!(default < 1.1 * best, "{default} {best}");
}

/// Prints the table of docs/explanation/simulations.md on duets, with the command:
///
/// `cargo test --release --lib -- --ignored --nocapture table_of_duets`
#[test]
#[ignore = "prints a table"]
#[expect(clippy::print_stdout, reason = "prints a table for the documentation")]
fn prints_the_table_of_duets() {
    for (starts, hold_s) in [(5, 9.5), (7, 5.8), (10, 3.0), (13, 1.5), (15, 0.83)] {
        let all: Vec<[f64; 3]> =
            (1..=5).map(|seed| Duet { starts, hold_s }.found(seed, 2_000)).collect();
        let of = |at: usize| range(&all.iter().map(|it| it[at]).collect::<Vec<_>>());
        println!("{starts} × {hold_s} s: false {}, 2 % found {}, ±{}", of(0), of(1), of(2));
    }
}
