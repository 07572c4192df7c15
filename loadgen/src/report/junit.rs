//! Thresholds as JUnit XML, which CI systems show.

use maud::{PreEscaped, html};

use super::thresholds::judged;
use crate::measure::{RunRecord, ThresholdRecord};

/// A test suite for each target, with a test for each of its thresholds.
#[must_use]
pub fn junit(record: &RunRecord) -> String {
    let failed = |all: &[&ThresholdRecord]| all.iter().filter(|one| !one.passed).count();
    let all: Vec<&ThresholdRecord> = record.thresholds.iter().collect();
    let suites = html! {
        testsuites name=(text(&record.scenario)) tests=(all.len()) failures=(failed(&all)) {
            @for target in &record.targets {
                @let of_target: Vec<_> =
                    all.iter().copied().filter(|one| one.target == target.name).collect();
                testsuite name=(text(&target.name)) tests=(of_target.len())
                    failures=(failed(&of_target)) timestamp=(text(&record.started)) {
                    @for threshold in of_target {
                        testcase classname=(text(&target.name)) name=(text(&threshold.threshold)) {
                            @if !threshold.passed { failure message=(text(&judged(threshold))) {} }
                        }
                    }
                }
            }
        }
    };
    let PreEscaped(suites) = suites;
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{suites}\n")
}

/// Without what XML can't hold, even escaped.
fn text(text: &str) -> String {
    text.replace(|c: char| c.is_control() || c == '\u{fffe}' || c == '\u{ffff}', " ")
}
