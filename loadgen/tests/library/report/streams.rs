//! Tests the reports of streams, made from records built by hand.

use loadgen::measure::{LatencySummary, StreamSummary, Summary};
use loadgen::record::TargetRecord;

use super::records::{record, summary, target};
use super::shown::{csv, html, markdown, terminal};

fn times(p50: u64) -> LatencySummary {
    let us = |factor: u64| Some(factor * p50);
    let p99 = us(3);
    LatencySummary { p50: us(1), p95: us(2), p99, max: us(11), ..LatencySummary::default() }
}

/// Returns results with streams, whose first byte comes long before the last event.
fn streamed(name: &str, rate_per_s: f64) -> Summary {
    let stream = StreamSummary {
        closed: 0,
        events: 1_234_560,
        events_per_s: 20.0 * rate_per_s,
        first_event_us: times(60_000),
        gap_us: times(50_000),
    };
    let summary = summary(name, rate_per_s);
    Summary { stream: Some(stream), ttfb_us: times(400), ..summary }
}

/// Returns a target with a step that streams and one that does not.
fn with_stream(name: &str, rate_per_s: f64) -> TargetRecord {
    let steps = vec![streamed("chat", rate_per_s), summary("models", rate_per_s)];
    let total = streamed("all", rate_per_s);
    TargetRecord { steps, total, ..target(name, &[rate_per_s]) }
}

#[test]
fn streams_have_a_table_of_their_own() {
    let record = record(vec![with_stream("fastapi-hypercorn", 4_321.0), target("flask", &[88.0])]);
    let text = terminal(&record, None);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
    insta::assert_snapshot!(markdown(&record));
    let text = csv(&record);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().unwrap().clone();
    let cells = |row: csv::StringRecord| {
        let shown = names.iter().zip(row.iter()).filter(|(name, _)| name.contains("event"));
        shown.map(|(_, cell)| cell.to_owned()).collect::<Vec<_>>()
    };
    let rows: Vec<_> = reader.records().map(|row| cells(row.unwrap())).collect();
    assert_eq!(rows[1], ["1234560", "86420", "60000", "180000", "660000"]);
    assert_eq!(rows[2], [""; 5], "a step without a stream");
    let page = html(&record);
    assert!(page.contains("<h2 id=\"streams\">Streams</h2>"));
    assert!(page.contains("<h2 id=\"ttfb\">Time to first byte</h2>"));
}

#[test]
fn without_streams_there_is_no_table_of_them() {
    let record = record(vec![target("flask", &[88.0])]);
    assert!(!terminal(&record, None).contains("events/s"));
    assert!(!html(&record).contains("id=\"streams\""));
}
