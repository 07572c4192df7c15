//! Writes thresholds, proofs, and whether targets answered to the end, as JUnit XML, which CI
//! systems show.

use maud::{PreEscaped, html};

use crate::record::{RunRecord, TargetRecord, VerdictKind};
use crate::report::words::proofs::{asked, by_proof};
use crate::report::words::thresholds::judged;

/// A JUnit test case; `failure` is the reason if the test failed.
struct Case {
    name: String,
    failure: Option<String>,
}

/// Returns JUnit XML with a test suite for each target. The suite has a test for each threshold, a
/// test for each proof, and a failed test for each other reason why the run is a failure.
#[must_use]
pub fn junit(record: &RunRecord) -> String {
    let suites: Vec<(&TargetRecord, Vec<Case>)> =
        record.targets.iter().map(|target| (target, cases(record, target))).collect();
    let failed = |cases: &[Case]| cases.iter().filter(|case| case.failure.is_some()).count();
    let all: usize = suites.iter().map(|(_, cases)| cases.len()).sum();
    let all_failed: usize = suites.iter().map(|(_, cases)| failed(cases)).sum();
    let suites = html! {
        testsuites name=(text(&record.scenario)) tests=(all) failures=(all_failed) {
            @for (target, cases) in &suites {
                testsuite name=(text(&target.name)) tests=(cases.len())
                    failures=(failed(cases)) timestamp=(text(&record.started)) {
                    @for Case { name, failure } in cases {
                        testcase classname=(text(&target.name)) name=(text(name)) {
                            @if let Some(message) = failure { failure message=(text(message)) {} }
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
    thresholds.chain(proofs).chain(verdicts).collect()
}

/// Replaces control characters, and other characters that XML cannot contain even escaped, with
/// spaces.
fn text(text: &str) -> String {
    text.replace(|c: char| c.is_control() || c == '\u{fffe}' || c == '\u{ffff}', " ")
}
