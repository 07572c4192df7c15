//! Simulates how often a comparison claims a difference in rates or latencies that does not exist,
//! and how often it finds a true one.

use super::correction::LATENCIES;
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

/// Noise of latencies whose tails vary more. In a run of FastAPI and Flask with five rounds, the 95 %
/// confidence interval of the ratio of their p99 was 0.67 to 1.09, as wide as it is here.
const WIDE: Added = [0.3, 0.55, 1.5, 4.0, 4.0];

/// True differences of the simulated targets.
#[derive(Debug, Clone, Copy)]
struct Truth {
    /// Logarithm of the true ratio of the rates of each target and the one before.
    rate: f64,
    /// Logarithm of the true ratio of each latency percentile of each target and the one before.
    by: [f64; 5],
}

const EQUAL: Truth = Truth { rate: 0.0, by: [0.0; 5] };
const SLOWER: Truth = Truth { rate: 0.1, by: [0.1; 5] };

impl Truth {
    /// Returns the truth of targets that differ by p95, p99 and p99.9 alone.
    const fn tail(of: f64) -> Self {
        Self { by: [0.0, 0.0, of, of, of], ..EQUAL }
    }
}

/// Simulates a run. Returns the logarithms of the figures of each target, by round: of its rate and, if
/// `added` is the noise of its latencies, of one over each percentile.
fn simulated(
    machine: &mut Machine,
    (targets, rounds): (usize, u32),
    added: Option<Added>,
    truth: Truth,
) -> Vec<Vec<Vec<f64>>> {
    let run = machine.rounds(targets, rounds);
    let of = |i: usize| {
        let mut speeds: Vec<f64> = run.iter().map(|round| round[i]).collect();
        let apart = |speeds: &[f64], truth| speeds.iter().map(|it| it + truth * i as f64).collect();
        let mut figures = vec![apart(&speeds, truth.rate)];
        for (truth, added) in truth.by.into_iter().zip(added.into_iter().flatten()) {
            for speed in &mut speeds {
                *speed += REAL.own * added * machine.normal();
            }
            figures.push(apart(&speeds, truth));
        }
        figures
    };
    (0..targets).map(of).collect()
}

/// Simulates a run, and compares its targets by their rates and, if `added` is the noise of their
/// latencies, by latencies.
fn compared(
    machine: &mut Machine,
    size: (usize, u32),
    added: Option<Added>,
    truth: Truth,
) -> Comparison {
    let run = simulated(machine, size, added, truth);
    let by_round =
        |logs: &Vec<f64>| -> ByRound { (1..).zip(logs.iter().map(|it| it.exp())).collect() };
    let named = || (0..).map(|i| format!("target {i}")).zip(&run);
    let rates: Vec<_> = named().map(|(name, of)| (name, by_round(&of[0]))).collect();
    let comparison = compare(&rates);
    if added.is_none() {
        return comparison;
    }
    let by_percentile = |of: &[Vec<f64>]| -> ByPercentile {
        Percentile::ALL.into_iter().zip(of.iter().map(|logs| Ok(by_round(logs)))).collect()
    };
    let latencies: Vec<_> = named().map(|(name, of)| (name, by_percentile(&of[1..]))).collect();
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
    size: (usize, u32),
    truth: Truth,
) -> Claimed {
    let mut machine = Machine::new(seed, noise);
    let mut claimed = Claimed::default();
    for _ in 0..runs {
        let comparison = compared(&mut machine, size, added, truth);
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
    let claims = claimed(1, 1_000, (REAL, Some(CLOSED)), (2, 5), Truth::tail(0.6));
    assert!(claims.p99 > 0.9 && claims.rate <= 0.06, "{claims:?}");
    assert!(claims.p50 <= 0.06, "{claims:?}");
}

#[test]
fn rates_are_found_nearly_as_often_with_latencies_as_alone() {
    let found = |added| claimed(1, 1_000, (REAL, added), (2, 5), SLOWER).rate;
    let (alone, both) = (found(None), found(Some(CLOSED)));
    assert!(both > alone - 0.05, "{both} instead of {alone}");
}

/// Sequences in which the percentiles of two targets are tested.
type Design<'a> = &'a [&'a [Percentile]];

/// Returns the figures of all pairs, 0 for the rate and then the percentiles, with whether a difference
/// is shown under this design. `p_values` has the p-value of each figure, by pair.
fn shown(p_values: &[Vec<f64>], design: Design) -> Vec<(usize, bool)> {
    let percentiles =
        design.iter().map(|of| of.iter().map(|it| 1 + *it as usize).collect()).collect();
    let families: [(f64, Vec<Vec<usize>>); 2] =
        [(1.0 - LATENCIES, vec![vec![0]]), (LATENCIES, percentiles)];
    let tested = |(weight, figures): &(f64, Vec<Vec<usize>>)| {
        let of_pair =
            |p: &Vec<f64>| figures.iter().map(|of| of.iter().map(|it| p[*it]).collect()).collect();
        let sequences: Vec<Vec<Vec<f64>>> = p_values.iter().map(of_pair).collect();
        Family { weight: *weight, sequences: sequences.concat() }
    };
    let adjusted = holm(&families.each_ref().map(tested)).concat().concat();
    let figures = families.iter().flat_map(|(_, of)| of.concat().repeat(p_values.len()));
    figures.zip(adjusted.into_iter().map(|p| p < LEVEL)).collect()
}

/// Shares (0 to 1) of what simulated runs find under a design.
#[derive(Debug, Default, Clone)]
struct Found {
    /// Mean share of the true differences between percentiles that are shown.
    differences: f64,
    /// Share of the runs that claim a difference between equal figures.
    false_claims: f64,
}

fn found(
    seed: u64,
    runs: u32,
    added: Added,
    size: (usize, u32),
    truth: Truth,
    designs: &[Design],
) -> Vec<Found> {
    let mut machine = Machine::new(seed, REAL);
    let mut all = vec![Found::default(); designs.len()];
    let differs = |figure: usize| figure > 0 && truth.by[figure - 1] != 0.0;
    let is_equal = |figure: usize| !differs(figure) && (figure > 0 || truth.rate == 0.0);
    for _ in 0..runs {
        let run = simulated(&mut machine, size, Some(added), truth);
        let p_value = |(a, b): (&Vec<f64>, &Vec<f64>)| {
            let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
            Sample::of(&differences).unwrap().p_value().unwrap()
        };
        let pairs = (0..run.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
        let p_values: Vec<Vec<f64>> = pairs
            .map(|(one, other)| run[one].iter().zip(&run[other]).map(p_value).collect())
            .collect();
        for (design, all) in designs.iter().zip(&mut all) {
            let claims = shown(&p_values, design);
            let of_differing: Vec<bool> =
                claims.iter().filter(|it| differs(it.0)).map(|it| it.1).collect();
            let right = of_differing.iter().filter(|shown| **shown).count() as f64;
            all.differences += right / of_differing.len().max(1) as f64 / f64::from(runs);
            let is_false = claims.iter().any(|(figure, shown)| *shown && is_equal(*figure));
            all.false_claims += if is_false { 1.0 } else { 0.0 } / f64::from(runs);
        }
    }
    all
}

#[test]
fn neighbouring_percentiles_that_differ_are_found_at_the_level() {
    for by in [[0.1, 0.1, 0.0, 0.0, 0.0], [0.0, 0.0, 0.3, 0.3, 0.3], [0.0, 0.0, 0.0, 0.3, 0.3]] {
        let truth = Truth { by, ..EQUAL };
        let found = found(1, 1_000, CLOSED, (2, 10), truth, &[&Percentile::SEQUENCES]);
        assert!(found[0].differences > 0.75 && found[0].false_claims <= 0.06, "{by:?}: {found:?}");
    }
}

const SIZES: [(usize, u32); 6] = [(2, 5), (2, 10), (2, 20), (4, 5), (4, 10), (4, 20)];
const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];

/// Returns the lowest and the highest of these shares.
fn range(shares: [f64; 5]) -> String {
    let low = shares.into_iter().fold(1.0, f64::min);
    let high = shares.into_iter().fold(0.0, f64::max);
    format!("{:.1}–{:.1} %", low * 100.0, high * 100.0)
}

/// Prints the table of docs/explanation/simulations.md on latencies, with the command:
///
/// `cargo test --release --lib -- --ignored --nocapture table_of_latencies`
#[test]
#[ignore = "prints a table"]
#[expect(clippy::print_stdout, reason = "prints a table for the documentation")]
fn prints_the_table_of_latencies() {
    for size in SIZES {
        let of = |added, truth, of: fn(&Claimed) -> f64| {
            range(SEEDS.map(|seed| of(&claimed(seed, 1_000, (REAL, added), size, truth))))
        };
        println!(
            "{size:?}: false {}; rates 10 % alone {}, with {}, without weights {}; p99 35 % {}",
            of(Some(CLOSED), EQUAL, |it| it.any),
            of(None, SLOWER, |it| it.rate),
            of(Some(CLOSED), SLOWER, |it| it.rate),
            of(Some(CLOSED), SLOWER, |it| it.rate_without_weights),
            of(Some(CLOSED), Truth::tail(0.3), |it| it.p99),
        );
    }
}

/// Prints the table of docs/explanation/simulations.md on sequences of percentiles, with the command:
///
/// `cargo test --release --lib -- --ignored --nocapture table_of_sequences`
#[test]
#[ignore = "prints a table"]
#[expect(clippy::print_stdout, reason = "prints a table for the documentation")]
fn prints_the_table_of_sequences() {
    use Percentile::{P50, P90, P95, P99, P99_9};
    let designs: [Design; 6] = [
        &[&[P99, P95, P90, P50, P99_9]],
        &[&[P50, P90, P95, P99, P99_9]],
        &[&[P50], &[P90], &[P95], &[P99], &[P99_9]],
        &[&[P50, P90, P95], &[P99, P99_9]],
        &[&[P50, P90], &[P95, P99, P99_9]],
        &Percentile::SEQUENCES,
    ];
    for (noise, added, of) in [("closed", CLOSED, 0.2), ("wide", WIDE, 0.5)] {
        for (what, by) in [
            ("nothing", [0.0; 5]),
            ("all", [0.1; 5]),
            ("p50 and p90", [0.1, 0.1, 0.0, 0.0, 0.0]),
            ("p50 to p95", [0.1, 0.1, 0.1, 0.0, 0.0]),
            ("p95 to p99.9", [0.0, 0.0, of, of, of]),
            ("p99 and p99.9", [0.0, 0.0, 0.0, of, of]),
        ] {
            // In the closed model, rates move with all latencies.
            let truth = Truth { rate: if what == "all" { 0.1 } else { 0.0 }, by };
            let all = SIZES
                .map(|size| SEEDS.map(|seed| found(seed, 1_000, added, size, truth, &designs)));
            for (i, design) in designs.iter().enumerate() {
                let percent = |of: &[Vec<Found>; 5]| {
                    of.iter().map(|it| it[i].differences * 100.0).sum::<f64>() / 5.0
                };
                let by_size = all.each_ref().map(percent);
                let mean = by_size.iter().sum::<f64>() / 6.0;
                let claims =
                    all.each_ref().map(|of| range(of.each_ref().map(|it| it[i].false_claims)));
                println!(
                    "{noise}, {what}, {design:?}: found {mean:.0} %, by size {by_size:.0?}; false \
                     {claims:?}"
                );
            }
        }
    }
}
