//! Thresholds on counters, and `--fail-fast`: a threshold that has failed ends the run in order.

use std::time::{Duration, Instant};

use crate::common::Counting;
use crate::common::program::{Finished, Project};
use serde_json::{Value, json};

/// A step that sends two items with each request, which the server counts.
const ITEMS: &str = "[[step]]\nname = \"items\"\npost = \"/items\"\nexpect = { status = 201 }\n\
                     body = { repeat = 2, json = 1 }\ncounters = { items = \"/inserted\" }\n";

async fn run(load: &str, thresholds: &str, arguments: &[&str]) -> Finished {
    let server = Counting::start().await;
    let scenario = format!("load = {{ {load} }}\n{ITEMS}[thresholds]\n{thresholds}\n");
    let project = Project::real().file("mine.toml", &scenario);
    let fixed = ["-s=mine.toml", "--url", &server.url, "--format=json", "--warmup=0s"];
    tokio::task::block_in_place(|| project.run(&[&fixed, arguments].concat()))
}

#[tokio::test(flavor = "multi_thread")]
async fn counters_are_judged_as_sums_and_rates() {
    let load = "users = 2, iterations = 100";
    for (condition, measured, code) in [
        (">= 200", Some(200.0), 0),
        (">= 201", Some(200.0), 3),
        ("> 0.1/s", None, 0),
        ("< 0.1/s", None, 3),
    ] {
        let finished = run(load, &format!("\"counter.items\" = \"{condition}\""), &[]).await;
        assert_eq!(finished.code, Some(code), "{condition}: {}", finished.said());
        let threshold = &finished.json()["thresholds"][0];
        assert_eq!(threshold["threshold"], format!("counter.items {condition}"));
        let value = threshold["measured"].as_f64().unwrap();
        assert!(measured.is_none_or(|measured| measured == value), "{condition}: {value}");
    }
}

async fn stops_early(arguments: &[&str]) -> Value {
    let began = Instant::now();
    let arguments = [&["--fail-fast", "--aa", "--seed=1"], arguments].concat();
    let finished = run("users = 2, duration = \"60s\"", "p50 = \"< 1us\"", &arguments).await;
    assert_eq!(finished.code, Some(3), "{}", finished.said());
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    finished.json()
}

fn assert_says_so(document: &Value) {
    let target = &document["targets"][0];
    let stopped = json!({ "target": target["name"], "round": 1, "threshold": "p50 < 1us" });
    assert_eq!(document["stopped_early"], stopped);
    assert_eq!(document["targets"].as_array().unwrap().len(), 1, "the second was not begun");
    assert_eq!(target["rounds"][0]["whole"], false);
    assert!(target["total"]["requests"].as_u64().unwrap() > 0, "what was measured is there");
    assert_eq!(document["comparison"], Value::Null, "half a round ranks nowhere");
    assert_eq!(document["thresholds"][0]["passed"], false);
    assert_eq!(document["interrupted"], false);
    let verdicts = document["verdicts"].as_array().unwrap();
    assert!(verdicts.iter().any(|verdict| verdict["kind"] == "stopped_early"), "{verdicts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_threshold_ends_the_run() {
    assert_says_so(&stops_early(&[]).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_threshold_ends_the_run_on_workers() {
    let document = stops_early(&["--workers=2"]).await;
    assert_says_so(&document);
    assert_eq!(document["degraded"], Value::Null, "nobody was lost by it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_is_judged_when_its_round_is_over() {
    let load = "users = 2, iterations = 100";
    let arguments = ["--fail-fast", "--rounds=3"];
    let finished = run(load, "rate = \"> 9_999_999\"", &arguments).await;
    assert_eq!(finished.code, Some(3), "{}", finished.said());
    let document = finished.json();
    assert_eq!(document["stopped_early"]["round"], 1);
    assert_eq!(document["targets"][0]["total"]["requests"], 100, "a whole round, and no other");
}

#[tokio::test(flavor = "multi_thread")]
async fn thresholds_that_hold_do_not_end_the_run() {
    let load = "users = 2, iterations = 100";
    let thresholds = "max = \"< 10s\"\n\"counter.items\" = \"> 500\"\nerror_rate = \"<= 0%\"";
    let finished = run(load, thresholds, &["--fail-fast", "--rounds=3"]).await;
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert_eq!(finished.json()["stopped_early"], Value::Null);
}

#[test]
fn fail_fast_without_thresholds_is_refused() {
    let said = Project::real().run(&["-s=direct", "--fail-fast"]).said();
    insta::assert_snapshot!(said, @r#"
    exit code 2
    no_thresholds

      × --fail-fast: scenario "direct" has no thresholds
      help: add [thresholds] to the scenario: see docs/reference/scenario-file.md
    "#);
}
