//! Writes thresholds, proofs, whether targets answered to the end, and regressions, as JUnit XML, which
//! CI systems show.

use maud::{PreEscaped, html};

use crate::record::{ComparedTarget, Regression, RunRecord, RunsRecord, TargetRecord, VerdictKind};
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

/// Returns JUnit XML with a test suite for each target. The suite has a test for each threshold, a
/// test for each proof, and a failed test for each other reason why the run is a failure.
#[must_use]
pub fn junit(record: &RunRecord) -> String {
    let suite = |target: &TargetRecord| Suite {
        name: target.name.clone(),
        started: record.started.clone(),
        cases: cases(record, target),
    };
    xml(&record.scenario, &record.targets.iter().map(suite).collect::<Vec<_>>())
}

/// Returns JUnit XML with a test suite for each target of each later run. The suite has a test whether
/// the target lost more than the limit, if there is one, and a failed test for each reason why the run
/// is a failure. A last suite has a failed test for each target that cannot be judged.
#[must_use]
pub fn junit_of_comparison(record: &RunsRecord) -> String {
    let later = record.targets.iter().filter(|target| record.is_later(target));
    let mut suites: Vec<Suite> = later.map(|target| of_later(record, target)).collect();
    if !record.unjudged.is_empty() {
        let unjudged = record.unjudged.iter();
        let cases = unjudged
            .map(|why| Case { name: "can be judged".to_owned(), failure: Some(why.clone()) })
            .collect();
        suites.push(Suite { name: "comparison".to_owned(), started: started(record, None), cases });
    }
    let scenario = record.runs.first().map_or("", |run| run.scenario.as_str());
    xml(scenario, &suites)
}

fn of_later(record: &RunsRecord, target: &ComparedTarget) -> Suite {
    let is_it = |it: &&Regression| it.target == target.target && it.run == target.run;
    let begin = format!("{} in {}: ", target.target, target.run);
    let is_judged = !record.unjudged.iter().any(|why| why.starts_with(&begin));
    let lost = record.limit_percent.filter(|_| is_judged).map(|limit| Case {
        name: format!("loses at most {limit} %"),
        failure: record
            .regressions
            .iter()
            .find(is_it)
            .map(|lost| format!("lost {:.1} %", lost.percent)),
    });
    let failed = target.failed.iter();
    let failed = failed.map(|why| Case { name: "run".to_owned(), failure: Some(why.clone()) });
    Suite {
        name: target.name.clone(),
        started: started(record, Some(&target.run)),
        cases: lost.into_iter().chain(failed).collect(),
    }
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
                let (number, held) = (proof.claimed.number(), proof.held);
                format!("round {}: expected {number}, found {held}", proof.round)
            })
            .collect();
        let failure = (!failed.is_empty()).then(|| failed.join("; "));
        let name = match rounds[0].claimed.counter() {
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
    let gate = record.gate.iter().flat_map(|gate| {
        let of_target = gate.judged.iter().filter(|one| one.target == target.name);
        of_target.map(move |one| Case {
            name: format!("loses at most {} %", gate.limit_percent),
            failure: one.judgement.is_failure().then(|| gate::judged(gate, one)),
        })
    });
    thresholds.chain(proofs).chain(verdicts).chain(gate).collect()
}

/// Replaces control characters, and other characters that XML cannot contain even escaped, with
/// spaces.
fn text(text: &str) -> String {
    text.replace(|c: char| c.is_control() || c == '\u{fffe}' || c == '\u{ffff}', " ")
}
