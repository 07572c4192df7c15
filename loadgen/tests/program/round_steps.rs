//! Steps that are sent once for a round, through the real binary: a tenant for all users, in one process and in
//! several.

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::common::processes::signal;
use crate::common::program::{Finished, Project};
use crate::common::serve;

/// Requests as the server saw them: the tenants that it created and deleted, and the requests of users.
#[derive(Default)]
struct Seen {
    created: Vec<String>,
    deleted: Vec<String>,
    requests: usize,
    strangers: usize,
}

type Shared = Arc<Mutex<Seen>>;

async fn create(State(seen): State<Shared>, Json(body): Json<Value>) -> (StatusCode, Json<Value>) {
    let mut seen = seen.lock().unwrap();
    let id = format!("tenant {}", seen.created.len());
    seen.created.push(id.clone());
    let status = if body["refused"] == true { 409 } else { 201 };
    (StatusCode::from_u16(status).unwrap(), Json(json!({"id": id, "taken": body["refused"]})))
}

async fn orders(State(seen): State<Shared>, Path(id): Path<String>) -> StatusCode {
    let mut seen = seen.lock().unwrap();
    seen.requests += 1;
    let is_here = seen.created.last() == Some(&id) && !seen.deleted.contains(&id);
    seen.strangers += usize::from(!is_here);
    if is_here { StatusCode::OK } else { StatusCode::NOT_FOUND }
}

async fn remove(State(seen): State<Shared>, Path(id): Path<String>) -> StatusCode {
    seen.lock().unwrap().deleted.push(id);
    StatusCode::NO_CONTENT
}

async fn start() -> (String, Shared) {
    let seen = Shared::default();
    let app = Router::new()
        .route("/tenants", post(create))
        .route("/tenants/{id}", delete(remove))
        .route("/tenants/{id}/orders", get(orders))
        .route("/hang", get(std::future::pending::<StatusCode>))
        .with_state(seen.clone());
    let url = format!("http://{}", serve(app).await);
    (url, seen)
}

const SCENARIO: &str = r#"
[load]
users = 4
iterations = 40

[[step]]
name = "create a tenant"
when = "once"
post = "/tenants"
body = { json = { refused = false } }
expect = { status = 201 }
capture = { tenant = { json = "/id" } }

[[step]]
name = "orders"
get = "/tenants/{{ tenant }}/orders"

[[step]]
name = "delete the tenant"
when = "finally"
delete = "/tenants/{{ tenant }}"
expect = { status = 204 }
"#;

fn run(scenario: &str, url: &str, more: &[&str]) -> Finished {
    let project = Project::real().file("mine.toml", scenario);
    let fixed = ["-s", "mine.toml", "--url", url, "--warmup=0s", "--format=json"];
    tokio::task::block_in_place(|| project.run(&[&fixed, more].concat()))
}

#[tokio::test(flavor = "multi_thread")]
async fn all_users_and_workers_share_what_is_made_once_for_a_round() {
    for (rounds, more) in
        [(1, &["--rounds=1"][..]), (3, &["--rounds=3"]), (1, &["--rounds=1", "--workers=2"])]
    {
        let (url, seen) = start().await;
        let finished = run(SCENARIO, &url, more);
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        let target = &finished.json()["targets"][0];
        let names: Vec<&Value> =
            target["steps"].as_array().unwrap().iter().map(|step| &step["name"]).collect();
        assert_eq!(names, ["orders"], "the steps of a round are in no result");
        assert_eq!(target["total"]["requests"], 40 * rounds);
        let Seen { created, deleted, requests, strangers } =
            std::mem::take(&mut *seen.lock().unwrap());
        assert_eq!((created.len(), &created), (rounds, &deleted), "one tenant for each round");
        // One more request in each round is the verification's.
        assert_eq!((requests, strangers), (41 * rounds, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_step_before_the_users_ends_the_round_with_its_response() {
    let (url, seen) = start().await;
    let finished = run(&SCENARIO.replace("false", "true"), &url, &[]);
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    let said = finished.said();
    assert!(said.contains("step      create a tenant"), "{said}");
    assert!(said.contains("got       409: {\"id\":\"tenant 0\",\"taken\":true}"), "{said}");
    assert!(said.contains("users begin only after"), "{said}");
    let Seen { created, deleted, requests, .. } = std::mem::take(&mut *seen.lock().unwrap());
    // A second attempt could make a second tenant.
    assert_eq!((created.len(), deleted.len(), requests), (1, 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_made_before_a_failed_step_is_removed() {
    let (url, seen) = start().await;
    let second = "[[step]]\nname = \"refused\"\nwhen = \"once\"\npost = \"/tenants\"\n\
                  body = { json = { refused = true } }\nexpect = { status = 201 }\n";
    let scenario = SCENARIO.replacen(
        "[[step]]\nname = \"orders\"",
        &format!("{second}[[step]]\nname = \"orders\""),
        1,
    );
    let finished = run(&scenario, &url, &[]);
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    let Seen { created, deleted, requests, .. } = std::mem::take(&mut *seen.lock().unwrap());
    assert_eq!((created.len(), &created[..1], requests), (2, &deleted[..], 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_step_after_the_users_is_told_and_the_round_stands() {
    let (url, _) = start().await;
    let finished = run(&SCENARIO.replace("status = 204", "status = 200"), &url, &["--rounds=1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert_eq!(finished.json()["targets"][0]["total"]["requests"], 40);
    let said = finished.said();
    assert!(said.contains("the step `delete the tenant`, with when = \"finally\""), "{said}");
    assert!(said.contains("expected status 200, got 204"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_after_the_users_are_sent_even_if_the_verification_fails() {
    let (url, seen) = start().await;
    let wrong = SCENARIO.replace("/orders\"", "/orders\"\nexpect = { status = 500 }");
    let finished = run(&wrong, &url, &[]);
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    let Seen { created, deleted, .. } = std::mem::take(&mut *seen.lock().unwrap());
    assert_eq!(created, deleted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_sends_the_steps_of_a_round_around_the_others() {
    let (url, seen) = start().await;
    let project = Project::real().file("mine.toml", SCENARIO);
    let finished =
        tokio::task::block_in_place(|| project.run(&["check", "--try", &url, "mine.toml"]));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let headings =
        finished.stdout.lines().filter(|line| !line.is_empty() && !line.starts_with(' '));
    assert_eq!(
        headings.collect::<Vec<_>>(),
        [
            "mine:",
            "create a tenant, once, before all users",
            "orders",
            "delete the tenant, finally, after all users",
            "all steps went as expected"
        ]
    );
    let Seen { created, deleted, requests, strangers } = std::mem::take(&mut *seen.lock().unwrap());
    assert_eq!((created, requests, strangers), (deleted, 1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_after_the_users_are_sent_after_ctrl_c() {
    let (finished, seen) =
        interrupted(&SCENARIO.replace("iterations = 40", "duration = \"1m\"")).await;
    let Seen { created, deleted, .. } = std::mem::take(&mut *seen.lock().unwrap());
    assert_eq!((created.len(), &created), (1, &deleted), "{}", finished.said());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_after_the_users_delays_ctrl_c_by_three_seconds() {
    let scenario = SCENARIO.replace("iterations = 40", "duration = \"1m\"");
    let scenario = scenario.replace("delete = \"/tenants/{{ tenant }}\"", "get = \"/hang\"");
    let begun = Instant::now();
    let (finished, _) = interrupted(&scenario).await;
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "the timeout is 30 s: {:?}",
        begun.elapsed()
    );
    assert!(
        finished.said().contains("were cut off 3 seconds after the interrupt"),
        "{}",
        finished.said()
    );
}

/// Runs a scenario, and presses Ctrl-C under load.
async fn interrupted(scenario: &str) -> (Finished, Shared) {
    let (url, seen) = start().await;
    let project = Project::real().file("mine.toml", scenario);
    let arguments = ["-s", "mine.toml", "--url", &url, "--workers=2", "--warmup=0s"];
    let mut command = project.command(&arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while seen.lock().unwrap().requests < 100 {
        assert!(Instant::now() < deadline, "the load has not begun");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    signal(child.id(), Signal::INT);
    let output = tokio::task::block_in_place(|| child.wait_with_output().unwrap());
    let finished = Finished::of(output, &project.path(""));
    assert_eq!(finished.code, Some(130), "{}", finished.said());
    (finished, seen)
}
