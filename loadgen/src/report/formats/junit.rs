//! Writes thresholds, proofs, whether targets answered to the end, and regressions, as JUnit XML, which
//! CI systems show.

use maud::{PreEscaped, html};

use crate::record::{ComparedTarget, GateRecord, RunRecord, RunsRecord, TargetRecord, VerdictKind};
use crate::report::words::gate;
use crate::report::words::proofs::{asked, by_proof};
use crate::report::words::thresholds::judged;

/// A JUnit test suite: the tests of one target.
struct Suite {
    name: String,
    started: String,
    cases: Vec<Case>,
}

/// A JUnit test case; `failure` is the reason if the test failed.
struct Case {
    name: String,
    failure: Option<String>,
}

/// Returns JUnit XML with a test suite for each target, also for one that was judged without a
/// measurement. The suite has a test for each threshold, a test for each proof, and a failed test for each
/// other reason why the run is a failure. A lost worker or probe has a suite of its own.
#[must_use]
pub fn junit(record: &RunRecord) -> String {
    let suite = |target: &TargetRecord| Suite {
        name: target.name.clone(),
        started: record.started.clone(),
        cases: cases(record, target),
    };
    let is_measured = |name: &str| record.targets.iter().any(|target| target.name == name);
    let absent = not_measured(record.gate.as_ref(), &record.started, is_measured);
    let of_run = record.degraded.iter().map(|degraded| Suite {
        name: record.scenario.clone(),
        started: record.started.clone(),
        cases: vec![Case {
            name: "the load is as planned".to_owned(),
            failure: Some(degraded.reason.clone()),
        }],
    });
    let suites: Vec<Suite> = record.targets.iter().map(suite).chain(absent).chain(of_run).collect();
    xml(&record.scenario, &suites)
}

/// Returns JUnit XML with a test suite for each target of each later run. The suite has a test whether
/// the target lost more than the limit, if there is one, and a failed test for each reason why the run
/// is a failure. A target that a later run lacks has a suite, too, if there is a limit.
#[must_use]
pub fn junit_of_comparison(record: &RunsRecord) -> String {
    let later: Vec<_> = record.targets.iter().filter(|target| record.is_later(target)).collect();
    let of_later = |target: &&ComparedTarget| {
        let failed = target.failed.iter();
        let failed = failed.map(|why| Case { name: "run".to_owned(), failure: Some(why.clone()) });
        Suite {
            name: target.name.clone(),
            started: started(record, Some(&target.run)),
            cases: accepted(record.gate.as_ref(), &target.name).chain(failed).collect(),
        }
    };
    let is_measured = |name: &str| later.iter().any(|target| target.name == name);
    let started = started(record, None);
    let absent = not_measured(record.gate.as_ref(), &started, is_measured);
    let suites: Vec<Suite> = later.iter().map(of_later).chain(absent).collect();
    let scenario = record.runs.first().map_or("", |run| run.scenario.as_str());
    xml(scenario, &suites)
}

/// Returns a suite for each target that was judged without a measurement.
fn not_measured<'a>(
    gate: Option<&'a GateRecord>,
    started: &'a str,
    is_measured: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = Suite> + 'a {
    let judged = gate.into_iter().flat_map(|gate| &gate.judged);
    judged.filter(move |one| !is_measured(&one.target)).map(move |one| Suite {
        name: one.target.clone(),
        started: started.to_owned(),
        cases: accepted(gate, &one.target).collect(),
    })
}

/// Returns the test whether a target lost more than is accepted; nothing without a gate.
fn accepted<'a>(gate: Option<&'a GateRecord>, target: &'a str) -> impl Iterator<Item = Case> + 'a {
    gate.into_iter().flat_map(move |gate| {
        let of_target = gate.judged.iter().filter(move |one| one.target == target);
        of_target.map(move |one| Case {
            name: format!("loses at most {} %", gate.limit_percent),
            failure: one.judgement.is_failure().then(|| gate::judged(gate, one)),
        })
    })
}

/// Returns the start of the run of this name, or of the last run.
fn started(record: &RunsRecord, run: Option<&str>) -> String {
    let found = match run {
        Some(name) => record.runs.iter().find(|run| run.name == name),
        None => record.runs.last(),
    };
    found.map(|run| run.started.clone()).unwrap_or_default()
}

fn xml(name: &str, suites: &[Suite]) -> String {
    let failed = |cases: &[Case]| cases.iter().filter(|case| case.failure.is_some()).count();
    let all: usize = suites.iter().map(|suite| suite.cases.len()).sum();
    let all_failed: usize = suites.iter().map(|suite| failed(&suite.cases)).sum();
    let suites = html! {
        testsuites name=(text(name)) tests=(all) failures=(all_failed) {
            @for Suite { name, started, cases } in suites {
                testsuite name=(text(name)) tests=(cases.len())
                    failures=(failed(cases)) timestamp=(text(started)) {
                    @for case in cases {
                        testcase classname=(text(name)) name=(text(&case.name)) {
                            @if let Some(message) = &case.failure { failure message=(text(message)) {} }
                        }
                    }
                }
            }
        }
    };
    let PreEscaped(suites) = suites;
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{suites}\n")
}

fn cases(record: &RunRecord, target: &TargetRecord) -> Vec<Case> {
    let thresholds = record.thresholds.iter().filter(|one| one.target == target.name);
    let thresholds = thresholds.map(|one| Case {
        name: one.threshold.clone(),
        failure: (!one.passed).then(|| judged(one)),
    });
    let proofs = by_proof(target.proofs.iter()).into_iter().map(|rounds| {
        let failed: Vec<String> = rounds
            .iter()
            .filter(|proof| !proof.agrees)
            .map(|proof| {
                let (number, held) = (proof.expected.number(), proof.held);
                format!("round {}: expected {number}, found {held}", proof.round)
            })
            .collect();
        let failure = (!failed.is_empty()).then(|| failed.join("; "));
        let name = match rounds[0].expected.counter() {
            Some(counter) => format!("{counter} in {}", asked(&rounds)),
            None => asked(&rounds),
        };
        Case { name, failure }
    });
    // Failed proofs already have their own cases.
    let is_other = |kind: VerdictKind| kind.is_failure() && kind != VerdictKind::ProofFailed;
    let verdicts = record
        .verdicts
        .iter()
        .filter(|verdict| is_other(verdict.kind) && verdict.target.as_ref() == Some(&target.name));
    let verdicts = verdicts.map(|verdict| Case {
        name: "answers to the end".to_owned(),
        failure: Some(verdict.coded()),
    });
    let gate = accepted(record.gate.as_ref(), &target.name);
    thresholds.chain(proofs).chain(verdicts).chain(gate).collect()
}

/// Replaces control characters, and other characters that XML cannot contain even escaped, with
/// spaces.
fn text(text: &str) -> String {
    text.replace(|c: char| c.is_control() || c == '\u{fffe}' || c == '\u{ffff}', " ")
}
