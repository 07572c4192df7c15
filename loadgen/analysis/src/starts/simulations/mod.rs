//! Simulates runs with slices, with rounds and with duets that take the same time, on a machine whose
//! noise goes on in time: how often they claim a difference that does not exist, how wide their intervals
//! are, and how often they find a true difference.

mod duets;
mod machine;
mod one_start;

use machine::{NEIGHBOURS, Noise, QUIET, Time};

use crate::compare::compare;
use crate::figures::rates;
use crate::record::{Comparison, RoundRecord, SliceRecord};
use crate::statistics::order;
use loadgen_measure::Summary;

/// Time of a start of one target with verification and stop, and of two targets whose starts are
/// slices', in s.
const START_OF_ONE: f64 = 2.0;
const START_OF_TWO: f64 = 2.5;

/// The whole warm-up, and the time that a slice takes besides warm-up and load, in s.
const WARMUP: f64 = 1.0;
const SLICE_OVERHEAD: f64 = 0.15;

/// A run over two targets.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Design {
    /// Number of starts of each target.
    starts: u32,
    /// Number of slices of each start; `None` for rounds, each with a start of its own.
    slices: Option<u32>,
    /// Time for which a round or a slice holds the load, in s.
    hold_s: f64,
}

impl Design {
    /// Returns the run with this number of starts and slices that takes this time in s; `None` if its
    /// slices would be shorter than 0.1 s.
    fn within(seconds: f64, starts: u32, slices: Option<u32>) -> Option<Self> {
        let of_start = seconds / f64::from(starts);
        let n = f64::from(slices.unwrap_or(1));
        let hold_s = match slices {
            None => of_start / 2.0 - START_OF_ONE - WARMUP,
            Some(_) => {
                let warmups = WARMUP + (n - 1.0) * later_warmup(n);
                ((of_start - START_OF_TWO) / 2.0 - warmups - n * SLICE_OVERHEAD) / n
            }
        };
        (hold_s >= 0.1).then_some(Self { starts, slices, hold_s })
    }

    /// Simulates the run. Returns the rounds of both targets.
    fn run(self, time: &mut Time, seed: u64) -> [Vec<RoundRecord>; 2] {
        let mut rounds = [Vec::new(), Vec::new()];
        let n = self.slices.unwrap_or(1);
        for start in 1..=self.starts {
            let of_start = [time.start(), time.start()];
            if self.slices.is_some() {
                time.pass(START_OF_TWO);
            }
            for number in 1..=n {
                let round = (start - 1) * n + number;
                for target in order(2, seed, round) {
                    time.pass(match (self.slices, number) {
                        (None, _) => START_OF_ONE + WARMUP,
                        (_, 1) => SLICE_OVERHEAD + WARMUP,
                        _ => SLICE_OVERHEAD + later_warmup(n.into()),
                    });
                    let rate_per_s = (of_start[target] + time.load(self.hold_s)).exp();
                    rounds[target].push(RoundRecord {
                        round,
                        slice: self.slices.map(|of| SliceRecord { start, number, of }),
                        whole: true,
                        total: Summary { rate_per_s, ..Summary::default() },
                        ..RoundRecord::default()
                    });
                }
            }
        }
        rounds
    }
}

/// Returns the warm-up of a slice that is not the first of its start, in s.
fn later_warmup(slices: f64) -> f64 {
    (WARMUP / slices).max(0.1)
}

/// Results of simulated runs, as shares from 0 to 1.
#[derive(Debug, Default)]
struct Found {
    /// Runs over equal targets that claim a difference.
    false_claims: f64,
    /// The same if slices were taken for independent rounds.
    as_rounds: f64,
    /// Half the width of the interval of the ratio: median over the runs.
    half_width: f64,
    /// Runs that find a true difference of 5 %.
    five_percent: f64,
}

fn compared(rounds: &[Vec<RoundRecord>; 2]) -> Comparison {
    let [one, other] = rounds.each_ref().map(|rounds| rates(rounds));
    compare(&[("one".to_owned(), one), ("other".to_owned(), other)])
}

/// Returns half the width of the interval of the only pair, as a share.
fn half_width(comparison: &Comparison) -> f64 {
    let [low, high] = comparison.pairs[0].confidence_95.unwrap();
    ((high / low).ln() / 2.0).exp_m1()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn simulated(seed: u64, runs: u32, noise: Noise, design: Design) -> Found {
    let one = 1.0 / f64::from(runs);
    let mut found = Found::default();
    let mut widths = Vec::new();
    for run in 0..runs {
        let mut time = Time::new(seed * 1_000_003 + u64::from(run), noise);
        let mut rounds = design.run(&mut time, run.into());
        let comparison = compared(&rounds);
        found.false_claims += if comparison.pairs[0].shown { one } else { 0.0 };
        widths.push(half_width(&comparison));
        let [_, second] = &mut rounds;
        second.iter_mut().for_each(|round| round.total.rate_per_s *= 1.05);
        let pair = &compared(&rounds).pairs[0];
        found.five_percent += if pair.shown && pair.better == "other" { one } else { 0.0 };
        second_off(&mut rounds);
        found.as_rounds += if compared(&rounds).pairs[0].shown { one } else { 0.0 };
    }
    found.half_width = median(widths);
    found
}

/// Makes both targets equal again, and takes each slice for a round of its own.
fn second_off(rounds: &mut [Vec<RoundRecord>; 2]) {
    rounds[1].iter_mut().for_each(|round| round.total.rate_per_s /= 1.05);
    rounds.iter_mut().flatten().for_each(|round| round.slice = None);
}

#[test]
fn the_noise_is_that_of_a_shared_machine() {
    // One start: what it brings with it is in all slices alike.
    let width = |slices, hold_s| {
        let design = Design { starts: 1, slices: Some(slices), hold_s };
        let of = |seed| {
            let mut rounds = design.run(&mut Time::new(seed, NEIGHBOURS), seed);
            rounds.iter_mut().flatten().for_each(|round| round.slice = None);
            half_width(&compared(&rounds))
        };
        median((0..200).map(of).collect())
    };
    let (many, few) = (width(60, 0.3), width(5, 5.0));
    assert!((0.053..=0.071).contains(&many), "{many}");
    assert!((0.093..=0.23).contains(&few), "{few}");
}

#[test]
fn slices_make_the_interval_narrower() {
    let of = |starts, slices| {
        let design = Design::within(120.0, starts, slices).unwrap();
        simulated(1, 300, NEIGHBOURS, design).half_width
    };
    let (rounds, slices) = (of(5, None), of(10, Some(5)));
    assert!(slices < 0.6 * rounds, "{slices} {rounds}");
}

#[test]
fn starts_keep_the_level_and_slices_would_not() {
    let found = simulated(1, 1_000, QUIET, Design::within(120.0, 5, Some(10)).unwrap());
    // The standard error of 5 % of 1,000 runs is 0.7 %.
    assert!(found.false_claims <= 0.07 && found.as_rounds >= 0.09, "{found:?}");
}

/// Returns the least and the greatest of these shares.
fn range(values: &[f64]) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min) * 100.0;
    let high = values.iter().copied().fold(0.0, f64::max) * 100.0;
    format!("{low:.1}–{high:.1} %")
}

/// Prints the tables of docs/explanation/simulations.md on slices, with the command:
///
/// `cargo test --release --lib -- --ignored --nocapture table_of_slices`
#[test]
#[ignore = "prints a table"]
#[expect(clippy::print_stdout, reason = "prints a table for the documentation")]
fn prints_the_table_of_slices() {
    const RUNS: u32 = 2_000;
    for (what, noise) in [("neighbours", NEIGHBOURS), ("quiet", QUIET)] {
        for (seconds, starts) in [(120.0, 5), (120.0, 10), (120.0, 20), (300.0, 20)] {
            for slices in [None, Some(1), Some(5), Some(10), Some(20)] {
                let Some(design) = Design::within(seconds, starts, slices) else { continue };
                let all: Vec<Found> =
                    (1..=5).map(|seed| simulated(seed, RUNS, noise, design)).collect();
                let of =
                    |figure: fn(&Found) -> f64| range(&all.iter().map(figure).collect::<Vec<_>>());
                println!(
                    "{what} {seconds} s: {starts} × {slices:?} of {:.2} s: false {}, as rounds {}, \
                     ±{}, 5 % found {}",
                    design.hold_s,
                    of(|it| it.false_claims),
                    of(|it| it.as_rounds),
                    of(|it| it.half_width),
                    of(|it| it.five_percent),
                );
            }
        }
    }
}
