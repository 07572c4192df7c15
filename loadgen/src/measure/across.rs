//! Saved runs, or searches for capacities, held against each other: before and after a change, on two
//! machines.

mod comparable;
mod sent;
mod unlike;

use std::collections::BTreeMap;

pub use comparable::Comparable;
use comparable::Measured;
pub use sent::SentUnlike;
use serde::{Deserialize, Serialize};
pub use unlike::Unlike;

use super::capacity::Capacity;
use super::compare::{Comparison, Lack, Pair, RankedBy, Test, compare_by};
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
    /// Targets of the first run that a later one lacks, and those of later ones that the first lacks.
    #[serde(default)]
    pub absent: Vec<Absent>,
    /// What differs between the runs besides what was measured.
    pub unlike: Vec<Unlike>,
    /// The targets that were not sent in a later run what they were in the first: these are not
    /// compared.
    #[serde(default)]
    pub sent_unlike: Vec<SentUnlike>,
    /// The later runs of which it is not known whether they sent the same, as they or the first were
    /// saved by an earlier version.
    #[serde(default)]
    pub sent_unknown: Vec<String>,
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
    /// Why it is not what was planned, if so.
    #[serde(default)]
    pub degraded: Option<String>,
    /// Whether it was interrupted before its planned end.
    #[serde(default)]
    pub interrupted: bool,
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
    /// Why its run was a failure by its own account: thresholds and proofs that failed, or silence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

/// A target that is not in all runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent {
    /// The target.
    pub target: String,
    /// The run that lacks it.
    pub run: String,
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
        let names = names(runs);
        let is_compared =
            |name: &&str| first.has(name) && others.iter().any(|other| other.has(name));
        let compared = names.iter().copied().filter(is_compared);
        let all: Vec<&Measured> =
            compared.flat_map(|name| runs.iter().filter_map(move |run| run.target(name))).collect();
        if all.is_empty() {
            return Err(NotComparable::NothingInCommon(first.run.name.clone()));
        }
        let sent_unlike = sent_unlike(&names, first, others);
        let unknown = others.iter().filter(|other| !sent::is_known(first, other));
        Ok(Self {
            schema: COMPARE_SCHEMA.to_owned(),
            runs: runs.iter().map(|it| it.run.clone()).collect(),
            comparison: comparison(&all, first, &sent_unlike),
            targets: all.iter().map(|it| it.target.clone()).collect(),
            absent: names.iter().flat_map(|name| absent(name, first, others)).collect(),
            unlike: unlike(runs, &names),
            sent_unlike,
            sent_unknown: unknown.map(|other| other.run.name.clone()).collect(),
            limit_percent: None,
            regressions: Vec::new(),
            unjudged: Vec::new(),
        })
    }

    /// The same with the targets that lost more than `limit` %, and are shown to have lost anything.
    #[must_use]
    pub fn judged(self, limit: f64) -> Self {
        let (mut regressions, mut unjudged) = (Vec::new(), Vec::new());
        let later = self.targets.iter().filter(|one| self.is_later(one));
        for one in later {
            let pair = self.against_first(one);
            match pair.and_then(|pair| Some((pair, self.lost_percent(pair)?))) {
                Some((pair, percent))
                    if pair.worse == one.name && pair.shown && percent > limit =>
                {
                    let (target, run) = (one.target.clone(), one.run.clone());
                    regressions.push(Regression { target, run, percent });
                }
                // What fails by its own account passes no gate.
                Some(_) if !one.failed.is_empty() => {
                    let why = one.failed.join("; ");
                    unjudged.push(format!("{} in {}: {why}", one.target, one.run));
                }
                Some(_) => {}
                None => {
                    let why = self.why_not(one);
                    unjudged.push(format!("{} in {}: {why}", one.target, one.run));
                }
            }
        }
        let first = &self.runs[0].name;
        let absent = self.absent.iter().filter(|absent| absent.run != *first);
        let absent = absent.map(|it| format!("{} in {}: it was not measured", it.target, it.run));
        unjudged.extend(absent);
        Self { limit_percent: Some(limit), regressions, unjudged, ..self }
    }

    /// Whether this one is of another run than the first, so that it is held against that.
    #[must_use]
    pub fn is_later(&self, one: &ComparedTarget) -> bool {
        self.runs.first().is_some_and(|first| first.name != one.run)
    }

    /// What was found of a later run's target and the same in the first run.
    #[must_use]
    pub fn against_first(&self, later: &ComparedTarget) -> Option<&Pair> {
        self.comparison.pair(&self.in_first(later)?.name, &later.name)
    }

    /// The same target in the first run.
    fn in_first(&self, later: &ComparedTarget) -> Option<&ComparedTarget> {
        self.targets.iter().find(|one| one.target == later.target && !self.is_later(one))
    }

    /// What the worse of a pair lost, in %; `None` where there are too few rounds to tell.
    #[must_use]
    pub fn lost_percent(&self, pair: &Pair) -> Option<f64> {
        let ratio = pair.ratio.filter(|_| pair.confidence_95.is_some())?;
        let is_by_latency = self.comparison.ranked_by == RankedBy::Speed;
        Some(100.0 * if is_by_latency { ratio - 1.0 } else { 1.0 - 1.0 / ratio })
    }

    /// Why a later run's target is not compared with that of the first.
    #[must_use]
    pub fn why_not(&self, later: &ComparedTarget) -> String {
        if let Some(unlike) = self.sent_unlike.iter().find(|it| it.is_of(later)) {
            return format!("it was not sent the same: {}", unlike.what.join(", "));
        }
        let first = self.in_first(later);
        let lacking = [Some(later), first].into_iter().flatten().find_map(|one| {
            let lack = self.comparison.lacking.get(&one.name)?;
            Some(format!("{} {lack}", one.run))
        });
        let rounds = self.against_first(later).map_or(0, |pair| pair.rounds);
        lacking.unwrap_or_else(|| match rounds {
            n if n < FEWEST_ROUNDS => {
                format!("{FEWEST_ROUNDS} rounds of both are needed, and one has {n}")
            }
            _ => "a round of theirs has no expected answer".to_owned(),
        })
    }
}

fn kind(ranked_by: RankedBy) -> &'static str {
    match ranked_by {
        RankedBy::Answers => "of the closed model",
        RankedBy::Speed => "of the open model",
        RankedBy::Capacity => "a search for capacities",
    }
}

/// What differs, but for targets that not all runs have.
fn unlike(runs: &[Comparable], names: &[&str]) -> Vec<Unlike> {
    let missing = names.iter().filter(|name| runs.iter().any(|run| !run.has(name)));
    let missing: Vec<String> = missing.map(|name| format!("{name}.")).collect();
    let mut unlike = Unlike::between(&runs.iter().map(|run| &run.leaves).collect::<Vec<_>>());
    unlike.retain(|it| !missing.iter().any(|name| it.what.starts_with(name)));
    unlike
}

/// The later runs that lack a target of the first; or the first, if it lacks one of theirs.
fn absent(name: &str, first: &Comparable, others: &[Comparable]) -> Vec<Absent> {
    let lacks: Vec<&Comparable> = match first.has(name) {
        true => others.iter().filter(|other| !other.has(name)).collect(),
        false => vec![first],
    };
    let absent = |run: &&Comparable| Absent { target: name.to_owned(), run: run.run.name.clone() };
    lacks.iter().map(absent).collect()
}

/// The targets' names, in the order in which the first run that has one names it.
fn names(runs: &[Comparable]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for measured in runs.iter().flat_map(|run| &run.targets) {
        if !names.contains(&measured.target.target.as_str()) {
            names.push(&measured.target.target);
        }
    }
    names
}

/// The targets of later runs that were not sent what they were in the first.
fn sent_unlike(names: &[&str], first: &Comparable, others: &[Comparable]) -> Vec<SentUnlike> {
    let mut all = Vec::new();
    for (name, other) in names.iter().flat_map(|name| others.iter().map(move |it| (name, it))) {
        let (Some(before), Some(after)) = (first.target(name), other.target(name)) else {
            continue;
        };
        let what = sent::unlike((first, before), (other, after));
        if !what.is_empty() {
            let (target, run) = ((*name).to_owned(), other.run.name.clone());
            all.push(SentUnlike { target, run, what });
        }
    }
    all
}

/// Each with the same target in the first run, if it was sent the same, and with nobody else.
fn comparison(all: &[&Measured], first: &Comparable, sent_unlike: &[SentUnlike]) -> Comparison {
    let place = |name: &str| all.iter().map(|it| &it.target).find(|it| it.name == name);
    let are_compared = |pair: &Pair| match (place(&pair.better), place(&pair.worse)) {
        (Some(one), Some(other)) => {
            let is_first = |it: &ComparedTarget| it.run == first.run.name;
            let is_alike = |it: &ComparedTarget| !sent_unlike.iter().any(|unlike| unlike.is_of(it));
            one.target == other.target
                && is_first(one) != is_first(other)
                && is_alike(one)
                && is_alike(other)
        }
        _ => false,
    };
    let compared = compare_by(Test::Welch, &each(all, |it| it.rates.clone()));
    let mut comparison = match first.ranked_by {
        RankedBy::Answers => compared,
        RankedBy::Speed => compared
            .by_speed(&each(all, |it| it.speeds.clone()))
            .with_cpu(&each(all, |it| it.per_cpu_s.clone())),
        RankedBy::Capacity => compared.by_capacity(),
    };
    let limited: BTreeMap<String, Lack> =
        all.iter().filter_map(|it| Some((it.target.name.clone(), it.limited?))).collect();
    let is_its_own =
        |pair: &Pair| [&pair.better, &pair.worse].iter().all(|name| !limited.contains_key(*name));
    comparison.lacking.extend(limited.clone());
    comparison.only(|pair| are_compared(pair) && is_its_own(pair))
}

/// What each has of something, by its name in the comparison.
fn each<T>(all: &[&Measured], figures: fn(&Measured) -> T) -> Vec<(String, T)> {
    all.iter().map(|it| (it.target.name.clone(), figures(it))).collect()
}

#[cfg(test)]
mod tests;
