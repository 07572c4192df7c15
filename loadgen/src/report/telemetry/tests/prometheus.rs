//! Formats and times of the answers to Prometheus.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use super::{begin, end, loaded, settings, snapshot};
use crate::report::PlannedLoad;
use crate::report::telemetry::{Loaded, Telemetry, TelemetrySettings};

/// Asks for the metrics, and returns the head and the body of the response.
fn scrape(telemetry: &Telemetry, accept: &str) -> (String, Vec<u8>) {
    let address = telemetry.url().unwrap().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address.strip_suffix("/metrics").unwrap()).unwrap();
    write!(stream, "GET /metrics HTTP/1.0\r\nhost: x\r\naccept: {accept}\r\n\r\n").unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).unwrap();
    let end = response.windows(4).position(|at| at == b"\r\n\r\n").unwrap();
    (String::from_utf8(response[..end].to_vec()).unwrap(), response[end + 4..].to_vec())
}

#[test]
fn arms_of_one_name_in_two_groups_are_two_series() {
    let (mut telemetry, _) = begin(settings(None, Some("127.0.0.1:0")));
    let mut teller = telemetry.teller();
    for (number, group) in (1..).zip(["FastAPI", "Django"]) {
        teller.round(Loaded { group: Some(group.to_owned()), ..loaded() }, number);
        teller.count(0, &snapshot(0, u64::from(number), 0));
    }
    end(&mut telemetry);
    let text = String::from_utf8(scrape(&telemetry, "*/*").1).unwrap();
    for (group, count) in [("FastAPI", 1), ("Django", 2)] {
        let is_it = |line: &&str| {
            line.starts_with("http_client_request_duration_seconds_count{")
                && line.contains(&format!("loadgen_group=\"{group}\""))
                && line.contains("phase=\"hold\"")
        };
        let line = text.lines().find(is_it).unwrap();
        assert!(line.ends_with(&format!("}} {count}")), "{line}");
    }
}

#[test]
fn hostile_attributes_leave_the_text_readable() {
    let attributes = [("team-name", "a"), ("1st", "b"), ("x.y", "c"), ("x_y", "d\"\n{}")];
    let resource = attributes.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let of = TelemetrySettings { resource: resource.into(), ..settings(None, Some("127.0.0.1:0")) };
    let (telemetry, _) = begin(of);
    let text = String::from_utf8(scrape(&telemetry, "*/*").1).unwrap();
    let line = text.lines().find(|line| line.starts_with("target_info")).unwrap();
    assert_eq!(line, "target_info{team_name=\"a\",_1st=\"b\",x_y=\"c;d\\\"\\n{}\"} 1");
}

#[test]
fn a_lost_worker_works_no_more() {
    let (telemetry, _) = begin(settings(None, Some("127.0.0.1:0")));
    let mut teller = telemetry.teller();
    teller.joined(&[(1, None), (2, None)]);
    teller.round(loaded(), 1);
    teller.load_started();
    teller.count(1, &snapshot(0, 1, 0));
    teller.count(2, &snapshot(0, 1, 0));
    teller.lost(2);
    teller.count(1, &snapshot(1, 1, 0));
    teller.tick(PlannedLoad::Users(1));
    let text = loop {
        let text = String::from_utf8(scrape(&telemetry, "*/*").1).unwrap();
        if text.contains("worker_requests_total{loadgen_worker=\"1\"} 2") {
            break text;
        }
    };
    assert!(
        text.lines().any(|line| line.starts_with("loadgen_workers{") && line.ends_with(" 1.0")),
        "{text}"
    );
}

#[test]
fn an_idle_client_keeps_prometheus_out_only_for_a_while() {
    let (telemetry, _) = begin(settings(None, Some("127.0.0.1:0")));
    let address = telemetry.url().unwrap().strip_prefix("http://").unwrap();
    let address = address.strip_suffix("/metrics").unwrap();
    let idle: Vec<TcpStream> =
        (0..Telemetry::CONNECTIONS).map(|_| TcpStream::connect(address).unwrap()).collect();
    for mut stream in &idle {
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    }
    assert!(scrape(&telemetry, "*/*").0.starts_with("HTTP/1.0 200"));
}

#[test]
fn prometheus_gets_the_metrics_in_the_format_that_it_prefers() {
    let (telemetry, _) = begin(settings(None, Some("127.0.0.1:0")));
    let mut teller = telemetry.teller();
    teller.round(loaded(), 2);
    teller.load_started();
    teller.count(0, &snapshot(0, 5, 2));
    teller.joined(&[(0, Some("host-a".to_owned()))]);
    teller.tick(PlannedLoad::Rate(12.5));
    let open = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4";
    let body = loop {
        let (head, body) = scrape(&telemetry, open);
        assert!(
            head.contains("content-type: application/openmetrics-text; version=1.0.0"),
            "{head}"
        );
        let body = String::from_utf8(body).unwrap();
        if body.contains(
            "loadgen_worker_requests_total{loadgen_worker=\"0\",loadgen_worker_host=\"host-a\"} 7",
        ) {
            break body;
        }
    };
    // The many buckets are alike.
    let shown = body.lines().filter(|line| {
        !line.contains("_bucket{") || line.contains("\"0.001\"") || line.contains("+Inf")
    });
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"));
    let proto = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
    let (head, body) = scrape(&telemetry, &format!("{proto};q=0.6,{open}"));
    assert!(head.contains(&proto.replace(';', "; ")), "{head}");
    assert!(body.windows(24).any(|at| at == b"http_client_request_dura"));
    let (head, _) = scrape(&telemetry, &format!("{proto};q=0.1,{open}"));
    assert!(head.contains("openmetrics"), "{head}");
    for accept in ["*/*", "text/html", "application/vnd.google.protobuf", ";q=x,,"] {
        let (head, body) = scrape(&telemetry, accept);
        assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
        assert!(String::from_utf8(body).unwrap().contains("http_client_request_duration_seconds"));
    }
}

#[test]
fn the_end_waits_for_prometheus() {
    let (mut telemetry, _) = begin(settings(None, Some("127.0.0.1:0")));
    assert_eq!(telemetry.linger(false), Some(Duration::from_secs(65)));
    assert_eq!(telemetry.linger(true), None, "nobody asks");
    scrape(&telemetry, "*/*");
    thread::sleep(Duration::from_millis(100));
    scrape(&telemetry, "*/*");
    let longest = telemetry.linger(true).unwrap();
    assert!((Duration::from_millis(1_150)..Duration::from_secs(60)).contains(&longest));
    end(&mut telemetry);
    assert!(!telemetry.wait_for_prometheus(Duration::from_millis(50), || false));
    assert!(!telemetry.wait_for_prometheus(Duration::from_secs(600), || true));
    scrape(&telemetry, "*/*");
    assert!(telemetry.wait_for_prometheus(Duration::ZERO, || false));
    assert_eq!(telemetry.linger(false), None);
    let (without, _) = begin(settings(None, None));
    assert_eq!(without.linger(false), None);
}
