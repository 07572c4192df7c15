//! Saved runs held against each other: before and after a change, on two machines.

mod unlike;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::compare::{Comparison, Pair, compare};
use super::figures::{rates, requests_per_cpu_s, speeds};
use super::record::{RoundRecord, RunRecord, TargetRecord};
use super::statistics::FEWEST_ROUNDS;
use super::summary::LatencySummary;
use super::verdict::{Verdict, VerdictKind};
pub use unlike::Unlike;

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
    /// Each target's later runs held against its first, round by round, with the same statistics as the
    /// targets of one run.
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
    /// Requests that came to an end.
    pub requests: u64,
    /// Those of them that failed.
    pub errors: u64,
    /// Latency of the expected answers, from their planned send, in µs.
    pub latency_us: LatencySummary,
    /// The server's CPU time for an expected answer, in µs.
    pub cpu_us_per_request: Option<f64>,
}

/// A target that lost more than it may.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Regression {
    /// The target.
    pub target: String,
    /// The run in which it is worse than in the first.
    pub run: String,
    /// By how much fewer requests it serves; in the open model by how much longer its median latency is:
    /// in %.
    pub percent: f64,
}

/// Why runs can't be held against each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    /// There is one of them.
    #[error("it takes two runs to compare")]
    One,
    /// One waits for answers, the other for the clock.
    #[error(
        "{0} is of the closed model and {1} of the open one: their figures mean different things"
    )]
    Models(String, String),
    /// No target is in the first and in another.
    #[error("no target is in {0} and in another run, too")]
    NothingInCommon(String),
}

impl RunsRecord {
    /// Holds these runs, by their names, against the first of them.
    ///
    /// # Errors
    ///
    /// If they are not of one load model, or have no target in common.
    pub fn of(runs: &[(String, RunRecord)]) -> Result<Self, NotComparable> {
        let [(first, baseline), others @ ..] = runs else { return Err(NotComparable::One) };
        if others.is_empty() {
            return Err(NotComparable::One);
        }
        let is_open = |run: &RunRecord| run.load.rate_per_s.is_some();
        if let Some((other, _)) = others.iter().find(|(_, run)| is_open(run) != is_open(baseline)) {
            let (closed, open) = if is_open(baseline) { (other, first) } else { (first, other) };
            return Err(NotComparable::Models(closed.clone(), open.clone()));
        }
        let all = in_order(runs);
        let in_both = |target: &str| all.iter().filter(|one| one.target.name == target).count() > 1;
        let all: Vec<&Place<'_>> = all.iter().filter(|one| in_both(&one.target.name)).collect();
        if all.is_empty() {
            return Err(NotComparable::NothingInCommon(first.clone()));
        }
        Ok(Self {
            schema: COMPARE_SCHEMA.to_owned(),
            runs: runs.iter().map(|(name, run)| compared(name, run)).collect(),
            comparison: comparison(&all, first, is_open(baseline)),
            targets: all.iter().map(|one| one.record()).collect(),
            unlike: Unlike::between(runs),
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
                    self.unjudged.push(format!(
                        "{} in {}: {FEWEST_ROUNDS} rounds of both that have expected answers are needed",
                        later.target, later.run
                    ));
                }
            }
        }
        self
    }

    /// What the worse of a pair lost, in %; `None` where there are too few rounds to tell.
    #[must_use]
    pub fn lost_percent(&self, pair: &Pair) -> Option<f64> {
        let ratio = pair.ratio.filter(|_| pair.confidence_95.is_some())?;
        let is_open = self.comparison.ranked_by == "median latency";
        Some(100.0 * if is_open { ratio - 1.0 } else { 1.0 - 1.0 / ratio })
    }

    /// The target and the run that the comparison calls `name`.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<&ComparedTarget> {
        self.targets.iter().find(|one| one.name == name)
    }
}

/// A target in a run.
struct Place<'a> {
    name: String,
    run: &'a str,
    target: &'a TargetRecord,
}

impl Place<'_> {
    fn record(&self) -> ComparedTarget {
        let total = &self.target.total;
        ComparedTarget {
            name: self.name.clone(),
            target: self.target.name.clone(),
            run: self.run.to_owned(),
            requests: total.requests,
            errors: total.errors,
            latency_us: total.latency_us.clone(),
            cpu_us_per_request: self
                .target
                .resources
                .get("target")
                .and_then(|used| used.cpu_us_per_request),
        }
    }
}

/// Target by target, in the order in which the first run that has one names it.
fn in_order(runs: &[(String, RunRecord)]) -> Vec<Place<'_>> {
    let mut names: Vec<&str> = Vec::new();
    for name in runs.iter().flat_map(|(_, run)| run.targets.iter().map(|t| t.name.as_str())) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let place = |wanted: &str| {
        runs.iter()
            .filter_map(|(run, record)| {
                let target = record.targets.iter().find(|target| target.name == wanted)?;
                Some(Place { name: format!("{wanted} ({run})"), run, target })
            })
            .collect::<Vec<_>>()
    };
    names.into_iter().flat_map(place).collect()
}

fn compared(name: &str, run: &RunRecord) -> ComparedRun {
    ComparedRun {
        name: name.to_owned(),
        started: run.started.clone(),
        scenario: run.scenario.clone(),
        verdicts: run
            .verdicts
            .iter()
            .filter(|verdict| verdict.kind != VerdictKind::TooFewSamples)
            .cloned()
            .collect(),
    }
}

/// Each with the same target in the first run, and with nobody else.
fn comparison(all: &[&Place<'_>], first: &str, is_open: bool) -> Comparison {
    let of = |figures: fn(&[RoundRecord]) -> BTreeMap<u32, f64>| -> Vec<_> {
        all.iter().map(|one| (one.name.clone(), figures(&one.target.rounds))).collect()
    };
    let place = |name: &str| all.iter().find(|one| one.name == name);
    let are_compared = |pair: &Pair| match (place(&pair.better), place(&pair.worse)) {
        (Some(one), Some(other)) => {
            one.target.name == other.target.name && (one.run == first) != (other.run == first)
        }
        _ => false,
    };
    let comparison = match is_open {
        false => compare(&of(rates)),
        true => compare(&of(rates)).by_speed(&of(speeds)).with_cpu(&of(requests_per_cpu_s)),
    };
    comparison.only(are_compared)
}

#[cfg(test)]
mod tests;
