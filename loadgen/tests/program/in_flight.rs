//! Requests that are in flight when a round ends: their place in the report, and
//! their effect on thresholds and comparisons.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::common::program::{Finished, Project};
use crate::common::{Counting, answering};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

const STEP: &str = "[[step]]\nname = \"hello\"\nget = \"/\"\n";

fn run(project: &Project, arguments: &[&str]) -> Finished {
    let fixed = ["-s=mine.toml", "--no-calibrate", "--format=json"];
    tokio::task::block_in_place(|| project.run(&[&fixed, arguments].concat()))
}

/// Starts a server that answers every tenth request only after `hangs`. The server answers the
/// first request, which is the verification's, at once.
async fn hanging(hangs: Duration) -> String {
    let seen = Arc::new(AtomicU64::new(0));
    let address = answering(async move || {
        if seen.fetch_add(1, Ordering::SeqCst) % 10 == 9 {
            tokio::time::sleep(hangs).await;
        }
        StatusCode::OK.into_response()
    });
    format!("--url=http://{}", address.await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_one_request_in_ten_fails_a_bound_on_errors() {
    let url = hanging(Duration::from_secs(60)).await;
    let thresholds = "[thresholds]\nerror_rate = \"< 1%\"\np95 = \"< 10s\"\np50 = \"< 10s\"\n";
    let project = Project::real().file("mine.toml", &format!("{STEP}{thresholds}"));
    for workers in [&[][..], &["--workers=2"]] {
        let load = ["--rate=200", "--users=500", "--duration=2s", "--warmup=0s", "--drain=300ms"];
        let finished = run(&project, &[&load[..], &[&url], workers].concat());
        assert_eq!(finished.code, Some(3), "{}", finished.said());
        let document = finished.json();
        let [errors, p95, p50] = [0, 1, 2].map(|n| document["thresholds"][n].clone());
        assert_eq!((&errors["measured"], &errors["passed"]), (&0.0.into(), &false.into()));
        assert_eq!(errors["failed_by"], "in_flight", "{errors}");
        let worst = errors["worst_case"].as_f64().unwrap();
        let total = &document["targets"][0]["total"];
        let [unanswered, cancelled, requests] =
            ["unanswered", "cancelled", "requests"].map(|key| total[key].as_f64().unwrap());
        assert!(unanswered >= 39.0, "one in ten of 400: {total}");
        assert!((worst - unanswered / (requests + cancelled)).abs() < 1e-9, "{worst} {total}");
        assert_eq!((&p95["passed"], &p95["failed_by"]), (&false.into(), &"in_flight".into()));
        assert_eq!(p50["passed"], true, "half of all were answered at once: {p50}");
        assert_eq!(document["load"]["drain_s"], 0.3);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_longer_drain_waits_for_slow_answers() {
    let url = hanging(Duration::from_millis(1_500)).await;
    let text =
        format!("load = {{ drain = \"100ms\" }}\n{STEP}[thresholds]\nerror_rate = \"< 1%\"\n");
    let project = Project::real().file("mine.toml", &text);
    let load = ["--rate=100", "--duration=1s", "--warmup=0s", &url];
    let short = run(&project, &load);
    assert_eq!(short.code, Some(3), "{}", short.said());
    let long = run(&project, &[&load[..], &["--drain=5s"]].concat());
    assert_eq!(long.code, Some(0), "{}", long.said());
    let total = &long.json()["targets"][0]["total"];
    assert_eq!((&total["unanswered"], &total["answered_late"]), (&0.into(), &total["cancelled"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn prompt_failures_after_the_end_are_not_unanswered() {
    let seen = Arc::new(AtomicU64::new(0));
    let address = answering(async move || match seen.fetch_add(1, Ordering::SeqCst) {
        0 => StatusCode::OK.into_response(),
        _ => (StatusCode::FOUND, [(header::LOCATION, "/")]).into_response(),
    });
    let url = format!("--url=http://{}", address.await);
    let text = format!("load = {{ users = 20 }}\nhttp = {{ redirects = 5 }}\n{STEP}");
    let project = Project::real().file("mine.toml", &text);
    let finished = run(&project, &[&url, "--duration=1100ms", "--warmup=0s"]);
    assert_eq!(finished.code, Some(1), "nothing is as expected: {}", finished.said());
    let document = finished.json();
    assert_eq!(document["targets"][0]["total"]["unanswered"], 0);
    let kinds: Vec<&str> = document["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|verdict| verdict["kind"].as_str())
        .collect();
    assert!(!kinds.contains(&"unanswered") && !kinds.contains(&"went_silent"), "{kinds:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_requests_in_flight_do_not_prevent_a_comparison() {
    let (one, other) = (Counting::start().await, Counting::start().await);
    let project =
        Project::real().file("mine.toml", "[[step]]\nname = \"slow\"\nget = \"/slow/50\"\n");
    let url = format!("--url=a={},b={}", one.url, other.url);
    // One request in a hundred may be unanswered. At this rate and duration, that is the requests
    // of 80 ms, and other tests may hold up a server for 80 ms.
    let finished = run(&project, &[&url, "--rate=100", "--duration=8s", "--rounds=1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    assert_eq!(document["comparison"]["lacking"], serde_json::json!({}));
    let pair = &document["comparison"]["pairs"][0];
    assert!(pair["ratio"].is_f64(), "{pair}");
}
