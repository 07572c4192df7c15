//! Tests the reports of runs with a probe, made from records built by hand.

use std::collections::BTreeMap;

use loadgen::measure::{LatencySummary, Summary};
use loadgen::record::{Percentile, ProbeRatio, ProbeRecord, RunRecord, Verdict, VerdictKind};

use super::records::{record, rows, summary, target};
use super::run::{assert_within_80_columns, shown};
use super::shown::{html, markdown};

/// Returns the record of a run with a probe of 20 requests/s beside the load on two targets. The
/// second target has no proof.
fn probed() -> RunRecord {
    let mut targets = vec![target("sanic", &[4_321.0; 5]), target("quart", &[1_200.0; 5])];
    for (target, (ratio, p99)) in targets.iter_mut().zip([(1.02, Some(96_000)), (2.31, None)]) {
        let total = summary("all", if p99.is_some() { 400.0 } else { 100.0 });
        let latency_us = LatencySummary { p99, ..total.latency_us.clone() };
        let percentile = if p99.is_some() { Percentile::P99 } else { Percentile::P95 };
        let confidence_95 = Some([ratio * 0.95, ratio * 1.05]);
        let compared = ProbeRatio { ratio, confidence_95, p_holm: Some(0.01) };
        let ratios = BTreeMap::from([(Percentile::P50, compared), (percentile, compared)]);
        let total = Summary { latency_us, ..total };
        target.probe = Some(ProbeRecord { total, ratios });
    }
    targets[0].counters.insert("inserted_items".to_owned(), 203_000);
    targets[0].proofs = vec![rows(1, 278_000)];
    let mut record = record(targets);
    record.load.probe_per_s = Some(20.0);
    record.verdicts = vec![Verdict {
        kind: VerdictKind::ProbeDiffers,
        target: Some("quart".to_owned()),
        message: "p95 of the load is 2.31 times that of the probe (2.19–2.43), 12.3 and 5.34 ms: \
                  another client that sends the same requests at the same time waits less than the \
                  figures of the load say"
            .to_owned(),
        advice: "the load waits for itself".to_owned(),
    }];
    record
}

#[test]
fn a_probe_has_a_line_for_each_target() {
    let report = shown(&probed());
    assert_within_80_columns(&report);
    insta::assert_snapshot!(report);
}

#[test]
fn each_report_has_the_probe() {
    let record = probed();
    for report in [markdown(&record).replace("\\_", "_"), html(&record)] {
        assert!(report.contains("a probe of 20 requests/s"), "{report}");
        assert!(report.contains("p99 of the load is 1.02 times that of the probe"), "{report}");
        assert!(report.contains("probe_differs"), "{report}");
    }
    let without = record_without();
    for report in [markdown(&without), html(&without), shown(&without)] {
        assert!(!report.contains("probe of "), "{report}");
    }
}

fn record_without() -> RunRecord {
    record(vec![target("sanic", &[4_321.0; 5]), target("quart", &[1_200.0; 5])])
}
