//! Simulates how often the method claims a difference that does not exist, and how often the method
//! finds a true difference. Only in a simulation is the truth known.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::record::FEWEST_ROUNDS;

/// Simulated noise of a round's rate, as a share of the rate.
///
/// The values come from real runs: five rounds of 3 s over four targets on a shared machine with
/// two cores. In two such runs the targets' own standard deviations were 0.4 to 6 %, and the
/// standard deviations of the differences within a round 2.6 to 7 %. Two or three of the forty
/// rounds differed by some 10 % from the other rounds of their target. In a third run another user
/// of the machine took up to half of its CPU time for some of the rounds: such a drift is common to
/// all targets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noise {
    /// Standard deviation of the lognormal noise that each measurement has independently of the
    /// others.
    pub own: f64,
    /// Standard deviation of the change in the machine's speed from one measurement to the next.
    pub drift: f64,
    /// Share of measurements (0 to 1) that a disturbance slows.
    pub outliers: f64,
    /// Mean logarithm of the slowdown of a disturbed measurement; the logarithms are exponentially
    /// distributed.
    pub outlier: f64,
    /// Advantage of each place in a round over the place before it, such as that of a machine that warms
    /// up.
    pub place: f64,
    /// Slowdown of the measurement that follows the first target, such as by a machine that it has heated.
    pub carry_over: f64,
}

pub(crate) const REAL: Noise =
    Noise { own: 0.03, drift: 0.02, outliers: 0.025, outlier: 0.1, place: 0.0, carry_over: 0.0 };

/// A machine that measures targets which are equally fast.
pub(crate) struct Machine {
    random: ChaCha8Rng,
    noise: Noise,
}

impl Machine {
    /// Creates a machine whose random numbers depend on `seed` alone.
    pub(crate) fn new(seed: u64, noise: Noise) -> Self {
        Self { random: ChaCha8Rng::seed_from_u64(seed), noise }
    }

    /// Returns a standard normal random number (Box and Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.random.random::<f64>(), self.random.random::<f64>());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    /// Simulates a run over targets that are equally fast. Returns the logarithms of the targets'
    /// rates, in one list for each round. The targets are measured one after another, in the order of a
    /// run.
    pub(crate) fn rounds(&mut self, targets: usize, rounds: u32) -> Vec<Vec<f64>> {
        let mut speed = 0.0;
        let (seed, mut before) = (self.random.random(), None);
        (1..=rounds)
            .map(|round| {
                let mut measured = vec![0.0; targets];
                for (place, target) in order(targets, seed, round).into_iter().enumerate() {
                    speed += self.noise.drift * self.normal();
                    measured[target] = speed + self.noise.own * self.normal();
                    measured[target] += self.noise.place * place as f64;
                    if before.replace(target) == Some(0) {
                        measured[target] -= self.noise.carry_over;
                    }
                    if self.random.random_bool(self.noise.outliers) {
                        let exponential = -(1.0 - self.random.random::<f64>()).ln();
                        measured[target] -= self.noise.outlier * exponential;
                    }
                }
                measured
            })
            .collect()
    }
}

/// Returns the sample of the differences of two targets' logarithms, round by round.
fn paired(rounds: &[Vec<f64>], one: usize, other: usize) -> Sample {
    Sample::of(&rounds.iter().map(|round| round[one] - round[other]).collect::<Vec<_>>()).unwrap()
}

/// Returns the share of simulated runs over equally fast targets in which the method claims any
/// difference.
fn false_claims(seed: u64, noise: Noise, targets: usize, rounds: u32) -> f64 {
    const RUNS: u32 = 10_000;
    let mut machine = Machine::new(seed, noise);
    let claimed = (0..RUNS)
        .filter(|_| {
            let run = machine.rounds(targets, rounds);
            let p_values = (0..targets)
                .flat_map(|one| (0..one).map(move |other| (one, other)))
                .map(|(one, other)| paired(&run, one, other).p_value().unwrap());
            holm(&[Family::of(p_values)]).concat().concat().iter().any(|p| *p < LEVEL)
        })
        .count();
    claimed as f64 / f64::from(RUNS)
}

/// Returns the share of comparisons between two simulated runs of one target in which the method
/// claims a difference. The machine's speed drifts differently in each run.
fn false_claims_between_runs(seed: u64, noise: Noise, rounds: u32) -> f64 {
    const RUNS: u32 = 10_000;
    let mut machine = Machine::new(seed, noise);
    let mut run = || Sample::of(&machine.rounds(1, rounds).concat()).unwrap();
    let claimed = (0..RUNS).filter(|_| run().less(&run()).p_value() < Some(LEVEL)).count();
    claimed as f64 / f64::from(RUNS)
}

/// Returns the share of simulated runs that find a true difference of 5 %, and the mean number of
/// rounds of these runs. Each run has as many rounds as a preceding run of five rounds proposed. A
/// preceding run that proposes more than 1,000 rounds is repeated.
fn found(seed: u64, noise: Noise) -> (f64, f64) {
    const RUNS: u32 = 2_000;
    let mut machine = Machine::new(seed, noise);
    let (mut found, mut asked) = (0, 0);
    for _ in 0..RUNS {
        let needed = loop {
            let pilot = paired(&machine.rounds(2, FEWEST_ROUNDS), 0, 1);
            if let Some(needed) = rounds_needed(&pilot, LEVEL) {
                break needed;
            }
        };
        let mut sample = paired(&machine.rounds(2, needed), 0, 1);
        sample.mean += 1.05_f64.ln();
        asked += needed;
        found += u32::from(sample.p_value() < Some(LEVEL) && sample.mean > 0.0);
    }
    (f64::from(found) / f64::from(RUNS), f64::from(asked) / f64::from(RUNS))
}

/// Returns the share of simulated runs over two equally fast targets that claim a difference, with as many
/// rounds as ± `percent` % need after a first stage of ten rounds, but at most `most`; and the mean
/// number of rounds.
fn false_claims_in_stages(seed: u64, noise: Noise, most: u32, percent: f64) -> (f64, f64) {
    const RUNS: u32 = 2_000;
    const FIRST: usize = 10;
    let mut machine = Machine::new(seed, noise);
    let (mut claimed, mut all) = (0, 0);
    for _ in 0..RUNS {
        // Rounds are simulated before they are asked for, in stages of any length.
        let run = machine.rounds(2, most);
        let differences: Vec<f64> = run.iter().map(|round| round[0] - round[1]).collect();
        let mut ends = vec![FIRST];
        let sample = loop {
            let rounds = ends[ends.len() - 1];
            let sample = Sample::in_stages(&differences[..rounds], &ends).unwrap();
            let needed = sample.rounds_for(percent).unwrap() as usize;
            if needed <= rounds || rounds == most as usize {
                break sample;
            }
            ends.push(needed.min(most as usize));
        };
        claimed += u32::from(sample.p_value() < Some(LEVEL));
        all += sample.rounds;
    }
    (f64::from(claimed) / f64::from(RUNS), f64::from(all) / f64::from(RUNS))
}

#[test]
fn deciding_on_more_rounds_keeps_the_level() {
    let heavy = Noise { outliers: 0.05, outlier: 0.3, ..REAL };
    for (noise, percent) in [(REAL, 3.0), (REAL, 1.0), (heavy, 3.0)] {
        let (claims, rounds) = false_claims_in_stages(1, noise, 300, percent);
        assert!(claims <= 0.06, "{claims} in {rounds} rounds, {noise:?} {percent}");
    }
}

#[test]
fn one_comparison_of_equals_in_twenty_claims_a_difference() {
    let claims = false_claims(1, REAL, 2, 5);
    assert!((0.04..=0.06).contains(&claims), "{claims}");
}

#[test]
fn four_equal_targets_claim_no_more_differences_than_two() {
    let claims = false_claims(1, REAL, 4, 5);
    assert!(claims <= 0.06, "{claims}");
}

#[test]
fn two_runs_on_a_steady_machine_claim_few_differences() {
    let steady = Noise { drift: 0.0, ..REAL };
    for rounds in [5, 10] {
        let claims = false_claims_between_runs(1, steady, rounds);
        assert!((0.03..=0.055).contains(&claims), "{rounds}: {claims}");
    }
}

/// Shows that two runs on a machine whose speed drifts often claim false differences, which is why
/// targets are measured in interleaved rounds. Confirms the statement of
/// docs/explanation/comparisons.md about saved runs.
#[test]
fn two_runs_on_a_drifting_machine_claim_false_differences() {
    let claims = false_claims_between_runs(1, REAL, 5);
    assert!(claims > 0.15, "{claims}");
}

#[test]
fn the_recommended_rounds_suffice() {
    let (found, rounds) = found(1, REAL);
    assert!(found >= 0.8, "{found} in {rounds} rounds");
}

/// Prints the table of docs/explanation/simulations.md, with the command:
///
/// `cargo test --release --lib -- --ignored --nocapture table`
#[test]
#[ignore = "prints a table"]
#[expect(clippy::print_stdout, reason = "prints a table for the documentation")]
fn prints_the_table_of_the_documentation() {
    let normal = Noise { outliers: 0.0, ..REAL };
    let frequent = Noise { outliers: 0.05, ..REAL };
    let heavy = Noise { outliers: 0.05, outlier: 0.3, ..REAL };
    let drifting = Noise { drift: 0.1, ..REAL };
    let places = Noise { place: 0.1, ..REAL };
    let carrying = Noise { carry_over: 0.1, ..REAL };
    for (what, noise) in [
        ("real", REAL),
        ("normal", normal),
        ("frequent", frequent),
        ("heavy", heavy),
        ("drifting", drifting),
        ("places", places),
        ("carrying", carrying),
    ] {
        for seed in 1..=5 {
            let pairs = [5, 10, 20].map(|rounds| false_claims(seed, noise, 2, rounds));
            let four = [5, 8].map(|rounds| false_claims(seed, noise, 4, rounds));
            let (found, rounds) = found(seed, noise);
            let in_stages = |percent| false_claims_in_stages(seed, noise, 1_000, percent);
            let stages = (seed <= 2).then(|| [3.0, 1.0].map(in_stages));
            let runs = [5, 10, 20].map(|rounds| false_claims_between_runs(seed, noise, rounds));
            println!(
                "{what} seed {seed}: {pairs:?}, four {four:?}; {found} in {rounds}; runs {runs:?}; \
                 stages {stages:?}"
            );
        }
    }
}
