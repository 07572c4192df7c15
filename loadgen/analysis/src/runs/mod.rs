//! Compares saved runs, or capacity searches: before and after a change, or on two machines.

mod comparable;
mod sent;
mod unlike;

use std::collections::BTreeMap;

pub use comparable::Comparable;
use comparable::Measured;
pub(super) use comparable::{lasting, limited, versions};
pub(super) use unlike::Leaves;

use super::compare::compare_by;
use super::loss::Limit;
use crate::record::{Absent, COMPARE_SCHEMA, ComparedTarget, RunsRecord, SentUnlike, Unlike};
use crate::record::{Comparison, Lack, Pair, RankedBy, Test};
use crate::record::{GateRecord, JudgedTarget, LossOf};

/// Reason why runs cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    /// There is only one run, or none.
    #[error("a comparison needs two runs")]
    One,
    /// The runs are of different kinds: closed model, open model, or capacity search.
    #[error("{0} is {1}, but {2} is {3}: their figures have different meanings")]
    Kinds(String, &'static str, String, &'static str),
    /// A run has duets.
    #[error("{0} has duets: its rates are not those of a server alone")]
    Duets(String),
    /// No target of the first run is in another run.
    #[error("no target of {0} is in another run")]
    NothingInCommon(String),
}

impl RunsRecord {
    /// Compares saved results with the first result.
    ///
    /// # Errors
    ///
    /// Returns an error for fewer than two results, for a run of duets, for results of different kinds
    /// (closed model, open model, capacity search), or if no other result has a target of the first
    /// result.
    pub fn of(runs: &[Comparable]) -> Result<Self, NotComparable> {
        let [first, others @ ..] = runs else { return Err(NotComparable::One) };
        if others.is_empty() {
            return Err(NotComparable::One);
        }
        if let Some(run) = runs.iter().find(|run| run.has_duets) {
            return Err(NotComparable::Duets(run.run.name.clone()));
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
            gate: None,
        })
    }

    /// Adds the judgement of each target of the later runs against the first run. A target may lose
    /// `limit_percent` % at most. A target that a later run lacks, or whose run counts as a failure, is
    /// never judged as free of a greater loss.
    #[must_use]
    pub fn judged(self, limit_percent: f64) -> Self {
        let first = self.runs[0].name.clone();
        let of = LossOf::from(self.comparison.ranked_by);
        let later: Vec<_> = self.targets.iter().filter(|one| self.is_later(one)).collect();
        let limit = Limit::of(limit_percent, later.len());
        let judge = |one: &&ComparedTarget| {
            let gain = self.against_first(one).and_then(|pair| pair.gain_of(&one.name));
            let gain = match (self.in_stages(one), self.other_load(one)) {
                (Some(run), _) => Err(format!(
                    "{run} decided on the number of rounds by its results, for which the test between \
                     runs does not allow: measure both with the same number of --rounds, or in one run"
                )),
                (None, Some(what)) => Err(format!("{what} is not the same in both runs")),
                (None, None) => gain.ok_or_else(|| self.why_not(one)),
            };
            let mut of_both = self.in_first(one).into_iter().chain([*one]);
            let doubt = of_both.find_map(|it| Some(format!("{} {}", it.run, it.doubt.as_ref()?)));
            let failed = (!one.failed.is_empty()).then(|| one.failed.join("; "));
            limit.judge(&one.name, of, gain, failed.or(doubt))
        };
        let absent = self.absent.iter().filter(|absent| absent.run != first);
        let absent = absent.map(|it| {
            let name = format!("{} ({})", it.target, it.run);
            JudgedTarget::unjudged(&name, of, "it was not measured".to_owned())
        });
        let judged = later.iter().map(judge).chain(absent).collect();
        Self { gate: Some(GateRecord { base: first, limit_percent, judged }), ..self }
    }
}

impl RunsRecord {
    /// Returns the first of the two compared runs of a target whose number of rounds was decided in the
    /// run, if any.
    fn in_stages(&self, later: &ComparedTarget) -> Option<&str> {
        let first = self.runs.first().into_iter();
        let mut both = first.chain(self.runs.iter().filter(|run| run.name == later.run));
        both.find(|run| run.in_stages).map(|run| run.name.as_str())
    }
}

/// Parts of a load that decide on what a server has to do.
const LOAD: [&str; 10] = [
    "load.arrivals",
    "load.duration_s",
    "load.iterations",
    "load.model",
    "load.ramp_up_s",
    "load.rate_per_s",
    "load.slices",
    "load.stages",
    "load.think_time",
    "load.users",
];

impl RunsRecord {
    /// Returns the part of the load in which the run of a target differs from the first run, if any.
    fn other_load(&self, later: &ComparedTarget) -> Option<&str> {
        let run = self.runs.iter().position(|run| run.name == later.run)?;
        let differs = |unlike: &&Unlike| {
            let is_load = LOAD.contains(&unlike.what.as_str());
            is_load && unlike.values.get(run) != unlike.values.first()
        };
        self.unlike.iter().find(differs).map(|unlike| unlike.what.as_str())
    }
}

fn kind(ranked_by: RankedBy) -> &'static str {
    match ranked_by {
        RankedBy::Answers => "of the closed model",
        RankedBy::Speed => "of the open model",
        RankedBy::Capacity => "a search for capacities",
    }
}

/// Returns the settings and environment values in which the runs differ. Values of a target are
/// left out if some run lacks the target.
fn unlike(runs: &[Comparable], names: &[&str]) -> Vec<Unlike> {
    let missing = names.iter().filter(|name| runs.iter().any(|run| !run.has(name)));
    let missing: Vec<String> = missing.map(|name| format!("{name}.")).collect();
    let mut unlike = Unlike::between(&runs.iter().map(|run| &run.leaves).collect::<Vec<_>>());
    unlike.retain(|it| !missing.iter().any(|name| it.what.starts_with(name)));
    unlike
}

/// Returns the runs that lack the target `name`: the first run, or else all later runs that lack
/// the target.
fn absent(name: &str, first: &Comparable, others: &[Comparable]) -> Vec<Absent> {
    let lacks: Vec<&Comparable> = match first.has(name) {
        true => others.iter().filter(|other| !other.has(name)).collect(),
        false => vec![first],
    };
    let absent = |run: &&Comparable| Absent { target: name.to_owned(), run: run.run.name.clone() };
    lacks.iter().map(absent).collect()
}

/// Returns the targets' names, in the order of their first appearance in the runs.
fn names(runs: &[Comparable]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for measured in runs.iter().flat_map(|run| &run.targets) {
        if !names.contains(&measured.target.target.as_str()) {
            names.push(&measured.target.target);
        }
    }
    names
}

/// Returns the targets to which a later run sent other requests than the first run.
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

/// Compares each target with the same target in the first run. Left out are pairs of different
/// targets, targets to which the two runs sent different requests, and rates that another party
/// than the target limited.
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
    }
    .with_latencies(&each(all, |it| it.latencies.clone()));
    let limited: BTreeMap<String, Lack> =
        all.iter().filter_map(|it| Some((it.target.name.clone(), it.limited?))).collect();
    let is_its_own =
        |pair: &Pair| [&pair.better, &pair.worse].iter().all(|name| !limited.contains_key(*name));
    comparison.lacking.extend(limited.clone());
    comparison.only(|pair| are_compared(pair) && is_its_own(pair))
}

/// Returns the name of each target in the comparison, with the value that `figures` extracts.
fn each<T>(all: &[&Measured], figures: fn(&Measured) -> T) -> Vec<(String, T)> {
    all.iter().map(|it| (it.target.name.clone(), figures(it))).collect()
}

#[cfg(test)]
mod tests;
