//! The record of a search for capacities: the document that `--format json` prints and
//! `capacity.json` keeps.
//!
//! Field names carry their unit. The number in [`CAPACITY_SCHEMA`] goes up when a field changes
//! meaning.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::curve::CurvePoint;
use crate::measure::compare::{Comparison, compare};
use crate::measure::connections::Connections;
use crate::measure::record::{Bottleneck, Degraded, Environment, ServerRecord, drain_s};
use crate::measure::resources::ResourceRecord;
use crate::measure::sent::SentRecord;
use crate::measure::statistics::Sample;
use crate::measure::summary::Summary;

/// What the document calls itself.
pub const CAPACITY_SCHEMA: &str = "loadgen.capacity/1";

/// What each target carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityRecord {
    /// [`CAPACITY_SCHEMA`].
    pub schema: String,
    /// The scenario's name.
    pub scenario: String,
    /// When it began, in UTC (RFC 3339).
    pub started: String,
    /// What generated data, the order of the targets and the first rate of each search were seeded
    /// with.
    pub seed: u64,
    /// The command line, program and all.
    #[serde(default)]
    pub command: Vec<String>,
    /// Where it ran.
    pub environment: Environment,
    /// How it was searched.
    pub search: SearchRecord,
    /// Digests of what was sent; `None` in records of earlier versions.
    #[serde(default)]
    pub sent: Option<SentRecord>,
    /// The targets, in the order in which they were named; those of which there is anything.
    pub targets: Vec<CapacityTarget>,
    /// The targets whose capacity was found, in order; `None` where there are not two of them.
    pub comparison: Option<Comparison>,
    /// Why the result is not what was planned, if so.
    pub degraded: Option<Degraded>,
    /// Whether it was interrupted before its planned end.
    pub interrupted: bool,
}

/// How capacities were searched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchRecord {
    /// What had to hold for a rate to count as carried, besides that it was kept.
    pub criteria: Vec<String>,
    /// Thresholds of the scenario that were not asked for, because they speak of the rate itself.
    pub left_out: Vec<String>,
    /// How arrivals are spread over time: `evenly spaced` or `Poisson`.
    pub arrivals: String,
    /// The most requests under way at the same time.
    pub users: u32,
    /// How long a trial counts at the least; longer where its rate is too low for enough samples.
    pub duration_s: f64,
    /// How long each trial runs before it counts.
    pub warmup_s: f64,
    /// How long after each trial the answers to requests in flight were waited for.
    #[serde(default = "drain_s")]
    pub drain_s: f64,
    /// How far apart the highest rate that passed and the lowest that did not may be.
    pub precision_percent: f64,
    /// The lowest rate that could be judged.
    pub lowest_per_s: f64,
    /// The names of what was to be loaded.
    pub targets: Vec<String>,
    /// Searches for each target.
    pub rounds: u32,
    /// Worker processes; 0 where the load came from the process itself.
    pub workers: u32,
}

/// What one target carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityTarget {
    /// Its name.
    pub name: String,
    /// Where it answered.
    pub url: String,
    /// What carried the requests, as in a run.
    #[serde(default)]
    pub transport: Option<String>,
    /// The connections that were opened, all trials together; `None` in records of earlier versions.
    #[serde(default)]
    pub connections: Option<Connections>,
    /// What it is, and how it differs from the others.
    pub server: ServerRecord,
    /// All rounds together.
    pub capacity: Capacity,
    /// The point of the curve with the greatest power: throughput over mean latency.
    pub knee: Option<CurvePoint>,
    /// Latency over throughput, by rate.
    pub curve: Vec<CurvePoint>,
    /// One search each.
    pub rounds: Vec<CapacityRound>,
    /// All trials, in the order in which they ran.
    pub trials: Vec<TrialRecord>,
}

/// What all rounds of a target tell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// What is known of it.
    pub bound: Bound,
    /// Requests per second. Where it was found, the geometric mean of the rounds; a lower bound is
    /// the least of them, and an upper bound the greatest.
    pub rate_per_s: Option<f64>,
    /// Student's 95 % confidence interval of the geometric mean, where it was found in at least two
    /// rounds.
    pub confidence_95_per_s: Option<[f64; 2]>,
}

/// What is known of a capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Between a rate that passed and one that did not.
    Found,
    /// Not less than the highest rate that passed: above it the generator was the limit.
    AtLeast,
    /// Less than the lowest rate that could be judged.
    Below,
    /// The search did not come to its end.
    Unknown,
}

/// One search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityRound {
    /// Its number, from 1.
    pub round: u32,
    /// What it found.
    pub bound: Bound,
    /// The geometric mean of the next two, where the capacity is between them.
    pub capacity_per_s: Option<f64>,
    /// The highest rate that passed.
    pub passed_per_s: Option<f64>,
    /// The lowest rate at which it did not.
    pub failed_per_s: Option<f64>,
    /// The trials of the search.
    pub trials: u32,
}

/// One trial: a rate, held for some time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Its round, from 1.
    pub round: u32,
    /// The rate that was asked for, in requests per second.
    pub rate_per_s: f64,
    /// How long the load was held.
    pub held_s: f64,
    /// Whether all held that is asked for.
    pub passed: bool,
    /// Whether it did not, and the generator may have been why.
    pub generator_limited: bool,
    /// Why it did not.
    pub reasons: Vec<String>,
    /// Who was the bottleneck; `None` where that could not be seen.
    #[serde(default)]
    pub bottleneck: Option<Bottleneck>,
    /// All steps together, while the load was held.
    pub total: Summary,
    /// CPU and memory while it was held, by service.
    pub resources: BTreeMap<String, ResourceRecord>,
}

impl Capacity {
    /// What these rounds tell together. A round that did not come to its end tells nothing, if
    /// another did.
    #[must_use]
    pub fn of(rounds: &[CapacityRound]) -> Self {
        let ended: Vec<_> = rounds.iter().filter(|r| r.bound != Bound::Unknown).collect();
        let any = |bound| ended.iter().any(|round| round.bound == bound);
        let least = rounds.iter().filter_map(|r| r.passed_per_s).min_by(f64::total_cmp);
        let greatest = ended.iter().filter_map(|r| r.failed_per_s).max_by(f64::total_cmp);
        let (bound, rate_per_s, sample) = if ended.is_empty() {
            (Bound::Unknown, least, None)
        } else if any(Bound::Below) {
            (Bound::Below, greatest, None)
        } else if any(Bound::AtLeast) {
            (Bound::AtLeast, least, None)
        } else {
            let sample = Sample::of_figures(ended.iter().filter_map(|r| r.capacity_per_s));
            (Bound::Found, sample.map(|s| s.geometric_mean()), sample)
        };
        let confidence_95_per_s = sample.and_then(|sample| sample.geometric_95());
        Self { bound, rate_per_s, confidence_95_per_s }
    }
}

impl CapacityTarget {
    /// What each round found, in requests per second, by its number; nothing if the capacity of all of
    /// them is a bound.
    #[must_use]
    pub fn found_per_s(&self) -> BTreeMap<u32, f64> {
        let is_found = self.capacity.bound == Bound::Found;
        let rounds = self.rounds.iter().filter(|_| is_found);
        rounds.filter_map(|round| Some((round.round, round.capacity_per_s?))).collect()
    }
}

/// Holds the targets whose capacity was found against each other, paired by round; `None` where
/// there are fewer than two.
#[must_use]
pub fn compare_capacities(targets: &[CapacityTarget]) -> Option<Comparison> {
    let found = targets.iter().filter(|target| target.capacity.bound == Bound::Found);
    let rates: Vec<(String, BTreeMap<u32, f64>)> =
        found.map(|target| (target.name.clone(), target.found_per_s())).collect();
    (rates.len() > 1).then(|| compare(&rates).by_capacity())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(number: u32, bound: Bound, held: f64) -> CapacityRound {
        CapacityRound {
            round: number,
            bound,
            capacity_per_s: (bound == Bound::Found).then_some(held * 1.02),
            passed_per_s: (bound != Bound::Below).then_some(held),
            failed_per_s: Some(held * 1.04),
            trials: 5,
        }
    }

    #[test]
    fn rounds_that_found_it_have_a_mean_and_an_interval() {
        let rounds = [1, 2, 3].map(|n| round(n, Bound::Found, 100.0 * f64::from(n)));
        let capacity = Capacity::of(&rounds);
        let mean = 102.0 * 6.0_f64.cbrt();
        assert!((capacity.rate_per_s.unwrap() - mean).abs() < 1e-9);
        let [low, high] = capacity.confidence_95_per_s.unwrap();
        assert!(low < mean && mean < high);
        assert_eq!(Capacity::of(&rounds[..1]).confidence_95_per_s, None);
    }

    #[test]
    fn one_bound_among_the_rounds_makes_a_bound_of_all() {
        let found = round(1, Bound::Found, 100.0);
        let at_least = Capacity::of(&[found.clone(), round(2, Bound::AtLeast, 90.0)]);
        assert_eq!((at_least.bound, at_least.rate_per_s), (Bound::AtLeast, Some(90.0)));
        let below = Capacity::of(&[found.clone(), round(2, Bound::Below, 2.0)]);
        assert_eq!((below.bound, below.rate_per_s), (Bound::Below, Some(104.0)));
        let cut = Capacity::of(&[found, round(2, Bound::Unknown, 2.0)]);
        assert_eq!((cut.bound, cut.rate_per_s.map(f64::round)), (Bound::Found, Some(102.0)));
        let only_cut = Capacity::of(&[round(1, Bound::Unknown, 2.0)]);
        assert_eq!((only_cut.bound, only_cut.rate_per_s), (Bound::Unknown, Some(2.0)));
        assert_eq!(Capacity::of(&[]).rate_per_s, None);
    }
}
