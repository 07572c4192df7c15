//! Simulates how often steady targets are called unsteady, and how often a warm-up is noticed.

use super::*;
use crate::statistics::simulations::{Machine, REAL};

/// Noise of a second's rate, as the logarithm: an autoregressive process, a speed of the whole round,
/// and disturbed seconds.
///
/// The values come from eight rounds of 40 s of Sanic and of FastAPI on a shared machine with two
/// cores: the correlations of successive seconds were 0.3 to 0.75, with the changes of the machine's
/// speed in them.
#[derive(Debug, Clone, Copy)]
struct Seconds {
    /// Correlation of successive seconds.
    correlation: f64,
    /// Standard deviation of a second.
    deviation: f64,
}

/// Simulates the seconds of a round of a steady target.
fn round(machine: &mut Machine, of: Seconds, seconds: usize) -> Vec<f64> {
    let speed = machine.rounds(1, 1)[0][0];
    let own = (1.0 - of.correlation.powi(2)).sqrt();
    let mut now = of.deviation * machine.normal();
    (0..seconds)
        .map(|_| {
            now = of.correlation * now + own * of.deviation * machine.normal();
            // One second in forty is slower, by 10 % on average.
            let disturbed = machine.normal() > 1.96;
            speed + now - if disturbed { (machine.normal() * 0.125).abs() } else { 0.0 }
        })
        .collect()
}

/// Returns the share of simulated runs that are called unsteady, by the rate or by the CPU time.
/// `warm_up` has the logarithms of the beginning of each round, which is added.
fn unsteady(of: Seconds, (rounds, seconds): (usize, usize), warm_up: &[f64]) -> f64 {
    const RUNS: usize = 1_000;
    let mut machine = Machine::new(1, REAL);
    let called = |machine: &mut Machine| {
        let mut series: Vec<(u32, Vec<f64>)> =
            (1..).take(rounds).map(|number| (number, round(machine, of, seconds))).collect();
        for (_, round) in &mut series {
            round.iter_mut().zip(warm_up).for_each(|(second, slower)| *second += slower);
        }
        let rounds: Vec<Vec<f64>> = series.iter().map(|(_, round)| round.clone()).collect();
        over_rounds(Figure::Rate, &rounds)
            .or_else(|| within_rounds(Figure::Rate, &series))
            .is_some()
    };
    let found = (0..RUNS)
        .filter(|_| {
            // The CPU time per request has noise of its own.
            let by_rate = called(&mut machine);
            let by_cpu = warm_up.is_empty() && called(&mut machine);
            by_rate || by_cpu
        })
        .count();
    found as f64 / RUNS as f64
}

const SIZES: [(usize, usize); 6] = [(5, 4), (5, 10), (10, 10), (1, 20), (1, 60), (3, 30)];

#[test]
fn steady_targets_are_seldom_called_unsteady() {
    for correlation in [0.0, 0.3, 0.6] {
        for size in SIZES {
            let share = unsteady(Seconds { correlation, deviation: 0.05 }, size, &[]);
            assert!(share <= 0.055, "{correlation} {size:?}: {share}");
        }
    }
}

#[test]
fn a_short_warm_up_is_noticed() {
    let noise = Seconds { correlation: 0.3, deviation: 0.05 };
    for (size, slower) in [((5, 10), 0.2_f64), ((1, 30), 0.3)] {
        let share = unsteady(noise, size, &[(1.0 - slower).ln(); 3]);
        assert!(share >= 0.8, "{size:?}: {share}");
    }
}

/// Prints the table of docs/explanation/simulations.md on steady targets, with the command:
///
/// `cargo test --release --lib -- --ignored --nocapture table_of_steady_targets`
#[test]
#[ignore = "prints a table"]
#[expect(clippy::print_stdout, reason = "prints a table for the documentation")]
fn prints_the_table_of_steady_targets() {
    for size in SIZES {
        let of = |correlation, warm_up: &[f64]| {
            let noise = Seconds { correlation, deviation: 0.05 };
            format!("{:.1} %", 100.0 * unsteady(noise, size, warm_up))
        };
        let never = [0.0, 0.3, 0.6, 0.75].map(|correlation| of(correlation, &[]));
        let slow = [0.1, 0.3, 0.5].map(|slower: f64| of(0.3, &[(1.0 - slower).ln(); 3]));
        println!("{size:?}: steady {never:?}; 3 s slower by 10, 30, 50 %: {slow:?}");
    }
}
