//! Tests records from strangers: a terminal that shows
//! such a record must obey no string in the record.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use loadgen::measure::ErrorKind;
use loadgen::record::{
    Calibration, CapacityRecord, Degraded, LimitsRecord, LossRecord, NoiseFloor, RowsRecord,
    RunRecord, StageRecord, StoppedEarly, Verdict, VerdictKind, WorkerRecord,
};
use loadgen::text::is_obeyed;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::capacity;
use super::records::{record, target};

/// Text that sets a title and colours, clears the screen,
/// overwrites a line, reorders letters, and contains HTML tags.
const BAD: &str = "MARK\u{1b}]0;t\u{7}\u{9b}31m\u{7f}\u{202e}\u{2066}\r\u{1b}[2J</script><b>z";

/// Appends the JSON pointers of all values of a document to `out`.
fn places(value: &Value, at: &str, out: &mut Vec<String>) {
    let below = |key: &str| format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::Object(map) if !map.is_empty() => {
            map.iter().for_each(|(key, inner)| places(inner, &below(key), out));
        }
        Value::Array(values) if !values.is_empty() => {
            values
                .iter()
                .enumerate()
                .for_each(|(i, inner)| places(inner, &below(&i.to_string()), out));
        }
        _ => {}
    }
    out.push(at.to_owned());
}

/// Returns replacements for `value` that hold [`BAD`]: a string for a string or null,
/// a filled array or object for an empty one, and any other object with one more key.
fn spoiled(value: &Value) -> Vec<Value> {
    match value {
        Value::String(_) | Value::Null => vec![json!(BAD)],
        Value::Array(values) if values.is_empty() => vec![json!([BAD])],
        Value::Object(map) if map.is_empty() => vec![json!({ BAD: BAD }), json!({ BAD: 1 })],
        Value::Object(map) => {
            let with = |value: &Value| {
                let mut map = map.clone();
                map.insert(BAD.to_owned(), value.clone());
                Value::Object(map)
            };
            map.values().next().map(with).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the record with [`BAD`] in all places that accept a string, the number
/// of these strings, and one document for each kind of place that accepts none.
fn spoil<T: Serialize + DeserializeOwned>(record: &T) -> (Value, usize, Vec<Value>) {
    let mut all = serde_json::to_value(record).unwrap();
    let (mut spoilt, mut refused) = (0, BTreeMap::new());
    let mut found = Vec::new();
    places(&all, "", &mut found);
    for place in found {
        // The schema distinguishes loadgen's records from other documents.
        if place == "/schema" || place.is_empty() {
            continue;
        }
        for bad in spoiled(all.pointer(&place).unwrap()) {
            let mut one = all.clone();
            *one.pointer_mut(&place).unwrap() = bad;
            let marks = |value: &Value| value.to_string().matches("MARK").count();
            match serde_json::from_value::<T>(one.clone())
                .map(|read| serde_json::to_value(read).unwrap())
            {
                // A key that no field reads is lost.
                Ok(read) if marks(&read) > marks(&all) => {
                    all = one;
                    spoilt += 1;
                }
                Ok(_) => {}
                Err(_) => {
                    let kind: Vec<&str> =
                        place.split('/').filter(|key| key.parse::<u32>().is_err()).collect();
                    refused.insert(kind.join("/"), one);
                }
            }
        }
    }
    (all, spoilt, refused.into_values().collect())
}

fn full() -> RunRecord {
    let mut record = record(vec![
        target("sanic", &[1_000.0, 1_010.0, 990.0, 1_005.0, 995.0]),
        target("flask", &[500.0, 505.0, 495.0, 502.0, 498.0]),
    ]);
    record.load.stages = vec![StageRecord { to: 5.0, over_s: 1.0 }];
    record.environment.podman = Some("podman".to_owned());
    record.environment.cpus = [("target".to_owned(), vec![0])].into();
    let limits = LimitsRecord { cpus: Some(1.0), memory_bytes: None };
    record.environment.limits = [("sanic".to_owned(), limits)].into();
    record.calibration = Some(Calibration { rate_per_s: 9.0, earlier: true, own_steps: true });
    record.noise_floor = Some(NoiseFloor {
        percent: 1.0,
        scenario: String::new(),
        target: String::new(),
        started: String::new(),
    });
    record.verdicts = vec![Verdict {
        kind: VerdictKind::Errors,
        target: None,
        message: String::new(),
        advice: String::new(),
    }];
    record.thresholds = vec![loadgen::record::ThresholdRecord {
        target: "sanic".to_owned(),
        threshold: "p99 < 1ms".to_owned(),
        measured: Some(2_000.0),
        passed: false,
        failed_by: None,
        worst_case: None,
        failed_late: 0,
        unanswered: 0,
    }];
    record.degraded = Some(Degraded {
        reason: String::new(),
        lost: vec![LossRecord {
            worker: 1,
            host: Some(String::new()),
            target: String::new(),
            round: 1,
            second: None,
            users: 1,
            why: String::new(),
            taken_over_s: None,
            measured_again: false,
        }],
    });
    record.stopped_early =
        Some(StoppedEarly { target: String::new(), round: 1, threshold: String::new() });
    for target in &mut record.targets {
        target.server = super::records::server("f", "s", &["d"]);
        target.steps[0].error_examples = [(ErrorKind::Status, "got 500".to_owned())].into();
        target.steps[0].errors = 1;
        target.steps[0].errors_by_kind = [(ErrorKind::Status, 1)].into();
        target.counters = [("items".to_owned(), 3)].into();
        target.rounds[0].rows_used = [("r".to_owned(), RowsRecord { used: 1, of: 2 })].into();
        target.workers = vec![WorkerRecord {
            worker: 0,
            host: None,
            cpus: Some(1),
            users: 1,
            rtt_ms: Some(1.0),
            requests: 1,
            errors: Some(0),
            snapshots: 1,
            cpu_percent: None,
            lag_mean_ms: None,
            lag_max_ms: None,
            seconds: 1,
            late_seconds: 0,
            throttled_percent: None,
            cpu_wait_percent: None,
            cpus_busy_percent: None,
        }];
        target.proofs = serde_json::from_value(json!([{
            "round": 1, "backend": "redis", "question": "GET x", "counter": "items", "counted": 1,
            "uncounted": 0, "held": 2, "unknown": 0, "agrees": false,
        }]))
        .unwrap();
    }
    record
}

/// Returns the text of stdout and stderr, after asserting
/// that a terminal obeys none of its characters.
#[track_caller]
fn harmless(output: &Output, what: &str) -> String {
    let text = String::from_utf8([&output.stdout[..], &output.stderr].concat()).unwrap();
    let obeyed: BTreeSet<char> =
        text.chars().filter(|c| is_obeyed(*c) && !matches!(c, '\n' | '\t')).collect();
    assert!(obeyed.is_empty(), "{what}: {obeyed:?}\n{}", text.escape_debug());
    text
}

fn loadgen(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadgen"));
    command.args(arguments).current_dir(folder).env("NO_COLOR", "1").output().unwrap()
}

const FORMATS: [&str; 5] = ["table", "json", "csv", "markdown", "svg"];

fn shown_without_harm<T: Serialize + DeserializeOwned>(record: &T, file: &str, fewest: usize) {
    let (spoilt, strings, refused) = spoil(record);
    assert!(strings >= fewest && refused.len() > 3, "{strings} strings, {} refused", refused.len());
    let folder = tempfile::tempdir().unwrap();
    for (name, document) in [("foreign", &spoilt), ("ours", &serde_json::to_value(record).unwrap())]
    {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join(file), document.to_string()).unwrap();
    }
    for format in FORMATS {
        let format = format!("--format={format}");
        let shown = loadgen(folder.path(), &["report", "foreign", &format]);
        let text = harmless(&shown, &format);
        assert_eq!(shown.status.code(), Some(0), "{text}");
        assert!(text.contains("MARK"), "{text}");
        if format.ends_with("json") {
            let read: Value = serde_json::from_slice(&shown.stdout).unwrap();
            assert_eq!(read["scenario"], BAD, "nothing is lost");
        }
        for pair in [["ours", "foreign"], ["foreign", "ours"], ["foreign", "foreign/"]] {
            let gate = "--fail-on-regression=5";
            let compared =
                loadgen(folder.path(), &[&["compare"], &pair[..], &[&format, gate]].concat());
            harmless(&compared, &format);
        }
    }
    let page = fs::read_to_string(folder.path().join("foreign/report.html")).unwrap();
    assert!(page.contains("MARK") && !page.contains("<b>z"), "its own tags are escaped");
    for (i, document) in refused.iter().enumerate() {
        let name = format!("refused-{i}.json");
        fs::write(folder.path().join(&name), document.to_string()).unwrap();
        let shown = loadgen(folder.path(), &["report", &name]);
        let text = harmless(&shown, &name);
        assert_eq!(shown.status.code(), Some(2), "{text}");
    }
}

#[test]
fn no_string_of_a_run_controls_the_terminal() {
    shown_without_harm(&full(), "run.json", 100);
}

#[test]
fn no_string_of_a_search_controls_the_terminal() {
    let record: CapacityRecord = capacity::of_two();
    shown_without_harm(&record, "capacity.json", 50);
}
