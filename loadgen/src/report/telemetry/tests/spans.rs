//! Messages with spans to a collector of OpenTelemetry.

use std::net::TcpListener;
use std::time::Duration;

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;

use super::otlp::{Collector, FAST};
use super::{begin, collector_at, end, loaded, settings};
use crate::measure::{ErrorKind, Phase, Snapshot, TraceContext, TracedEnd, TracedRequest};
use crate::report::telemetry::Loaded;

fn traced(step: u32, number: u8, end: TracedEnd) -> TracedRequest {
    TracedRequest {
        step,
        phase: Phase::Hold,
        context: TraceContext { trace_id: [number; 16], span_id: [number; 8] },
        sent_unix_ns: 1_700_000_000_000_000_000,
        delay: Duration::from_millis(20),
        first_byte: Some(Duration::from_millis(4)),
        took: Duration::from_millis(5),
        status: (end != TracedEnd::CutOff).then_some(503),
        resent: end == TracedEnd::CutOff,
        end,
    }
}

/// Returns the attributes as lines.
fn lines(attributes: &[KeyValue]) -> String {
    let lines = attributes.iter().map(|KeyValue { key, value, .. }| {
        match value.as_ref().unwrap().value.as_ref().unwrap() {
            Value::StringValue(text) => format!("{key}={text}"),
            Value::IntValue(number) => format!("{key}={number} (number)"),
            Value::DoubleValue(number) => format!("{key}={number} (number)"),
            other => format!("{key}={other:?}"),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_collector_gets_a_span_for_each_traced_request() {
    let collector = Collector::start(vec![(200, Vec::new())]);
    let (mut telemetry, _) = begin(settings(Some(collector_at(&collector.url, &[])), None));
    let mut teller = telemetry.teller();
    teller.round(Loaded { is_open: true, ..loaded() }, 3);
    let failed = TracedEnd::Failed(ErrorKind::Status);
    let requests = vec![
        traced(0, 1, failed),
        traced(0, 2, TracedEnd::Answered),
        traced(0, 3, TracedEnd::CutOff),
        // Of a worker with another scenario.
        traced(9, 4, TracedEnd::Answered),
    ];
    let snapshot = Snapshot { traced: requests, over_limit: 7, ..Snapshot::default() };
    teller.count(2, &snapshot);
    teller.round_over();
    end(&mut telemetry);
    let message = collector.spans.recv_timeout(Duration::from_secs(30)).unwrap();
    let spans = &message.resource_spans[0].scope_spans[0].spans;
    let ends = spans.iter().map(|span| {
        let status = span.status.as_ref().unwrap();
        (span.name.as_str(), span.trace_id[0], status.code)
    });
    assert_eq!(ends.collect::<Vec<_>>(), [("pay", 1, 2), ("pay", 2, 0), ("pay", 3, 0)]);
    let span = &spans[0];
    let took = span.end_time_unix_nano - span.start_time_unix_nano;
    let first = span.events[0].time_unix_nano - span.start_time_unix_nano;
    assert_eq!((took, first, span.span_id.as_slice()), (5_000_000, 4_000_000, &[1; 8][..]));
    insta::assert_snapshot!(format!(
        "{}\n\n{}",
        lines(&span.attributes),
        lines(&spans[2].attributes)
    ));
    let record = telemetry.exports()().unwrap().spans.unwrap();
    assert_eq!((record.traced, record.delivered, record.over_limit), (3, 2, 7));
    assert_eq!(record.last_error.as_deref(), Some("not this one"));
    assert!(record.url.ends_with("/otlp/v1/traces") && !record.url.contains("secret"));
}

#[test]
fn spans_for_a_collector_that_is_away_are_lost_with_a_count() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let away = format!("http://{closed}");
    let (mut telemetry, notes) = begin(settings(Some(collector_at(&away, &[FAST])), None));
    let mut teller = telemetry.teller();
    teller.round(loaded(), 1);
    let began = std::time::Instant::now();
    for _ in 0..60 {
        let requests = (0..1_000).map(|_| traced(0, 1, TracedEnd::Answered)).collect();
        teller.count(0, &Snapshot { traced: requests, ..Snapshot::default() });
    }
    teller.round_over();
    end(&mut telemetry);
    // Promised: 5 s for the last message.
    assert!(began.elapsed() < Duration::from_secs(12));
    let record = telemetry.exports()().unwrap().spans.unwrap();
    assert_eq!((record.traced, record.delivered), (60_000, 0));
    assert!(record.dropped >= 50_000, "{record:?}");
    assert!(record.last_error.is_some());
    let told =
        notes.lock().unwrap().iter().filter(|note| note.contains("cannot send spans")).count();
    assert_eq!(told, 1);
}
