//! `--prometheus` and `--otlp`: what a real Prometheus knows of a run, and what collectors do to it.
//!
//! `LOADGEN_PROMETHEUS` names another Prometheus than that of the system, such as a newer one.

use std::collections::BTreeSet;
use std::env;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;
use serde_json::Value;
use tempfile::TempDir;
use tokio::task::block_in_place;
use url::form_urlencoded::byte_serialize;

use crate::common::processes::Started;
use crate::common::program::{Project, checkout};
use crate::common::{Counting, serve};

/// A Prometheus that asks loadgen for its metrics every two seconds. On a busy machine the thread that answers, which
/// has the lowest priority, may need most of that.
struct Prometheus {
    _process: Started,
    _folder: TempDir,
    address: SocketAddr,
    /// Port at which it expects loadgen.
    loadgen: u16,
    /// Whether it takes metrics by OTLP, and reads native histograms.
    is_new: bool,
}

/// Returns a port that is free now.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Prometheus {
    /// Starts it; `None`, with a word why, if there is none.
    fn start() -> Option<Self> {
        let program = env::var("LOADGEN_PROMETHEUS").unwrap_or_else(|_| "prometheus".to_owned());
        let Ok(version) = Command::new(&program).arg("--version").output() else {
            println!("skipped: there is no {program}; on Debian as root, `make setup` installs it");
            return None;
        };
        let said = String::from_utf8_lossy(&[version.stdout, version.stderr].concat()).into_owned();
        let numbers = said.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok());
        let version: Vec<u32> = numbers.take(2).collect();
        // Since then, a setting switches on native histograms.
        let is_new = version >= vec![3, 8];
        let (folder, port, loadgen) = (TempDir::new().unwrap(), free_port(), free_port());
        let native = if is_new { ", scrape_native_histograms: true" } else { "" };
        let text = format!(
            "global: {{scrape_interval: 2s, scrape_timeout: 2s{native}}}\nscrape_configs:\n\
            - {{job_name: scraped, static_configs: [{{targets: ['127.0.0.1:{loadgen}']}}]}}\n"
        );
        std::fs::write(folder.path().join("prometheus.yml"), text).unwrap();
        let mut command = Command::new(&program);
        command
            .arg("--config.file=prometheus.yml")
            .arg("--storage.tsdb.path=data")
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .args(is_new.then_some("--web.enable-otlp-receiver"))
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let process = Started::of(&mut command);
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let this = Self { _process: process, _folder: folder, address, loadgen, is_new };
        let began = Instant::now();
        while !this.ask("/-/ready").starts_with("HTTP/1.0 200") {
            assert!(began.elapsed() < Duration::from_secs(60), "Prometheus is not ready");
            thread::sleep(Duration::from_millis(50));
        }
        Some(this)
    }

    fn ask(&self, path: &str) -> String {
        let Ok(mut stream) = TcpStream::connect(self.address) else { return String::new() };
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut response = String::new();
        let request = format!("GET {path} HTTP/1.0\r\nhost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    /// Returns the values of a query, each with its labels.
    fn query(&self, text: &str) -> Vec<(Value, f64)> {
        let text: String = byte_serialize(text.as_bytes()).collect();
        let response = self.ask(&format!("/api/v1/query?query={text}"));
        let (_, body) = response.split_once("\r\n\r\n").unwrap();
        let answer: Value = serde_json::from_str(body).unwrap();
        assert_eq!(answer["status"], "success", "{text}: {answer}");
        let values = answer["data"]["result"].as_array().unwrap().iter();
        let value = |of: &Value| of["value"][1].as_str().unwrap().parse().unwrap();
        values.map(|of| (of["metric"].clone(), value(of))).collect()
    }

    /// Returns the only value of a query.
    fn value(&self, text: &str) -> f64 {
        match self.query(text).as_slice() {
            [(_, value)] => *value,
            values => panic!("{text}: {values:?}"),
        }
    }
}

const FIXED: [&str; 6] =
    ["run", "-s=direct", "--warmup=1s", "--no-calibrate", "--out=run", "--json"];

fn assert_near(value: f64, expected: f64, factor: f64, what: &str) {
    let ratio = value / expected;
    assert!((1.0 / factor..factor).contains(&ratio), "{what}: {value} instead of {expected}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_prometheus_knows_what_the_report_says() {
    let server = Counting::start().await;
    block_in_place(|| {
        let Some(prometheus) = Prometheus::start() else { return };
        let project = Project::real();
        let url = format!("--url=here={}", server.url);
        let scraped = format!("--prometheus=127.0.0.1:{}", prometheus.loadgen);
        let sent = format!("--otlp=http://{}/api/v1/otlp", prometheus.address);
        let mut words = [&FIXED[..], &[&url, &scraped, "--duration=12s", "--users=3"]].concat();
        if prometheus.is_new {
            words.push(&sent);
        } else {
            println!("skipped: OTLP and native histograms, which this Prometheus does not have");
        }
        let mut command = project.command(&words);
        let started = Started::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        // The dashboard shows something while the run goes on.
        let panels = panels();
        let mut empty: Vec<&String> = panels.iter().collect();
        let began = Instant::now();
        while !empty.is_empty() && began.elapsed() < Duration::from_secs(30) {
            empty.retain(|text| prometheus.query(text).is_empty());
            thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(empty, [""; 0], "panels without a value");
        let finished = crate::common::program::Finished::of(started.output(), &project.path(""));
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        let total = &finished.json()["targets"][0]["rounds"][0]["total"];
        let requests = total["requests"].as_f64().unwrap();
        let latency = |name: &str| total["latency_us"][name].as_f64().unwrap() / 1e6;
        let last = |name: &str, more: &str| {
            format!("last_over_time({name}{{loadgen_phase=\"hold\",error_type=\"\"{more}}}[10m])")
        };
        let duration = "http_client_request_duration_seconds";
        let (count, bucket) = (format!("{duration}_count"), format!("{duration}_bucket"));
        assert_eq!(prometheus.value(&last(&count, ",job=\"scraped\"")), requests);
        for (quantile, name) in [(0.5, "p50"), (0.99, "p99")] {
            let buckets = last(&bucket, ",job=\"scraped\"");
            let classic = prometheus.value(&format!("histogram_quantile({quantile}, {buckets})"));
            assert_near(classic, latency(name), 1.6, name);
            for job in ["scraped", "loadgen"].iter().filter(|_| prometheus.is_new) {
                let native = last(duration, &format!(",job=\"{job}\""));
                assert_eq!(prometheus.value(&format!("histogram_count({native})")), requests);
                let value = format!("histogram_quantile({quantile}, {native})");
                assert_near(prometheus.value(&value), latency(name), 1.011, name);
                let sum = prometheus.value(&format!("histogram_sum({native})"));
                assert_near(sum / requests, latency("mean"), 1.001, "mean");
            }
        }
        let info = prometheus.query("last_over_time(target_info[10m])");
        assert!(info.iter().all(|(labels, _)| labels["loadgen_run"] == "run"), "{info:?}");
        if prometheus.is_new {
            let record = &finished.json()["environment"]["telemetry"];
            assert_eq!(
                (&record["is_complete"], &record["messages"]),
                (&true.into(), &record["delivered"])
            );
            for gauge in ["loadgen_round", "loadgen_service_memory_usage_bytes"] {
                assert!(prometheus.query(gauge).is_empty(), "{gauge}: no round goes on");
            }
        }
    });
}

/// Returns the queries of the dashboard that have a value where one server answers all requests.
fn panels() -> Vec<String> {
    let text = std::fs::read_to_string(checkout().join("docs/dashboards/loadgen.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let queries = targets.map(|target| target["expr"].as_str().unwrap());
    let queries = queries.map(|text| {
        let text = text.replace("$target", ".*").replace("$phase", "hold|ramp_up");
        text.replace("$__rate_interval", "9s")
    });
    let is_elsewhere = |text: &String| {
        // Nothing fails, and the load is one of users.
        text.contains("loadgen_request_failures") || text.contains("loadgen_load_rate")
    };
    let queries: Vec<String> = queries.filter(|text| !is_elsewhere(text)).collect();
    assert!(queries.len() > 8, "{queries:?}");
    queries
}

/// Starts a server that answers each request with this status and closes the connection.
fn collector(status: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // Enough of the request; what is left resets the connection, which is no better.
            let _ = stream.read(&mut [0; 1 << 16]);
            let head = format!(
                "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 6\r\n\r\nbroken"
            );
            let _ = stream.write_all(head.as_bytes());
        }
    });
    address
}

/// Collector of OpenTelemetry that keeps the spans, and server that keeps the traces of which it is told.
#[derive(Clone, Default)]
struct Traces {
    /// Number of each trace and of the span in it.
    spans: Arc<Mutex<BTreeSet<(String, String)>>>,
    told: Arc<Mutex<BTreeSet<(String, String)>>>,
}

impl Traces {
    async fn serve(&self) -> SocketAddr {
        let app = Router::new()
            .route("/v1/metrics", post(|| async { "" }))
            .route("/v1/traces", post(Self::keep))
            .fallback(Self::take)
            .with_state(self.clone());
        serve(app).await
    }

    async fn keep(State(this): State<Self>, body: Bytes) -> &'static str {
        let message = ExportTraceServiceRequest::decode(&*body).unwrap();
        let spans = &message.resource_spans[0].scope_spans[0].spans;
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let spans = spans.iter().map(|span| (hex(&span.trace_id), hex(&span.span_id)));
        this.spans.lock().unwrap().extend(spans);
        ""
    }

    async fn take(State(this): State<Self>, headers: HeaderMap) -> &'static str {
        if let Some(told) = headers.get("traceparent") {
            let parts: Vec<&str> = told.to_str().unwrap().split('-').collect();
            assert_eq!((parts.len(), parts[0], parts[3]), (4, "00", "01"));
            this.told.lock().unwrap().insert((parts[1].to_owned(), parts[2].to_owned()));
        }
        r#"{"message": "Hello world"}"#
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_gets_the_span_of_each_request_of_whose_trace_the_server_was_told() {
    let traces = Traces::default();
    let address = traces.serve().await;
    block_in_place(|| {
        for more in [&["--workers=2"][..], &["--rate=200", "--duration=2s"]] {
            let project = Project::real();
            let (url, otlp) =
                (format!("--url=http://{address}"), format!("--otlp=http://{address}"));
            let words = [&FIXED[..], &[&url, &otlp, "--trace-one-in=20"], more].concat();
            let finished = project.run(&words);
            assert_eq!(finished.code, Some(0), "{}", finished.said());
            let told = std::mem::take(&mut *traces.told.lock().unwrap());
            let spans = std::mem::take(&mut *traces.spans.lock().unwrap());
            assert_eq!(told, spans, "{more:?}");
            let json = finished.json();
            let record = &json["environment"]["telemetry"]["spans"];
            assert_eq!(record["traced"], told.len());
            assert_eq!(record["delivered"], told.len());
            assert_eq!(json["load"]["trace_one_in"], 20);
            let slowest = record["slowest"].as_array().unwrap();
            assert!(!slowest.is_empty() && slowest.len() <= 3, "{slowest:?}");
            for slow in slowest {
                let trace = slow["trace_id"].as_str().unwrap();
                assert!(told.iter().any(|(told, _)| told == trace), "{slow}");
            }
            let shown = project.run(&["report", "run"]).stdout;
            let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
            let trace = slowest[0]["trace_id"].as_str().unwrap();
            assert!(shown.contains("slowest traced request: ") && shown.contains(trace), "{shown}");
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_collector_costs_a_verdict_and_nothing_else() {
    let server = Counting::start().await;
    block_in_place(|| {
        let project = Project::real();
        let (url, address) = (format!("--url={}", server.url), collector("500 Oh"));
        let otlp = format!("--otlp=http://user:secret@{address}?key=secret");
        let words = [&FIXED[..], &[&url, &otlp, "--duration=2s", "--users=2"]].concat();
        let finished = project.run(&words);
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        let said = format!("telemetry: cannot send metrics to http://{address}/v1/metrics: ");
        assert_eq!(finished.stderr.matches(&said).count(), 1, "{}", finished.stderr);
        let verdicts = finished.json()["verdicts"].to_string();
        assert!(verdicts.contains("telemetry_incomplete"), "{verdicts}");
        assert!(verdicts.contains("it did not receive all that was measured"), "{verdicts}");
        let record = &finished.json()["environment"]["telemetry"];
        assert_eq!((&record["delivered"], &record["is_complete"]), (&0.into(), &false.into()));
        for text in
            [finished.said(), std::fs::read_to_string(project.path("run/run.json")).unwrap()]
        {
            assert!(!text.contains("secret"), "{text}");
        }
    });
}

#[test]
fn what_cannot_be_followed_is_an_error_before_anything_starts() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let prometheus = format!("--prometheus={}", taken.local_addr().unwrap().port());
    let project = Project::real();
    let words = [&FIXED[..], &["--url=http://127.0.0.1:1"]].concat();
    let failed = |word: &str, variable: Option<(&str, &str)>| {
        let mut command = project.command(&[&words[..], &[word]].concat());
        command.envs(variable);
        let output = command.output().unwrap();
        assert!(!Path::new(&project.path("run")).exists());
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = failed(&prometheus, None);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.starts_with("cannot_serve_metrics") && said.contains("in use"), "{said}");
    for (word, variable, what) in [
        ("--otlp=localhost:4317", None, "--otlp: a collector has an http:// or https:// URL"),
        ("--otlp", Some(("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")), "but loadgen exports only http/"),
        (
            "--otlp",
            Some(("OTEL_EXPORTER_OTLP_CERTIFICATE", "absent.pem")),
            "names absent.pem: cannot read it",
        ),
    ] {
        let (code, said) = failed(word, variable);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.starts_with("bad_otlp_setting") && said.contains(what), "{said}");
    }
    let own = "[[step]]\nget = \"/\"\nheaders = { traceparent = \"mine\" }\n";
    std::fs::write(project.path("own.toml"), own).unwrap();
    let words = ["run", "-s=own.toml", "--url=http://127.0.0.1:1", "--otlp", "--trace-one-in=9"];
    let finished = project.run(&words);
    assert_eq!(finished.code, Some(2), "{}", finished.said());
    assert!(finished.stderr.contains("--trace-one-in has no effect"), "{}", finished.said());
    let (code, said) = failed("--prometheus=http://a", None);
    assert_eq!(code, Some(2), "{said}");
}
