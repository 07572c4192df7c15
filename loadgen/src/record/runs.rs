//! Saved runs, or searches for capacities, held against each other.

use serde::{Deserialize, Serialize};

use super::capacity::Capacity;
use super::comparison::{Comparison, FEWEST_ROUNDS, Pair, RankedBy};
use super::verdict::Verdict;
use crate::measure::LatencySummary;

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

/// A target that was not sent in a run what it was sent in the first: its figures are not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentUnlike {
    /// The target.
    pub target: String,
    /// The later run.
    pub run: String,
    /// What differs, a phrase each: `another body of step "insert"`.
    pub what: Vec<String>,
}

/// Something that is not the same in all runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unlike {
    /// Its place in the record: `environment.kernel`.
    pub what: String,
    /// What it is in each run, in their order; `None` where a run doesn't tell.
    pub values: Vec<Option<String>>,
}

impl RunsRecord {
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

impl SentUnlike {
    /// Whether it is this target, in this run.
    pub fn is_of(&self, one: &ComparedTarget) -> bool {
        self.target == one.target && self.run == one.run
    }
}
