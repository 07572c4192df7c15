//! Tests the reports of runs with traced requests, made from records built by hand.

use loadgen::record::{RunRecord, SlowRequest, SpansRecord, TelemetryRecord};

use super::records::{record, target};
use super::run::{assert_within_80_columns, shown};
use super::shown::{html, markdown};

fn traced(targets: &[&str]) -> RunRecord {
    let mut record = record(targets.iter().map(|name| target(name, &[4_321.0; 5])).collect());
    let slow = |target: &str, latency_us| SlowRequest {
        target: target.to_owned(),
        step: "pay".to_owned(),
        latency_us,
        trace_id: "0af7651916cd43dd8448eb211c80319c".to_owned(),
        ..SlowRequest::default()
    };
    // In an experiment, the slowest of other groups are among them.
    let slowest = vec![slow("elsewhere", 9_000_000), slow("quart", 207_700), slow("sanic", 850)];
    let spans = Some(SpansRecord { slowest, delivered: 3, ..SpansRecord::default() });
    record.environment.telemetry = Some(TelemetryRecord { spans, ..TelemetryRecord::default() });
    record
}

#[test]
fn each_report_names_the_slowest_traced_requests_of_the_run() {
    let id = "trace 0af7651916cd43dd8448eb211c80319c";
    let alone = traced(&["sanic"]);
    let report = shown(&alone);
    assert_within_80_columns(&report);
    assert!(report.contains(&format!("slowest traced request: pay, 0.85 ms, {id}")), "{report}");
    let two = traced(&["sanic", "quart"]);
    let first = format!("slowest traced request: quart, pay, 208 ms, {id}");
    for report in [markdown(&two), html(&two)] {
        assert!(report.contains(&first), "{report}");
        assert!(report.contains(&format!("then: sanic, pay, 0.85 ms, {id}")), "{report}");
        assert!(!report.contains("elsewhere"), "{report}");
    }
    let without = record(vec![target("sanic", &[4_321.0; 5])]);
    assert!(!shown(&without).contains("traced"), "nothing was");
}
