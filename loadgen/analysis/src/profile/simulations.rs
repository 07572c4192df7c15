//! Simulates how often a function is blamed that did not change, and how often one that did is found. Only in a
//! simulation is the truth known.

use loadgen_measure::{Doing, Process, Stacks};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::differences::{Profile, explain_difference};
use crate::statistics::simulations::{Machine, REAL};

/// Functions of the simulated program, of which each has less CPU time than the one before.
const FUNCTIONS: usize = 40;

/// Samples of a round of 3 s on one busy CPU.
const SAMPLES: usize = 600;

/// Deviation of the share of a function from one start of a server to the next, as a share of it.
const OVER_STARTS: f64 = 0.03;

/// A simulated comparison of two commits.
struct Commits {
    random: ChaCha8Rng,
    machine: Machine,
    /// Duets and profiling rounds of each commit.
    rounds: u32,
    profiling_rounds: u32,
}

impl Commits {
    fn new(seed: u64, rounds: u32, profiling_rounds: u32) -> Self {
        let random = ChaCha8Rng::seed_from_u64(seed);
        Self { random, machine: Machine::new(seed, REAL), rounds, profiling_rounds }
    }

    /// Returns the stacks of a profiling round over a program whose functions take these times.
    fn stacks(&mut self, times: &[f64]) -> Stacks {
        let noisy: Vec<f64> =
            times.iter().map(|time| time * (OVER_STARTS * self.machine.normal()).exp()).collect();
        let all: f64 = noisy.iter().sum();
        let mut process = Process::default();
        for _ in 0..SAMPLES {
            let mut at = self.random.random::<f64>() * all;
            let found = noisy.iter().position(|time| {
                at -= time;
                at < 0.0
            });
            let stack = format!("main (app.py);f{} (app.py)", found.unwrap_or(0));
            process.add(stack, Doing::OnCpu, 1);
        }
        process.into()
    }

    /// Returns the functions that are blamed if one of them takes longer: by this share of the CPU time of a request.
    fn blamed(&mut self, slower: Option<(usize, f64)>) -> Vec<String> {
        let before: Vec<f64> = (0..FUNCTIONS).map(|nth| 0.92_f64.powi(nth as i32)).collect();
        let mut after = before.clone();
        if let Some((nth, share)) = slower {
            after[nth] += share * before.iter().sum::<f64>();
        }
        let all: Vec<Vec<Stacks>> = [&before, &after]
            .map(|times| (0..self.profiling_rounds).map(|_| self.stacks(times)).collect())
            .into();
        let factor = after.iter().sum::<f64>() / before.iter().sum::<f64>();
        // Duets: what slows the machine slows both, so that they differ by 1 % from one to the next.
        let pairs: Vec<(f64, f64)> = (0..self.rounds)
            .map(|_| {
                let machine = 500.0 * (0.1 * self.machine.normal()).exp();
                (machine, machine * factor * (0.01 * self.machine.normal()).exp())
            })
            .collect();
        let of = |nth: usize, which: fn(&(f64, f64)) -> f64| Profile {
            name: "shop",
            stacks: all[nth].iter().collect(),
            cpu_us: (1..).zip(pairs.iter().map(which)).collect(),
        };
        let difference = explain_difference(&of(0, |it| it.0), &of(1, |it| it.1)).unwrap();
        let shown = difference.functions.into_iter().filter(|of| of.shown);
        shown.map(|of| of.function).collect()
    }
}

#[test]
fn equal_commits_blame_no_function() {
    for (rounds, profiling_rounds) in [(5, 5), (10, 5), (10, 10)] {
        let runs: u32 = 400;
        let mut commits = Commits::new(7, rounds, profiling_rounds);
        let wrong = (0..runs).filter(|_| !commits.blamed(None).is_empty()).count();
        let percent = 100.0 * wrong as f64 / f64::from(runs);
        assert!(percent <= 7.0, "{rounds}, {profiling_rounds}: {percent}");
    }
}

#[test]
fn a_slower_function_is_found() {
    // A function with a few percent of the CPU time, which takes 3 % of it more.
    for (rounds, profiling_rounds, least) in [(10, 5, 30), (10, 8, 60), (10, 10, 75), (10, 15, 90)]
    {
        let runs = 100;
        let mut commits = Commits::new(11, rounds, profiling_rounds);
        let all: Vec<Vec<String>> = (0..runs).map(|_| commits.blamed(Some((10, 0.03)))).collect();
        let found = all.iter().filter(|blamed| blamed.contains(&"f10".to_owned())).count();
        let others = all.iter().filter(|blamed| blamed.iter().any(|of| of != "f10")).count();
        assert!(found >= least && others <= 7, "{rounds}, {profiling_rounds}: {found} {others}");
    }
}
