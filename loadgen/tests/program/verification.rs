//! What a target must answer before its rounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::common::Counting;
use crate::common::program::{Finished, Project};

/// Serves `GET /`, with 500 for requests whose number, counted from 1, `fails` accepts. Returns the
/// URL of the server.
async fn failing(fails: impl Fn(u64) -> bool + Clone + Send + Sync + 'static) -> String {
    let served = Arc::new(AtomicU64::new(0));
    let answer = move || {
        let number = served.fetch_add(1, Ordering::SeqCst) + 1;
        let status = if fails(number) { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::OK };
        async move { status }
    };
    let app = Router::new().route("/", get(answer));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    url
}

fn run(steps: &str, url: &str, rounds: &str) -> Finished {
    let scenario = format!("load = {{ users = 1, iterations = 5 }}\n{steps}");
    let project = Project::bare().file("mine.toml", &scenario);
    let fixed = ["-s=mine.toml", "--url", url, "--warmup=0s", "--no-calibrate", "--json"];
    tokio::task::block_in_place(|| project.run(&[&fixed[..], &[rounds]].concat()))
}

fn errors(finished: &Finished) -> Vec<u64> {
    let document = finished.json();
    let rounds = document["targets"][0]["rounds"].as_array().unwrap();
    rounds.iter().map(|round: &Value| round["total"]["errors"].as_u64().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_verification_makes_three_attempts() {
    let step = "[[step]]\nget = \"/\"\n";
    let finished = run(step, &failing(|number| number < 3).await, "-R1");
    assert_eq!((finished.code, errors(&finished)), (Some(0), vec![0]), "{}", finished.said());
    let finished = run(step, &failing(|number| number < 4).await, "-R1");
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    assert!(finished.stderr.contains("does not respond as the scenario expects"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_goes_wrong_is_measured() {
    // The first round has one request for the verification, and five that count.
    let finished = run("[[step]]\nget = \"/\"\n", &failing(|number| number > 6).await, "-R2");
    assert_eq!(errors(&finished), [0, 5], "{}", finished.said());
}

#[test]
fn a_server_that_is_gone_ends_the_round() {
    let begun = Instant::now();
    let kinds = kinds_of_a_server_that_ends("-d60s");
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    assert!(!kinds.iter().any(|kind| kind == "generator_bound"), "{kinds:?}");
}

#[test]
fn a_server_that_is_gone_at_the_end_of_a_round_fails_the_run() {
    kinds_of_a_server_that_ends("-d4s");
}

/// Runs for this time at a server that soon ends, and returns the kinds of the verdicts.
fn kinds_of_a_server_that_ends(duration: &str) -> Vec<String> {
    let runtime = Runtime::new().unwrap();
    let answered = Arc::new(AtomicU64::new(0));
    let count = answered.clone();
    let answer = move || async move { count.fetch_add(1, Ordering::SeqCst).to_string() };
    let app = Router::new().route("/", get(answer));
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    runtime.spawn(async move { axum::serve(listener, app).await.unwrap() });
    let killer = std::thread::spawn(move || {
        while answered.load(Ordering::SeqCst) < 20 {
            std::thread::sleep(Duration::from_millis(10));
        }
        // Ends the server with all of its connections.
        runtime.shutdown_background();
    });
    let project = Project::bare();
    let arguments = [url.as_str(), "-u2", duration, "--warmup=0s", "--no-calibrate", "--json"];
    let finished = project.run(&arguments);
    killer.join().unwrap();
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    assert!(finished.stderr.contains("is gone"), "{}", finished.stderr);
    let document = finished.json();
    let verdicts = document["verdicts"].as_array().unwrap().iter();
    let kinds: Vec<String> = verdicts.map(|it| it["kind"].as_str().unwrap().to_owned()).collect();
    assert!(kinds.iter().any(|kind| kind == "target_ended"), "{kinds:?}");
    kinds
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_may_be_left_out_of_the_verification() {
    let server = Counting::start().await;
    let steps = "on_error = \"continue\"\n[[step]]\nget = \"/\"\n\
                 [[step]]\nget = \"/status/404\"\nverify = false\ncapture = { id = { json = \"/id\" } }\n\
                 [[step]]\nname = \"next\"\nget = \"/status/{{ id }}\"\n";
    let finished = run(steps, &server.url, "-R1");
    // Only the first step is verified; the last one lacks its value, and is never sent.
    assert_eq!((errors(&finished), server.requests()), (vec![10], 11), "{}", finished.said());
}
