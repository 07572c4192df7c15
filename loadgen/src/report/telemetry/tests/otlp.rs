//! Messages to a collector of OpenTelemetry.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as NumberOf;
use prost::Message as _;

use super::{begin, collector_at, end, loaded, settings, snapshot};
use crate::measure::PresentUsage;
use crate::report::PlannedLoad;
use crate::report::telemetry::Loaded;

/// A collector that answers each message with metrics with the next of these statuses, and the last one again and again.
pub(super) struct Collector {
    pub url: String,
    received: mpsc::Receiver<(Vec<String>, ExportMetricsServiceRequest)>,
    /// Messages with spans, of each of which one is rejected.
    pub spans: mpsc::Receiver<ExportTraceServiceRequest>,
}

impl Collector {
    pub fn start(answers: Vec<(u16, Vec<u8>)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://me:secret@{}/otlp", listener.local_addr().unwrap());
        let (sender, received) = mpsc::channel();
        let (spans_sender, spans) = mpsc::channel();
        let mut answers = answers.into_iter();
        let mut last = answers.next().unwrap();
        thread::spawn(move || {
            // Each message on a connection of its own; ends with the last sender.
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.unwrap());
                let mut lines = Vec::new();
                loop {
                    let mut line = String::new();
                    stream.read_line(&mut line).unwrap();
                    if line.trim().is_empty() {
                        break;
                    }
                    lines.push(line.trim().to_owned());
                }
                let length = lines.iter().find_map(|line| line.strip_prefix("content-length: "));
                let mut body = vec![0; length.unwrap().parse().unwrap()];
                stream.read_exact(&mut body).unwrap();
                if lines.iter().any(|line| line == "content-encoding: gzip") {
                    let mut plain = Vec::new();
                    flate2::read::GzDecoder::new(&*body).read_to_end(&mut plain).unwrap();
                    body = plain;
                }
                // First, because loadgen may end as soon as it has the answer.
                let are_spans = lines[0].contains("/v1/traces");
                let sent = if are_spans {
                    let message = ExportTraceServiceRequest::decode(&*body).unwrap();
                    spans_sender.send(message).is_ok()
                } else {
                    let message = ExportMetricsServiceRequest::decode(&*body).unwrap();
                    sender.send((lines, message)).is_ok()
                };
                if !sent {
                    break;
                }
                let always = (200, rejecting_span());
                let (status, answer) = if are_spans { &always } else { &last };
                let kind =
                    if answer.starts_with(b"<") { "text/html" } else { "application/x-protobuf" };
                let head = format!(
                    "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {}",
                    answer.len()
                );
                let stream = stream.get_mut();
                stream.write_all(format!("{head}\r\n\r\n").as_bytes()).unwrap();
                stream.write_all(answer).unwrap();
                if !are_spans {
                    last = answers.next().unwrap_or(last);
                }
            }
        });
        Self { url, received, spans }
    }

    fn next(&self) -> (Vec<String>, ExportMetricsServiceRequest) {
        self.received.recv_timeout(Duration::from_secs(30)).unwrap()
    }

    /// Returns the number of answers in the next message.
    fn next_answers(&self) -> u64 {
        answers(&self.next().1)
    }
}

fn metrics(message: &ExportMetricsServiceRequest) -> BTreeMap<&str, &Data> {
    let of = |metric| &message.resource_metrics[0].scope_metrics[0].metrics[metric];
    let count = message.resource_metrics[0].scope_metrics[0].metrics.len();
    (0..count).map(|at| (of(at).name.as_str(), of(at).data.as_ref().unwrap())).collect()
}

/// Returns the number of expected answers in a message.
fn answers(message: &ExportMetricsServiceRequest) -> u64 {
    let Some(Data::ExponentialHistogram(of)) =
        metrics(message).remove("http.client.request.duration")
    else {
        return 0;
    };
    let is_error =
        |of: &&opentelemetry_proto::tonic::metrics::v1::ExponentialHistogramDataPoint| {
            of.attributes.iter().any(|attribute| attribute.key == "error.type")
        };
    let expected = of.data_points.iter().filter(|of| !is_error(of));
    expected
        .map(|point| {
            let buckets = &point.positive.as_ref().unwrap().bucket_counts;
            assert_eq!(buckets.iter().sum::<u64>(), point.count);
            point.count
        })
        .sum()
}

pub(super) const FAST: (&str, &str) = ("OTEL_METRIC_EXPORT_INTERVAL", "20");
const DELTA: (&str, &str) = ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta");

#[test]
fn a_collector_gets_the_sums_of_all_that_was_counted() {
    let collector = Collector::start(vec![(200, Vec::new())]);
    let (mut telemetry, notes) = begin(settings(Some(collector_at(&collector.url, &[FAST])), None));
    let mut teller = telemetry.teller();
    teller.round(loaded(), 1);
    teller.load_started();
    // Zeros come first.
    while !metrics(&collector.next().1).contains_key("http.client.request.duration") {}
    teller.count(3, &snapshot(0, 5, 2));
    teller.tick(PlannedLoad::Users(10));
    teller.usage()(
        [("target".to_owned(), PresentUsage { cpu_percent: 150.0, memory_bytes: 7 })].into(),
    );
    let (lines, message) = loop {
        let (lines, message) = collector.next();
        if answers(&message) > 0 && metrics(&message).contains_key("loadgen.service.cpu.usage") {
            break (lines, message);
        }
    };
    assert_eq!(lines[0], "POST /otlp/v1/metrics HTTP/1.1");
    assert!(lines.contains(&"content-type: application/x-protobuf".to_owned()), "{lines:?}");
    let metrics = metrics(&message);
    let number = |name: &str| match metrics[name] {
        Data::Gauge(gauge) => gauge.data_points[0].value,
        _ => None,
    };
    assert_eq!(number("loadgen.load.users"), Some(NumberOf::AsDouble(10.0)));
    assert_eq!(number("loadgen.service.cpu.usage"), Some(NumberOf::AsDouble(1.5)));
    let sum = |name: &str| match metrics[name] {
        Data::Sum(sum) => sum
            .data_points
            .iter()
            .map(|point| match point.value {
                Some(NumberOf::AsInt(n)) => n,
                _ => 0,
            })
            .sum::<i64>(),
        _ => 0,
    };
    assert_eq!(sum("loadgen.worker.requests"), 7);
    assert_eq!(sum("loadgen.request.failures"), 2);
    teller.count(3, &snapshot(1, 6, 0));
    teller.round_over();
    end(&mut telemetry);
    drop(telemetry);
    let messages: Vec<_> = collector.received.try_iter().map(|(_, message)| message).collect();
    assert_eq!(answers(messages.last().unwrap()), 11);
    // A gauge that has no value any more is said to have none, once, under its name and unit.
    let markers = |name: &str, unit: &str| {
        let all = messages.iter().flat_map(|it| &it.resource_metrics[0].scope_metrics[0].metrics);
        let of = all.filter(|metric| metric.name == name && metric.unit == unit);
        let points = of.map(|metric| match &metric.data {
            Some(Data::Gauge(gauge)) => gauge.data_points.iter().filter(|it| it.flags == 1).count(),
            _ => 0,
        });
        points.sum::<usize>()
    };
    assert_eq!(
        (markers("loadgen.round", "{round}"), markers("loadgen.service.memory.usage", "By")),
        (1, 1)
    );
    assert_eq!(*notes.lock().unwrap(), [""; 0]);
}

#[test]
fn what_was_counted_before_an_early_end_is_told() {
    let collector = Collector::start(vec![(200, Vec::new())]);
    let (mut telemetry, _) = begin(settings(Some(collector_at(&collector.url, &[FAST])), None));
    let mut teller = telemetry.teller();
    teller.round(loaded(), 1);
    teller.load_started();
    teller.count(0, &snapshot(0, 5, 0));
    // The round breaks off, and another target is next.
    teller.round(Loaded { target: "other".to_owned(), ..loaded() }, 2);
    teller.count(0, &snapshot(0, 6, 0));
    end(&mut telemetry);
    drop(telemetry);
    let last = collector.received.try_iter().last().unwrap().1;
    assert_eq!(answers(&last), 11);
    assert!(!metrics(&last).contains_key("loadgen.round"), "no round goes on");
}

#[test]
fn differences_add_up_to_the_whole_although_messages_are_lost() {
    let statuses = [200, 503, 503, 200].map(|status| (status, Vec::new()));
    let collector = Collector::start(statuses.into());
    let settings = settings(Some(collector_at(&collector.url, &[FAST, DELTA])), None);
    let (mut telemetry, notes) = begin(settings);
    let mut teller = telemetry.teller();
    teller.round(loaded(), 1);
    teller.load_started();
    teller.count(0, &snapshot(0, 5, 0));
    teller.tick(PlannedLoad::Rate(10.0));
    let mut arrived = collector.next_answers();
    let lost = [collector.next_answers(), collector.next_answers()];
    teller.count(0, &snapshot(1, 6, 0));
    teller.round_over();
    end(&mut telemetry);
    let exports = telemetry.exports()().unwrap();
    drop(telemetry);
    arrived += collector.received.try_iter().map(|(_, message)| answers(&message)).sum::<u64>();
    assert_eq!(arrived, 11, "{lost:?} were lost");
    assert_eq!(exports.messages - exports.delivered, 2);
    assert!(exports.is_complete && exports.last_error.is_some());
    let said = notes.lock().unwrap().join("\n");
    assert!(said.contains("it answers 503") && said.lines().count() == 1, "{said}");
    assert!(!said.contains("secret") && !exports.url.contains("secret"), "{said}, {exports:?}");
}

#[test]
fn what_a_collector_rejects_is_counted_and_told() {
    let partial = ExportMetricsPartialSuccess {
        rejected_data_points: 3,
        error_message: "too \u{1b}[31mmany".to_owned(),
    };
    let answer = ExportMetricsServiceResponse { partial_success: Some(partial) };
    let collector = Collector::start(vec![(200, answer.encode_to_vec()), (200, Vec::new())]);
    let gzip = ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip");
    let header = ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=abc");
    let of = collector_at(&collector.url, &[gzip, header]);
    let (mut telemetry, notes) = begin(settings(Some(of), None));
    telemetry.teller().round(loaded(), 1);
    let (lines, _) = collector.next();
    assert!(lines.contains(&"api-key: abc".to_owned()), "{lines:?}");
    end(&mut telemetry);
    let exports = telemetry.exports()().unwrap();
    assert_eq!((exports.rejected_values, exports.is_complete), (3, true));
    let said = notes.lock().unwrap().join("\n");
    assert!(said.ends_with("rejects some values: too \\u{1b}[31mmany"), "{said}");
}

#[test]
fn a_collector_that_is_away_or_never_answers_delays_nothing_but_the_end() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [silent.local_addr().unwrap(), closed] {
        let of = collector_at(&format!("http://{address}"), &[FAST]);
        let (mut telemetry, _) = begin(settings(Some(of), None));
        let mut teller = telemetry.teller();
        teller.round(loaded(), 1);
        teller.load_started();
        teller.load_started();
        let began = std::time::Instant::now();
        for number in 0..10_000 {
            teller.count(0, &snapshot(number, 1, 0));
            teller.tick(PlannedLoad::Users(1));
        }
        // Nobody waits for a connection; generous, because the machine may be busy.
        assert!(began.elapsed() < Duration::from_secs(5));
        teller.round_over();
        end(&mut telemetry);
        // Promised: 5 s for the last message.
        assert!(began.elapsed() < Duration::from_secs(12));
        let exports = telemetry.exports()().unwrap();
        assert_eq!((exports.delivered, exports.is_complete), (0, false));
        assert!(exports.messages > 0 && exports.last_error.is_some(), "{exports:?}");
    }
}

#[test]
fn a_page_is_no_collector() {
    let collector = Collector::start(vec![(200, b"<html>Please log in</html>".to_vec())]);
    let (mut telemetry, notes) = begin(settings(Some(collector_at(&collector.url, &[FAST])), None));
    telemetry.teller().round(loaded(), 1);
    end(&mut telemetry);
    let exports = telemetry.exports()().unwrap();
    assert_eq!((exports.delivered, exports.is_complete), (0, false));
    assert!(notes.lock().unwrap()[0].contains("with a page of HTML, and is no collector"));
}

#[test]
fn a_message_that_is_refused_for_good_is_not_sent_again_at_the_end() {
    let collector = Collector::start(vec![(400, b"no".to_vec())]);
    let slow = ("OTEL_METRIC_EXPORT_INTERVAL", "60000");
    let (mut telemetry, notes) = begin(settings(Some(collector_at(&collector.url, &[slow])), None));
    telemetry.teller().round(loaded(), 1);
    let began = std::time::Instant::now();
    end(&mut telemetry);
    assert!(began.elapsed() < Duration::from_secs(5));
    let exports = telemetry.exports()().unwrap();
    // One at most before the end, and one then.
    assert!((1..=2).contains(&exports.messages) && !exports.is_complete, "{exports:?}");
    assert!(notes.lock().unwrap()[0].contains("it answers 400 Bad Request: no"));
}

/// Returns the answer that one span is rejected.
fn rejecting_span() -> Vec<u8> {
    let rejected =
        ExportTracePartialSuccess { rejected_spans: 1, error_message: "not this one".to_owned() };
    ExportTraceServiceResponse { partial_success: Some(rejected) }.encode_to_vec()
}
