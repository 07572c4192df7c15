//! Tests over real connections: `otlp` of messages with metrics, `spans` of those with spans, `prometheus` of what
//! Prometheus reads.

mod otlp;
mod prometheus;
mod spans;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::told::LoadedStep;
use super::{Loaded, OtlpSettings, Telemetry, TelemetrySettings};
use crate::measure::{Counts, ErrorKind, Interval, Phase, Snapshot};

pub(super) fn loaded() -> Loaded {
    let step = |name: &str, method: Option<&str>| LoadedStep {
        name: name.to_owned(),
        method: method.map(str::to_owned),
        counters: Vec::new(),
    };
    Loaded {
        group: None,
        scenario: "shop".to_owned(),
        target: "sanic \"a\"".to_owned(),
        address: Some("127.0.0.1".to_owned()),
        port: Some(8000),
        has_warmup: true,
        has_ramp_up: false,
        is_open: false,
        steps: vec![step("pay", Some("POST")), step("told", None)],
        flows: Vec::new(),
    }
}

/// Returns the results of one second, in which `answers` were 1 ms long, and some requests failed.
fn snapshot(number: u32, answers: u64, failed: u64) -> Snapshot {
    let mut counts = Counts::default();
    counts.answered.record_n(Duration::from_millis(1), answers);
    counts.failed.record_n(Duration::from_secs(1), failed);
    if failed > 0 {
        counts.errors.insert(ErrorKind::Timeout, failed);
    }
    let interval =
        Interval { phase: Phase::Hold, second: number, steps: vec![counts], ..Interval::default() };
    Snapshot::new(number, vec![interval])
}

fn settings(otlp: Option<OtlpSettings>, prometheus: Option<&str>) -> TelemetrySettings {
    let resource = vec![("service.name".to_owned(), "loadgen".to_owned())];
    let prometheus = prometheus.map(|address| address.parse().unwrap());
    TelemetrySettings { otlp, prometheus, resource }
}

fn collector_at(url: &str, more: &[(&str, &str)]) -> OtlpSettings {
    let value = |name: &str| more.iter().find(|(set, _)| *set == name).map(|(_, value)| *value);
    let variable = |name: &str| value(name).map(str::to_owned);
    OtlpSettings::read(Some(url), true, variable).unwrap().unwrap()
}

/// Notes that were shown to the user.
type Notes = Arc<Mutex<Vec<String>>>;

fn begin(settings: TelemetrySettings) -> (Telemetry, Notes) {
    let notes = Notes::default();
    let kept = notes.clone();
    let note = Arc::new(move |note: &str| kept.lock().unwrap().push(note.to_owned()));
    (Telemetry::begin(settings, note).unwrap(), notes)
}

fn end(telemetry: &mut Telemetry) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    telemetry.all_told();
    runtime.block_on(telemetry.all_sent());
}
