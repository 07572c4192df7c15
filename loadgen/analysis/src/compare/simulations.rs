//! Simulates how often a comparison claims a difference in rates or latencies that does not exist,
//! and how often it finds a true one.

use super::*;
use crate::record::Percentile;
use crate::statistics::simulations::{Machine, Noise, REAL};
use crate::statistics::{Family, LEVEL, holm};

/// Standard deviation of the noise that each percentile adds to that of the next lower one, or the
/// median to that of the rate, in proportion to the noise [`REAL`] of a measurement's rate.
type Added = [f64; 5];

/// Noise of latencies in the closed model: users wait for their responses, so that rate and median
/// latency move together.
///
/// The values come from two runs of 40 rounds of 2 s each, of Sanic and of FastAPI against itself,
/// with 50 users, on a shared machine with two cores: the standard deviations of the differences
/// within a round grew from one percentile to the next by about these multiples of that of the rate.
const CLOSED: Added = [0.3, 0.55, 0.45, 0.8, 1.1];

/// True differences of the simulated targets.
#[derive(Debug, Clone, Copy)]
struct Truth {
    /// Logarithm of the true ratio of the rates of each target and the one before.
    rate: f64,
    /// Logarithm of the true ratio of p50 and p90 of each target and the one before.
    middle: f64,
    /// Logarithm of the true ratio of p95, p99 and p99.9 of each target and the one before.
    tail: f64,
}

const EQUAL: Truth = Truth { rate: 0.0, middle: 0.0, tail: 0.0 };

/// Simulates a run, and compares its targets by their rates and, if `added` is the noise of their
/// latencies, by latencies.
fn compared(
    machine: &mut Machine,
    targets: usize,
    rounds: u32,
    added: Option<Added>,
    truth: Truth,
) -> Comparison {
    let run = machine.rounds(targets, rounds);
    let names = |i: usize| format!("target {i}");
    let rates: Vec<(String, ByRound)> = (0..targets)
        .map(|i| {
            let rates = run.iter().map(|round| (round[i] + truth.rate * i as f64).exp());
            (names(i), (1..).zip(rates).collect())
        })
        .collect();
    let comparison = compare(&rates);
    let Some(added) = added else { return comparison };
    let mut latencies: Vec<(String, ByPercentile)> =
        (0..targets).map(|i| (names(i), ByPercentile::new())).collect();
    for (i, (_, by_percentile)) in latencies.iter_mut().enumerate() {
        let mut speeds: Vec<f64> = run.iter().map(|round| round[i]).collect();
        for (percentile, added) in Percentile::ALL.into_iter().zip(added) {
            let truth = match percentile {
                Percentile::P50 | Percentile::P90 => truth.middle,
                _ => truth.tail,
            };
            for speed in &mut speeds {
                *speed += REAL.own * added * machine.normal();
            }
            let figures = speeds.iter().map(|speed| (speed + truth * i as f64).exp());
            by_percentile.insert(percentile, Ok((1..).zip(figures).collect()));
        }
    }
    comparison.with_latencies(&latencies)
}

/// Shares (0 to 1) of simulated runs.
#[derive(Debug, Default)]
struct Claimed {
    /// Runs that claim any difference.
    any: f64,
    /// Runs that claim a difference of the first two targets' rates.
    rate: f64,
    /// Runs that would claim that difference after one correction without weights and order.
    rate_without_weights: f64,
    /// Runs that claim a difference of the first two targets' medians.
    p50: f64,
    /// Runs that claim a difference of the first two targets' p99.
    p99: f64,
}

fn claimed(
    seed: u64,
    runs: u32,
    (noise, added): (Noise, Option<Added>),
    (targets, rounds): (usize, u32),
    truth: Truth,
) -> Claimed {
    let mut machine = Machine::new(seed, noise);
    let mut claimed = Claimed::default();
    for _ in 0..runs {
        let comparison = compared(&mut machine, targets, rounds, added, truth);
        let pairs = comparison.pairs.iter();
        let all: Vec<&Pair> =
            pairs.chain(comparison.latency_pairs.iter().map(|it| &it.pair)).collect();
        let one = 1.0 / f64::from(runs);
        let two = ["target 0", "target 1"];
        let is_shown =
            |pair: Option<&Pair>| if pair.is_some_and(|pair| pair.shown) { one } else { 0.0 };
        let by = |percentile| is_shown(comparison.latency_pair(percentile, two[0], two[1]));
        claimed.any += if all.iter().any(|pair| pair.shown) { one } else { 0.0 };
        claimed.rate += is_shown(comparison.pair(two[0], two[1]));
        let all_alike = Family::of(all.iter().map(|pair| pair.p_value.unwrap()));
        let corrected = holm(&[all_alike]).concat().concat();
        let is_rate = |pair: &Pair| comparison.pair(two[0], two[1]) == Some(pair);
        let rate = all.iter().position(|pair| is_rate(pair)).unwrap();
        claimed.rate_without_weights += if corrected[rate] < LEVEL { one } else { 0.0 };
        claimed.p50 += by(Percentile::P50);
        claimed.p99 += by(Percentile::P99);
    }
    claimed
}

#[test]
fn one_run_in_twenty_over_equals_claims_any_difference() {
    for (targets, runs) in [(2, 1_000), (4, 300)] {
        let claims = claimed(1, runs, (REAL, Some(CLOSED)), (targets, 5), EQUAL).any;
        assert!(claims <= 0.06, "{targets} targets: {claims}");
    }
}

#[test]
fn latencies_that_differ_claim_no_difference_of_equal_rates() {
    let truth = Truth { tail: 0.6, ..EQUAL };
    let claims = claimed(1, 1_000, (REAL, Some(CLOSED)), (2, 5), truth);
    assert!(claims.p99 > 0.9 && claims.rate <= 0.06, "{claims:?}");
    assert!(claims.p50 <= 0.06, "{claims:?}");
}

#[test]
fn rates_are_found_nearly_as_often_with_latencies_as_alone() {
    let truth = Truth { rate: 0.1, middle: 0.1, tail: 0.1 };
    let found = |added| claimed(1, 1_000, (REAL, added), (2, 5), truth).rate;
    let (alone, both) = (found(None), found(Some(CLOSED)));
    assert!(both > alone - 0.05, "{both} instead of {alone}");
}

/// Prints the table of docs/explanation/simulations.md on latencies, with the command:
///
/// `cargo test --release --lib -- --ignored --nocapture table_of_latencies`
#[test]
#[ignore = "prints a table"]
#[expect(clippy::print_stdout, reason = "prints a table for the documentation")]
fn prints_the_table_of_latencies() {
    for (targets, rounds) in [(2, 5), (2, 10), (2, 20), (4, 5), (4, 10), (4, 20)] {
        let size = (targets, rounds);
        let range = |added, truth, of: fn(&Claimed) -> f64| {
            let all =
                [1, 2, 3, 4, 5].map(|seed| of(&claimed(seed, 1_000, (REAL, added), size, truth)));
            let (low, high) =
                all.iter().fold((1.0_f64, 0.0_f64), |(l, h), x| (l.min(*x), h.max(*x)));
            format!("{:.1}–{:.1} %", low * 100.0, high * 100.0)
        };
        let slower = Truth { rate: 0.1, middle: 0.1, tail: 0.1 };
        let tail = Truth { tail: 0.3, ..EQUAL };
        println!(
            "{targets} targets, {rounds} rounds: false {}; rates 10 % alone {}, with {}, without \
             weights {}; p99 35 % {}",
            range(Some(CLOSED), EQUAL, |it| it.any),
            range(None, slower, |it| it.rate),
            range(Some(CLOSED), slower, |it| it.rate),
            range(Some(CLOSED), slower, |it| it.rate_without_weights),
            range(Some(CLOSED), tail, |it| it.p99),
        );
    }
}
