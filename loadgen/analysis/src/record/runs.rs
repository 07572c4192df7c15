//! Holds the comparison of saved runs, or of saved capacity searches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::capacity::Capacity;
use super::comparison::{Comparison, FEWEST_ROUNDS, Pair};
use super::gate::GateRecord;
use super::verdict::Verdict;
use loadgen_measure::LatencySummary;

/// Name and version of the format of a [`RunsRecord`].
pub const COMPARE_SCHEMA: &str = "loadgen.compare/1";

/// Comparison of runs with the first run, target by target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunsRecord {
    /// Name and version of the document's format: always `loadgen.compare/1`.
    pub schema: String,
    /// Runs or searches; the first is the baseline of the others.
    pub runs: Vec<ComparedRun>,
    /// Each target in each run, target by target.
    pub targets: Vec<ComparedTarget>,
    /// Comparison of each target in the later runs with the same target in the first run, by
    /// Welch's test.
    pub comparison: Comparison,
    /// Targets of the first run that a later run lacks, and targets of later runs that the first
    /// run lacks.
    #[serde(default)]
    pub absent: Vec<Absent>,
    /// Differences between the runs other than in the results.
    pub unlike: Vec<Unlike>,
    /// Targets to which a later run sent other requests than the first run; they are not compared.
    #[serde(default)]
    pub sent_unlike: Vec<SentUnlike>,
    /// Names of the later runs for which loadgen does not know whether they sent the same requests,
    /// because an earlier version saved the later run or the first run.
    #[serde(default)]
    pub sent_unknown: Vec<String>,
    /// Judgement of each target in the later runs against the first run. `base` is the first run,
    /// and `target` of an entry has the name of the run, such as `sanic (after)`. `None` without
    /// `--fail-on-regression`.
    pub gate: Option<GateRecord>,
}

/// Description of one compared run or capacity search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRun {
    /// Name of the run: the name of its folder, or a number and the path if two folders have the
    /// same name.
    pub name: String,
    /// Start of the run.
    pub started: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Verdicts of the run, except those on missing percentiles and on interruption; empty for a
    /// search.
    pub verdicts: Vec<Verdict>,
    /// Reason why the result differs from the plan; `None` if the run went as planned, or in
    /// earlier versions.
    #[serde(default)]
    pub degraded: Option<String>,
    /// Whether the run was interrupted before its planned end.
    #[serde(default)]
    pub interrupted: bool,
    /// Whether the number of rounds was decided in the run (`--precision`); `false` in documents of
    /// earlier versions.
    #[serde(default)]
    pub in_stages: bool,
}

/// Results of one target in one of the compared runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedTarget {
    /// Name in the comparison, such as `sanic (before)`.
    pub name: String,
    /// Name of the target.
    pub target: String,
    /// Name of the run.
    pub run: String,
    /// Requests that ended; in a search, of all trials.
    pub requests: u64,
    /// Requests of these that failed.
    pub errors: u64,
    /// Latency of the expected responses from their planned send; in a search, at the knee.
    pub latency_us: LatencySummary,
    /// CPU time of the server per expected response; in a search, per request that ended, at the
    /// knee. `None` if unknown.
    pub cpu_us_per_request: Option<f64>,
    /// Capacity that a search found; missing for a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// Rate at the knee that a search found, in requests/s; missing for a run, and for a search
    /// without a knee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee_per_s: Option<f64>,
    /// Reasons why the run itself is a failure: failed thresholds, failed proofs, no responses, an
    /// end of the target, or silence; missing without a failure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
    /// Reason why a small loss of the rate says little: many failed requests, or think time;
    /// missing without a doubt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

/// A target that some run lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Absent {
    /// Name of the target.
    pub target: String,
    /// Name of the run that lacks the target.
    pub run: String,
}

/// A target that is not compared, because a later run sent other requests to the target than the
/// first run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentUnlike {
    /// Name of the target.
    pub target: String,
    /// Name of the later run.
    pub run: String,
    /// Differences, a phrase each, such as `another body of step "insert"`.
    pub what: Vec<String>,
}

/// A value that is not the same in all runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unlike {
    /// Path of the value in the document, such as `environment.kernel`.
    pub what: String,
    /// Value in each run, in the order of the runs; an element is `null` if its run lacks the
    /// value.
    pub values: Vec<Option<String>>,
}

impl RunsRecord {
    /// Returns whether the results come from a later run, so that they are compared with the first
    /// run.
    #[must_use]
    pub fn is_later(&self, one: &ComparedTarget) -> bool {
        self.runs.first().is_some_and(|first| first.name != one.run)
    }

    /// Returns the comparison of a target in a later run with the same target in the first run;
    /// `None` if the two were not compared.
    #[must_use]
    pub fn against_first(&self, later: &ComparedTarget) -> Option<&Pair> {
        self.comparison.pair(&self.in_first(later)?.name, &later.name)
    }

    /// Returns the results of the same target in the first run; `None` if the first run lacks the
    /// target.
    #[must_use]
    pub fn in_first(&self, later: &ComparedTarget) -> Option<&ComparedTarget> {
        self.targets.iter().find(|one| one.target == later.target && !self.is_later(one))
    }

    /// Returns the reason why a later run's target is not compared with that of the first run.
    #[must_use]
    pub fn why_not(&self, later: &ComparedTarget) -> String {
        if let Some(unlike) = self.sent_unlike.iter().find(|it| it.is_of(later)) {
            return format!("the requests differ: {}", unlike.what.join(", "));
        }
        let first = self.in_first(later);
        let lacking = [Some(later), first].into_iter().flatten().find_map(|one| {
            let lack = self.comparison.lacking.get(&one.name)?;
            Some(format!("{} {lack}", one.run))
        });
        let rounds = self.against_first(later).map_or(0, |pair| pair.rounds);
        lacking.unwrap_or_else(|| match rounds {
            n if n < FEWEST_ROUNDS => {
                format!("both need {FEWEST_ROUNDS} rounds, and one has {n}")
            }
            _ => "one of their rounds has no expected response".to_owned(),
        })
    }
}

impl SentUnlike {
    /// Returns whether the requests of `one`, a target in one run, differ from those of the first
    /// run.
    pub fn is_of(&self, one: &ComparedTarget) -> bool {
        self.target == one.target && self.run == one.run
    }
}
