//! The result document: its shape, and the agreement of its counts with the server's.

use crate::common::program::{Project, shape};
use crate::common::{Counting, silent, stalling};
use serde_json::Value;

/// Runs a scenario of these steps against `server` and returns the document. There is no warm-up,
/// so that only the verification, one request for each step, is not counted.
fn document(server: &Counting, scenario: &str, arguments: &[&str]) -> Value {
    let project = Project::real().file("mine.toml", scenario);
    let fixed = ["--scenario=mine.toml", "--url", &server.url, "--warmup=0s", "--format=json"];
    let finished = project.run(&[&fixed, arguments].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    finished.json()
}

fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{pointer}: {value}"))
}

/// Returns the number of all requests of a step in the document: finished ones, and
/// those that the end of the round cancelled.
fn planned(document: &Value, step: usize) -> u64 {
    let step = format!("/targets/0/steps/{step}");
    let of = |field: &str| number(document, &format!("{step}/{field}"));
    of("requests") + of("cancelled")
}

const STEP: &str = "[[step]]\nname = \"hello\"\nget = \"/\"\n";

async fn counts_agree(load: &str, arguments: &[&str]) -> Value {
    let server = Counting::start().await;
    let scenario = format!("{load}\n{STEP}");
    let document = tokio::task::block_in_place(|| document(&server, &scenario, arguments));
    assert_eq!(planned(&document, 0) + 1, server.requests(), "and one verification");
    document
}

#[tokio::test(flavor = "multi_thread")]
async fn iterations_are_counted_exactly_in_one_process() {
    let document = counts_agree("load = { users = 10, iterations = 2001 }", &[]).await;
    assert_eq!(number(&document, "/targets/0/steps/0/requests"), 2_001);
}

#[tokio::test(flavor = "multi_thread")]
async fn iterations_are_counted_exactly_with_one_worker() {
    let document = counts_agree("load = { users = 10, iterations = 2001 }", &["--workers=1"]).await;
    assert_eq!(number(&document, "/targets/0/steps/0/requests"), 2_001);
}

#[tokio::test(flavor = "multi_thread")]
async fn iterations_are_counted_exactly_with_four_workers() {
    let document = counts_agree("load = { users = 10, iterations = 2001 }", &["--workers=4"]).await;
    assert_eq!(number(&document, "/targets/0/steps/0/requests"), 2_001);
    let workers = document["targets"][0]["workers"].as_array().unwrap();
    let users: Vec<u64> = workers.iter().map(|worker| number(worker, "/users")).collect();
    assert_eq!(users, [3, 3, 2, 2], "shares sum to the whole");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timed_round_is_counted_exactly_in_one_process() {
    counts_agree("load = { users = 10, duration = \"2s\" }", &["--rounds=1"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timed_round_is_counted_exactly_with_one_worker() {
    counts_agree("load = { users = 10, duration = \"2s\" }", &["--workers=1"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timed_round_is_counted_exactly_with_four_workers() {
    counts_agree("load = { users = 10, duration = \"2s\" }", &["--workers=4"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_shape_of_the_document_does_not_change() {
    let server = Counting::start().await;
    let scenario = format!("load = {{ users = 4, iterations = 50 }}\n{STEP}");
    let document = tokio::task::block_in_place(|| document(&server, &scenario, &["--workers=2"]));
    // On a slow machine, a list of samples may be empty.
    let all = shape(&document, "");
    let shape = all.lines().map(|line| match line.contains(".samples.") {
        true => line.trim_end_matches("[]").to_owned(),
        false => line.to_owned(),
    });
    insta::assert_snapshot!(shape.collect::<Vec<_>>().join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_against_itself_gives_a_comparison() {
    let server = Counting::start().await;
    let scenario = format!("load = {{ users = 4, iterations = 500 }}\n{STEP}");
    let document = tokio::task::block_in_place(|| document(&server, &scenario, &["--aa"]));
    assert_eq!(server.requests(), 2 * 5 * 501, "two in each round, each with a verification");
    let names = [server.url.clone(), format!("{} (again)", server.url)];
    for (target, name) in document["targets"].as_array().unwrap().iter().zip(&names) {
        assert_eq!(target["name"], *name);
        assert_eq!(target["rounds"].as_array().unwrap().len(), 5);
        assert!(target["latency_over_rounds_us"]["p95"]["mean"].is_f64(), "{target}");
    }
    let comparison = &document["comparison"];
    assert!(comparison["noise_floor_percent"].as_f64().unwrap() > 0.0, "{comparison}");
    assert_eq!(number(comparison, "/pairs/0/rounds"), 5);
    insta::assert_snapshot!(shape(comparison, "comparison").replace(&server.url, "URL"));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_and_workers_give_the_same_document() {
    let server = Counting::start().await;
    let scenario = format!("load = {{ users = 4, iterations = 50 }}\n{STEP}");
    let shapes = ["", "--workers=2"].map(|workers| {
        let arguments: Vec<&str> = Some(workers).into_iter().filter(|w| !w.is_empty()).collect();
        let mut document = tokio::task::block_in_place(|| document(&server, &scenario, &arguments));
        document["targets"][0]["workers"] = Value::Null;
        (shape(&document, ""), number(&document, "/targets/0/steps/0/requests"))
    });
    assert_eq!(shapes[0], shapes[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_in_no_rate_and_no_latency() {
    let server = Counting::start().await;
    let scenario = "load = { users = 2, iterations = 100 }\n\
                    [[step]]\nname = \"good\"\nget = \"/\"\n\
                    [[step]]\nname = \"bad\"\nget = \"/flaky\"\nexpect = { status = 200 }\n";
    let document = tokio::task::block_in_place(|| document(&server, scenario, &[]));
    let bad = &document["targets"][0]["steps"][1];
    assert_eq!(number(bad, "/requests"), 100);
    assert_eq!(number(bad, "/errors"), 100);
    assert_eq!(number(bad, "/errors_by_kind/status"), 100);
    assert_eq!(bad["rate_per_s"], 0.0);
    assert_eq!(bad["latency_us"]["max"], Value::Null);
    assert!(number(bad, "/failed_us/max") > 0);
    assert_eq!(number(&document, "/targets/0/total/requests"), 200);
    assert_eq!(document["verdicts"][0]["kind"], "errors");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ramp_up_is_reported_separately() {
    let server = Counting::start().await;
    let scenario = format!("load = {{ users = 4, ramp_up = \"1s\", duration = \"1s\" }}\n{STEP}");
    let document = tokio::task::block_in_place(|| document(&server, &scenario, &[]));
    let ramp = number(&document, "/targets/0/rounds/0/ramp_up/0/requests");
    assert!(ramp > 0);
    assert_eq!(planned(&document, 0) + ramp + 1, server.requests());
}

#[tokio::test(flavor = "multi_thread")]
async fn percentiles_that_too_few_samples_support_are_null() {
    let server = Counting::start().await;
    let scenario = format!("load = {{ users = 1, iterations = 999 }}\n{STEP}");
    let document = tokio::task::block_in_place(|| document(&server, &scenario, &[]));
    let latency = &document["targets"][0]["steps"][0]["latency_us"];
    assert!(latency["p95"].is_u64() && latency["p99"].is_null(), "{latency}");
    // On a busy machine there may be more verdicts.
    let verdicts = document["verdicts"].as_array().unwrap();
    assert!(verdicts.iter().any(|verdict| verdict["kind"] == "too_few_samples"), "{verdicts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_threshold_exits_with_3() {
    let server = Counting::start().await;
    let project = Project::real().file(
        "mine.toml",
        &format!("load = {{ users = 2, iterations = 400 }}\n{STEP}[thresholds]\n\"hello.p50\" = \"< 1us\"\nerror_rate = \"< 1%\"\n"),
    );
    let arguments = ["-s", "mine.toml", "--url", &server.url, "--format=json", "--warmup=0s"];
    let finished = tokio::task::block_in_place(|| project.run(&arguments));
    assert_eq!(finished.code, Some(3), "{}", finished.said());
    let passed: Vec<Value> = finished.json()["thresholds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|threshold| threshold["passed"].clone())
        .collect();
    assert_eq!(passed, [Value::Bool(false), Value::Bool(true)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_seed_sends_the_same_data_on_any_number_of_workers() {
    let server = Counting::start().await;
    let scenario = "load = { users = 4, iterations_per_user = 5 }\n\
                    [[step]]\npost = \"/remember\"\nbody = { text = \"{{ uuid }}\" }\n";
    let mut sent = Vec::new();
    for workers in ["--workers=1", "--workers=3"] {
        tokio::task::block_in_place(|| document(&server, scenario, &[workers, "--seed=7"]));
        sent.push(server.take_remembered());
    }
    assert_eq!(sent[0].len(), 21, "20 and the verification");
    assert_eq!(sent[0], sent[1]);
}

/// Runs 4 users against a server that answers `answered` requests, including the verification's.
async fn over_a_silent_server(answered: usize, duration: &str) -> Value {
    let address = silent(answered).await;
    let project =
        Project::real().file("mine.toml", &format!("{STEP}[thresholds]\nerror_rate = \"< 1%\"\n"));
    let url = format!("--url=http://{address}");
    let fixed = ["-s=mine.toml", "--users=4", "--warmup=0s", "--format=json", duration];
    let finished = tokio::task::block_in_place(|| project.run(&[&fixed[..], &[&url]].concat()));
    assert_eq!(finished.code, Some(1), "{}", finished.said());
    finished.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_answers_nothing_in_time_passes_no_threshold() {
    let document = over_a_silent_server(1, "--duration=500ms").await;
    let total = &document["targets"][0]["total"];
    assert_eq!((&total["requests"], &total["unanswered"]), (&0.into(), &4.into()), "{total}");
    let verdict = &document["verdicts"][0];
    assert_eq!(verdict["kind"], "nothing_answered", "{verdict}");
    assert_eq!(verdict["message"], "no request got a response before the end of its round");
    let threshold = &document["thresholds"][0];
    let expected = (&Value::Null, &Value::Bool(false));
    assert_eq!((&threshold["measured"], &threshold["passed"]), expected, "{threshold}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_silent_passes_no_threshold() {
    let document = over_a_silent_server(1_000, "--duration=2s").await;
    let verdict = &document["verdicts"][0];
    assert_eq!(verdict["kind"], "went_silent", "{verdict}");
    let kinds = document["verdicts"].as_array().unwrap().iter().map(|it| &it["kind"]);
    assert!(kinds.into_iter().all(|kind| *kind != "littles_law"), "it is the server that is slow");
    let seconds = document["targets"][0]["rounds"][0]["seconds"].as_array().unwrap();
    let answered = seconds.iter().map(|second| second["answered"].as_u64().unwrap());
    assert_eq!(answered.collect::<Vec<_>>(), [999, 0], "each second has its place");
}

/// Four users of a server that stalls for one second in four. During the stall the users send
/// nothing else, so that only four of their thousands of requests see the stall.
#[tokio::test(flavor = "multi_thread")]
async fn a_stall_hidden_by_the_closed_model_is_reported() {
    let address = stalling(std::time::Duration::from_secs(2)).await;
    let project = Project::real().file("mine.toml", STEP);
    let url = format!("--url=http://{address}");
    let fixed = ["-s=mine.toml", "--users=4", "--warmup=0s", "--duration=4s", "--format=json"];
    let finished = tokio::task::block_in_place(|| project.run(&[&fixed[..], &[&url]].concat()));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let verdicts = document["verdicts"].as_array().unwrap();
    let hidden = verdicts.iter().find(|v| v["kind"] == "stall_hidden");
    let message = hidden.unwrap_or_else(|| panic!("{verdicts:?}"))["message"].as_str().unwrap();
    assert!(message.starts_with("users waited up to "), "{message}");
    // The stall takes a quarter of the time: p95 of requests that
    // wait for no other request is 800 ms.
    let p95 = document["targets"][0]["uncoordinated_us"]["p95"].as_u64().unwrap();
    assert!((600_000..=1_000_000).contains(&p95), "{p95} us");
    assert!(number(&document, "/targets/0/total/latency_us/p95") < 100_000);
}
