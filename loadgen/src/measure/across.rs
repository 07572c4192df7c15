//! Saved runs, or searches for capacities, held against each other: before and after a change, on two
//! machines.

mod comparable;
mod unlike;

use std::collections::BTreeMap;

pub use comparable::Comparable;
use comparable::Measured;
use serde::{Deserialize, Serialize};
pub use unlike::Unlike;

use super::capacity::Capacity;
use super::compare::{Comparison, Pair, RankedBy, Test, compare_by};
use super::statistics::FEWEST_ROUNDS;
use super::summary::LatencySummary;
use super::verdict::Verdict;

/// What the document calls itself.
pub const COMPARE_SCHEMA: &str = "loadgen.compare/1";

/// Runs, held against the first of them, target by target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunsRecord {
    /// [`COMPARE_SCHEMA`].
    pub schema: String,
    /// The runs; the first is what the others are compared with.
    pub runs: Vec<ComparedRun>,
    /// Each target in each run, target by target.
    pub targets: Vec<ComparedTarget>,
    /// Each target's later runs held against its first, by Welch's test: their rounds have nothing in
    /// common.
    pub comparison: Comparison,
    /// What differs between the runs besides what was measured.
    pub unlike: Vec<Unlike>,
    /// The greatest loss that is no regression, in %, where one was named.
    pub limit_percent: Option<f64>,
    /// The targets that lost more than that.
    pub regressions: Vec<Regression>,
    /// Of whom it can't be told whether they did, and why.
    pub unjudged: Vec<String>,
}

/// One of the runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedRun {
    /// What it is called here: the name of its folder.
    pub name: String,
    /// When it began, in UTC (RFC 3339).
    pub started: String,
    /// The scenario's name.
    pub scenario: String,
    /// What its own reader had to know, but for percentiles that are missing.
    pub verdicts: Vec<Verdict>,
}

/// A target in one of the runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedTarget {
    /// What the comparison calls it: `sanic (before)`.
    pub name: String,
    /// The target.
    pub target: String,
    /// The run.
    pub run: String,
    /// Requests that came to an end; of a search those of all trials.
    pub requests: u64,
    /// Those of them that failed.
    pub errors: u64,
    /// Latency of the expected answers, from their planned send, in µs; of a search at the knee.
    pub latency_us: LatencySummary,
    /// The server's CPU time for an expected answer, in µs; of a search for any, at the knee.
    pub cpu_us_per_request: Option<f64>,
    /// What a search found of its capacity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// Where a search found its knee, in requests per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee_per_s: Option<f64>,
}

/// A target that lost more than it may.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Regression {
    /// The target.
    pub target: String,
    /// The run in which it is worse than in the first.
    pub run: String,
    /// By how much fewer requests it serves, or carries; in the open model by how much longer its median
    /// latency is: in %.
    pub percent: f64,
}

/// Why runs can't be held against each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    /// There is one of them.
    #[error("it takes two runs to compare")]
    One,
    /// One waits for answers, the other for the clock, or searches.
    #[error("{0} is {1} and {2} is {3}: their figures mean different things")]
    Kinds(String, &'static str, String, &'static str),
    /// No target is in the first and in another.
    #[error("no target is in {0} and in another run, too")]
    NothingInCommon(String),
}

impl RunsRecord {
    /// Holds these results against the first of them.
    ///
    /// # Errors
    ///
    /// If they are not of one kind and load model, or have no target in common.
    pub fn of(runs: &[Comparable]) -> Result<Self, NotComparable> {
        let [first, others @ ..] = runs else { return Err(NotComparable::One) };
        if others.is_empty() {
            return Err(NotComparable::One);
        }
        if let Some(other) = others.iter().find(|other| other.ranked_by != first.ranked_by) {
            let [(one, is), (another, is_another)] =
                [first, other].map(|it| (it.run.name.clone(), kind(it.ranked_by)));
            return Err(NotComparable::Kinds(one, is, another, is_another));
        }
        let all = in_order(runs);
        let is_in = |name: &str| all.iter().filter(|it| it.target.target == name).count();
        let all: Vec<&Measured> =
            all.iter().copied().filter(|it| is_in(&it.target.target) > 1).collect();
        if all.is_empty() {
            return Err(NotComparable::NothingInCommon(first.run.name.clone()));
        }
        Ok(Self {
            schema: COMPARE_SCHEMA.to_owned(),
            runs: runs.iter().map(|it| it.run.clone()).collect(),
            comparison: comparison(&all, first),
            targets: all.iter().map(|it| it.target.clone()).collect(),
            unlike: Unlike::between(&runs.iter().map(|it| &it.leaves).collect::<Vec<_>>()),
            limit_percent: None,
            regressions: Vec::new(),
            unjudged: Vec::new(),
        })
    }

    /// The same with the targets that lost more than `limit` %, and are shown to have lost anything.
    #[must_use]
    pub fn judged(mut self, limit: f64) -> Self {
        self.limit_percent = Some(limit);
        for pair in &self.comparison.pairs {
            let (Some(better), Some(worse)) = (self.place(&pair.better), self.place(&pair.worse))
            else {
                continue;
            };
            let lost = self.lost_percent(pair);
            let worse_is_later = better.run == self.runs[0].name;
            match lost {
                Some(percent) if worse_is_later && pair.shown && percent > limit => {
                    let (target, run) = (worse.target.clone(), worse.run.clone());
                    self.regressions.push(Regression { target, run, percent });
                }
                Some(_) => {}
                None => {
                    let later = if worse_is_later { worse } else { better };
                    let why = self.why_not(pair);
                    self.unjudged.push(format!("{} in {}: {why}", later.target, later.run));
                }
            }
        }
        self
    }

    /// What the worse of a pair lost, in %; `None` where there are too few rounds to tell.
    #[must_use]
    pub fn lost_percent(&self, pair: &Pair) -> Option<f64> {
        let ratio = pair.ratio.filter(|_| pair.confidence_95.is_some())?;
        let is_by_latency = self.comparison.ranked_by == RankedBy::Speed;
        Some(100.0 * if is_by_latency { ratio - 1.0 } else { 1.0 - 1.0 / ratio })
    }

    /// Why the two of a pair that has no interval are not compared.
    #[must_use]
    pub fn why_not(&self, pair: &Pair) -> String {
        match (pair.rounds, self.comparison.ranked_by) {
            (0, RankedBy::Speed) => "one of them did not carry the rate".to_owned(),
            (0, RankedBy::Capacity) => "of one of them only a bound is known".to_owned(),
            (n, _) if n < FEWEST_ROUNDS => {
                format!("{FEWEST_ROUNDS} rounds of both are needed, and one has {n}")
            }
            _ => "a round of theirs has no expected answer".to_owned(),
        }
    }

    /// The target and the run that the comparison calls `name`.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<&ComparedTarget> {
        self.targets.iter().find(|one| one.name == name)
    }
}

fn kind(ranked_by: RankedBy) -> &'static str {
    match ranked_by {
        RankedBy::Answers => "of the closed model",
        RankedBy::Speed => "of the open model",
        RankedBy::Capacity => "a search for capacities",
    }
}

/// Target by target, in the order in which the first run that has one names it.
fn in_order(runs: &[Comparable]) -> Vec<&Measured> {
    let all = || runs.iter().flat_map(|run| &run.targets);
    let mut names: Vec<&str> = Vec::new();
    for measured in all() {
        if !names.contains(&measured.target.target.as_str()) {
            names.push(&measured.target.target);
        }
    }
    names.iter().flat_map(|name| all().filter(move |it| it.target.target == **name)).collect()
}

/// Each with the same target in the first run, and with nobody else.
fn comparison(all: &[&Measured], first: &Comparable) -> Comparison {
    let of = |figures: fn(&Measured) -> &BTreeMap<u32, f64>| -> Vec<_> {
        all.iter().map(|it| (it.target.name.clone(), figures(it).clone())).collect()
    };
    let place = |name: &str| all.iter().map(|it| &it.target).find(|it| it.name == name);
    let are_compared = |pair: &Pair| match (place(&pair.better), place(&pair.worse)) {
        (Some(one), Some(other)) => {
            let is_first = |it: &ComparedTarget| it.run == first.run.name;
            one.target == other.target && is_first(one) != is_first(other)
        }
        _ => false,
    };
    let rates = of(|it| &it.rates);
    let compared = compare_by(Test::Welch, &rates);
    let comparison = match first.ranked_by {
        RankedBy::Answers => compared,
        RankedBy::Speed => {
            compared.by_speed(&of(|it| &it.speeds)).with_cpu(&of(|it| &it.per_cpu_s))
        }
        RankedBy::Capacity => compared.by_capacity(&rates),
    };
    comparison.only(are_compared)
}

#[cfg(test)]
mod tests;
