//! `loadgen capacity` through the real binary: against servers whose capacity is known
//! by arithmetic, and against a real target.

use std::fs;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::Counting;
use crate::common::machine;
use crate::common::processes::{assert_gone, signal, tree};
use crate::common::program::{Finished, Project, shape};
use axum::Router;
use axum::routing::get;
use rustix::process::Signal;
use serde_json::Value;
use tokio::net::TcpListener;

/// A server that serves one request at a time, for about 3 ms each. Its capacity is one over the
/// mean of the times that it measures itself.
struct Serial {
    url: String,
    served: Arc<Mutex<Vec<Duration>>>,
}

impl Serial {
    async fn start() -> Self {
        let served = Arc::new(Mutex::new(Vec::new()));
        let (turn, times) = (Arc::new(tokio::sync::Mutex::new(())), served.clone());
        let answer = move || {
            let (turn, times) = (turn.clone(), times.clone());
            async move {
                let _mine = turn.lock().await;
                let began = Instant::now();
                tokio::time::sleep(Duration::from_millis(2)).await;
                times.lock().unwrap().push(began.elapsed());
            }
        };
        let app = Router::new().route("/", get(answer));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, served }
    }

    fn carries_per_s(&self) -> f64 {
        let served = self.served.lock().unwrap();
        served.len() as f64 / served.iter().sum::<Duration>().as_secs_f64()
    }
}

const STEP: &str = "[[step]]\nname = \"serial\"\nget = \"/\"\n";

fn capacity(project: &Project, url: &str, arguments: &[&str]) -> Finished {
    let fixed = ["capacity", "--scenario=mine.toml", "--url", url, "--warmup=200ms", "--out=run"];
    project.run(&[&fixed, arguments].concat())
}

fn number(value: &Value, pointer: &str) -> f64 {
    value.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer}: {value}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_serial_server_carries_one_request_per_service_time() {
    let _alone = machine::alone().await;
    let server = Serial::start().await;
    let project = Project::real().file("mine.toml", STEP);
    let arguments = ["--rounds=2", "--duration=1s", "--precision=10", "--format=json"];
    let finished = tokio::task::block_in_place(|| capacity(&project, &server.url, &arguments));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    insta::assert_snapshot!(shape(&document, ""));
    let target = &document["targets"][0];
    assert_eq!(target["capacity"]["bound"], "found", "{}", finished.said());
    let (found, carries) = (number(target, "/capacity/rate_per_s"), server.carries_per_s());
    assert!((carries / 1.5..carries * 1.5).contains(&found), "{found}, not {carries}");
    let [low, high] = [0, 1].map(|i| number(target, &format!("/capacity/confidence_95_per_s/{i}")));
    assert!(low <= found && found <= high);
    for round in target["rounds"].as_array().unwrap() {
        let (passed, failed) = (number(round, "/passed_per_s"), number(round, "/failed_per_s"));
        assert!(passed < failed && failed <= passed * 1.1001, "{round}");
    }
    let trials = target["trials"].as_array().unwrap();
    let points = target["curve"].as_array().unwrap();
    let sum: u64 = points.iter().map(|point| point["trials"].as_u64().unwrap()).sum();
    assert_eq!(sum, trials.len() as u64, "the curve has all trials");
    for trial in trials.iter().filter(|trial| trial["passed"] == false) {
        assert!(!trial["reasons"].as_array().unwrap().is_empty(), "{trial}");
    }
    assert!(number(target, "/knee/rate_per_s") <= found * 1.5);
    let saved: Value =
        serde_json::from_slice(&fs::read(project.path("run/capacity.json")).unwrap()).unwrap();
    assert_eq!(saved, document);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_capacity_is_found_if_no_rate_passes() {
    let _beside = machine::beside().await;
    let server = Serial::start().await;
    let thresholds = "[thresholds]\nmax = \"< 1ms\"\n";
    let project = Project::real().file("mine.toml", &format!("{STEP}{thresholds}"));
    let arguments = ["--rounds=1", "--duration=300ms"];
    let finished = tokio::task::block_in_place(|| capacity(&project, &server.url, &arguments));
    assert_eq!(finished.code, Some(3), "{}", finished.said());
    assert!(
        finished.stdout.contains("passed at no rate in 1 of 1 searches"),
        "{}",
        finished.stdout
    );
    assert!(finished.stdout.contains("max < 1ms: measured"), "{}", finished.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_keeps_the_finished_trials() {
    let _beside = machine::beside().await;
    let server = Counting::start().await;
    let project = Project::real().file("mine.toml", STEP);
    let arguments = ["capacity", "--scenario=mine.toml", "--url", &server.url, "--workers=2"];
    let mut command = project
        .command(&[&arguments[..], &["--duration=1s", "--format=json", "--out=run"]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    // The first trial has 140 requests that count, after as many in the
    // warm-up; the second trial has twice as many.
    while server.requests() < 500 {
        assert!(Instant::now() < deadline, "the second trial has not begun");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let pids = tree(child.id());
    signal(child.id(), Signal::TERM);
    let output = tokio::task::block_in_place(|| child.wait_with_output().unwrap());
    let finished = Finished::of(output, &project.path(""));
    assert_eq!(finished.code, Some(130), "{}", finished.said());
    let document = finished.json();
    assert_eq!(document["interrupted"], true);
    let target = &document["targets"][0];
    assert_eq!(target["capacity"]["bound"], "unknown");
    assert_eq!(target["trials"][0]["passed"], true, "{target}");
    assert!(project.path("run/capacity.json").is_file());
    assert_gone(&pids, Duration::from_secs(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_search_leaves_its_finished_rounds() {
    let _beside = machine::beside().await;
    let server = Serial::start().await;
    let project = Project::real().file("mine.toml", STEP);
    let arguments = ["capacity", "--scenario=mine.toml", "--url", &server.url, "--rounds=9"];
    let short = ["--warmup=100ms", "--duration=300ms", "--precision=30", "--out=run"];
    let mut child = project.command(&[&arguments[..], &short].concat()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(120);
    while !project.path("run/capacity.json").exists() {
        assert!(Instant::now() < deadline, "the first round has no end");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let shown = tokio::task::block_in_place(|| project.run(&["report", "run", "--format=json"]));
    assert_eq!(shown.code, Some(0), "{}", shown.said());
    let document = shown.json();
    assert_eq!(document["interrupted"], true);
    assert!(!document["targets"][0]["rounds"].as_array().unwrap().is_empty(), "{document}");
}

#[test]
fn a_target_is_restarted_after_a_rate_that_it_did_not_carry() {
    let _beside = machine::beside_now();
    let project = Project::real();
    let arguments = ["capacity", "-s=direct", "-t=sanic", "--rounds=1", "--precision=30"];
    let short = ["--warmup=300ms", "--duration=500ms", "--format=json", "--out=run"];
    let finished = project.run(&[&arguments[..], &short[..]].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let target = &finished.json()["targets"][0];
    assert!(number(target, "/capacity/rate_per_s") > 0.0, "{target}");
    assert!(number(target, "/knee/target_cpu_us_per_request") > 0.0, "{target}");
    assert!(target["server"]["packages"].as_object().unwrap().len() > 2);
    let failed =
        target["trials"].as_array().unwrap().iter().filter(|t| t["passed"] == false).count();
    for start in 2..=failed + 1 {
        assert!(project.path(&format!("run/sanic-1-start{start}.log")).is_file(), "start {start}");
    }
}

#[test]
fn a_precision_of_zero_is_refused() {
    let finished = Project::real().run(&["capacity", "-s=direct", "--precision=0"]);
    insta::assert_snapshot!(finished.said(), @r#"
    exit code 2
    error: invalid value '0' for '--precision <PERCENT>': expected a percentage from 0.5 to 50

    For more information, try '--help'.
    "#);
}
