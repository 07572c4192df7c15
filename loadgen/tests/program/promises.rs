//! Sentences that users rely on, each tested with the real binary. A quotation
//! without a file name is from docs/reference/scenario-file.md.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;
use serde_json::Value;

use crate::common::program::{Finished, Project};
use crate::common::{Counting, answering, dead_address, ill_behaved};

fn run(project: &Project, url: &str, more: &[&str]) -> Finished {
    let fixed = ["-s=mine.toml", "--url", url, "--no-calibrate", "--format=json", "--seed=1"];
    tokio::task::block_in_place(|| project.run(&[&fixed, more].concat()))
}

#[track_caller]
fn counted(finished: &Finished) -> u64 {
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    finished.json()["targets"][0]["total"]["requests"].as_u64().unwrap()
}

/// "loadgen never uses a proxy that the environment names."
#[tokio::test(flavor = "multi_thread")]
async fn the_proxy_of_the_environment_is_never_used() {
    let server = Counting::start().await;
    for transport in ["http1", "reqwest"] {
        let scenario = format!(
            "load = {{ users = 2, iterations = 20 }}\nhttp = {{ transport = \"{transport}\" }}\n[[step]]\nget = \"/\"\n"
        );
        let project = Project::real().file("mine.toml", &scenario);
        let proxy = format!("http://{}", dead_address());
        let mut command =
            project.command(&["-s=mine.toml", "--url", &server.url, "--no-calibrate"]);
        for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
            command.env(name, &proxy);
        }
        let output =
            tokio::task::block_in_place(|| command.env_remove("NO_PROXY").output().unwrap());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{transport}: {text}");
    }
}

/// "in the warm-up counted from 2^39 = 549,755,813,888, so that the data of measured iterations
/// does not depend on the number of warm-up iterations"
#[tokio::test(flavor = "multi_thread")]
async fn iterations_of_the_warm_up_have_separate_numbers() {
    let server = Counting::start().await;
    let scenario = "load = { users = 2, iterations_per_user = 3 }\n[[step]]\npost = \"/remember\"\n\
                    body = { text = \"{{ user }} {{ iteration }}\" }\n";
    let project = Project::real().file("mine.toml", scenario);
    assert_eq!(counted(&run(&project, &server.url, &["--warmup=1s"])), 6);
    let sent = server.take_remembered();
    let numbers: BTreeSet<u64> =
        sent.iter().filter_map(|body| body.split(' ').nth(1)?.parse().ok()).collect();
    let (counts, warms): (Vec<u64>, Vec<u64>) = numbers.iter().partition(|n| **n < 1 << 39);
    assert_eq!(counts, [0, 1, 2]);
    assert_eq!(warms.first(), Some(&549_755_813_888));
    assert_eq!(warms.last().unwrap() - warms[0] + 1, warms.len() as u64, "none is left out");
}

/// "a step that sets the header `cookie` sends that header and no kept cookies"
#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_set_by_a_step_replaces_kept_cookies() {
    let shown = async |headers: HeaderMap| {
        let cookies: Vec<_> = headers.get_all(header::COOKIE).iter().collect();
        format!("{cookies:?}").into_response()
    };
    let app = Router::new()
        .route("/give", get(async || ([(header::SET_COOKIE, "kept=1")], "given")))
        .route("/shown", get(shown));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    let scenario = "load = { users = 1, iterations = 5 }\nhttp = { cookies = true }\n\
                    [[step]]\nget = \"/give\"\n\
                    [[step]]\nname = \"kept\"\nget = \"/shown\"\nexpect = { body = '[\"kept=1\"]' }\n\
                    [[step]]\nname = \"own\"\nget = \"/shown\"\nheaders = { cookie = \"own=2\" }\nexpect = { body = '[\"own=2\"]' }\n";
    let project = Project::real().file("mine.toml", scenario);
    assert_eq!(counted(&run(&project, &url, &["--warmup=0s"])), 15);
}

/// "If the rows for the start run out, only the users without a row stop"
#[tokio::test(flavor = "multi_thread")]
async fn exhausted_rows_for_a_start_stop_only_users_without_one() {
    let server = Counting::start().await;
    let scenario = "load = { users = 4, iterations = 40 }\n[rows.r]\nfile = \"rows.csv\"\nuse = \"once\"\n\
                    [[step]]\nname = \"login\"\nwhen = \"start\"\npost = \"/remember\"\nbody = { text = \"{{ r.id }}\" }\n\
                    [[step]]\nname = \"work\"\nget = \"/\"\n";
    // The last row is the verification's: two users have a row.
    let project = Project::real().file("mine.toml", scenario).file("rows.csv", "id\na\nb\nc\n");
    let document = run(&project, &server.url, &["--warmup=0s"]);
    let steps = document.json()["targets"][0]["steps"].clone();
    let answered = |name: &str| {
        let step = steps.as_array().unwrap().iter().find(|step| step["name"] == name);
        step.unwrap()["requests"].as_u64()
    };
    assert_eq!((answered("login"), answered("work")), (Some(2), Some(40)));
}

/// "path of a UTF-8 file of at most 64 MiB, relative to the scenario file"
#[test]
fn a_file_of_rows_over_64_mib_is_refused() {
    let scenario = "[rows.r]\nfile = \"rows.csv\"\n[[step]]\nget = \"/{{ r.id }}\"\n";
    let line = "x".repeat(1023) + "\n";
    for (lines, code) in [((64 << 10) - 1, 0), (64 << 10, 2)] {
        let text = format!("id\n{}", line.repeat(lines));
        let project = Project::real().file("mine.toml", scenario).file("rows.csv", &text);
        let checked = project.run(&["check", "mine.toml"]);
        assert_eq!(checked.code, Some(code), "{lines}: {}", checked.said());
    }
}

/// "A user's first request has no think time before it; in the open model, only the second and
/// later requests of an iteration have one."
#[tokio::test(flavor = "multi_thread")]
async fn a_think_time_delays_no_arrival() {
    let server = Counting::start().await;
    let scenario = "load = { model = \"open\", users = 1, rate = 100, iterations = 30, think_time = \"10s\" }\n\
                    [[step]]\nget = \"/\"\n";
    let project = Project::real().file("mine.toml", scenario);
    let begin = Instant::now();
    assert_eq!(counted(&run(&project, &server.url, &["--warmup=0s"])), 30);
    assert!(begin.elapsed().as_secs() < 10, "no request waited");
}

/// "`loadgen check redis3` explains a scenario and sends nothing"
#[tokio::test(flavor = "multi_thread")]
async fn a_check_sends_nothing() {
    let proxied = Counting::start().await;
    let scenario = format!("http = {{ proxy = \"{}\" }}\n[[step]]\nget = \"/\"\n", proxied.url);
    let project = Project::real().file("mine.toml", &scenario);
    let checked = tokio::task::block_in_place(|| project.run(&["check", "mine.toml"]));
    assert_eq!((checked.code, proxied.requests()), (Some(0), 0), "{}", checked.said());
}

/// README: "Each run has a folder: `runs/TIME-SCENARIO/` with `report.html`, `run.json` (the
/// document that `--format json` prints), `latencies.hlog`"
#[tokio::test(flavor = "multi_thread")]
async fn a_run_leaves_the_files_that_the_readme_names() {
    let server = Counting::start().await;
    let scenario = "load = { users = 1, iterations = 5 }\n[[step]]\nget = \"/\"\n";
    let project = Project::real().file("mine.toml", scenario);
    let finished = run(&project, &server.url, &["--warmup=0s"]);
    let folders: Vec<_> = std::fs::read_dir(project.path("runs")).unwrap().flatten().collect();
    let [folder] = folders.as_slice() else { panic!("{folders:?}") };
    assert!(folder.file_name().to_string_lossy().ends_with("Z-mine"), "{folder:?}");
    let mut names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().flatten().map(|it| it.file_name()).collect();
    names.sort();
    assert_eq!(names, ["latencies.hlog", "report.html", "run.json"]);
    let saved: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("run.json")).unwrap()).unwrap();
    assert_eq!(saved, finished.json());
}

/// docs/how-to/use-many-hosts.md: "`LOADGEN_JOIN=FILE` stands for `--join FILE`."
#[test]
fn the_environment_can_name_the_join_file() {
    let project = Project::real();
    let output = project.command(&["worker"]).env("LOADGEN_JOIN", "no-such-file").output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && text.contains("no-such-file"), "{text}");
}

/// "A redirect may lead to any host."
#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_to_another_host_is_followed() {
    let named = Counting::start().await;
    let to = format!("{}/", named.url);
    let first = answering(async move || Redirect::temporary(&to).into_response()).await;
    // The same machine by another name.
    let url = format!("http://localhost:{}", first.port());
    let scenario =
        "load = { users = 1, iterations = 5 }\nhttp = { redirects = 1 }\n[[step]]\nget = \"/\"\n";
    let project = Project::real().file("mine.toml", scenario);
    assert_eq!(counted(&run(&project, &url, &["--warmup=0s"])), 5);
    // One more request is the verification's.
    assert_eq!(named.requests(), 6);
}

/// "every request fails at a server that does not speak HTTP/2"
#[tokio::test(flavor = "multi_thread")]
async fn http_2_in_the_clear_needs_a_peer_that_speaks_it() {
    let both = Counting::start().await;
    let old = ill_behaved(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    let old = format!("http://{old}");
    for (url, code) in [(&both.url, 0), (&old, 4)] {
        let scenario = "load = { users = 1, iterations = 5 }\nhttp = { version = \"2\" }\n[[step]]\nget = \"/\"\n";
        let project = Project::real().file("mine.toml", scenario);
        let finished = run(&project, url, &["--warmup=0s"]);
        assert_eq!(finished.code, Some(code), "{url}: {}", finished.said());
    }
}

/// "If iterations end the round, a user gives up after ten failed attempts"
#[tokio::test(flavor = "multi_thread")]
async fn a_user_gives_up_after_ten_failed_starts() {
    // The verification succeeds, and nothing after it.
    let seen = Arc::new(AtomicUsize::new(0));
    let answer = async move || match seen.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => StatusCode::OK.into_response(),
        _ => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    };
    let url = format!("http://{}", answering(answer).await);
    let scenario = "load = { users = 2, iterations = 4 }\n\
                    [[step]]\nname = \"login\"\nwhen = \"start\"\nget = \"/\"\n\
                    [[step]]\nname = \"work\"\nget = \"/\"\n";
    let project = Project::real().file("mine.toml", scenario);
    let begin = Instant::now();
    let finished = run(&project, &url, &["--warmup=0s"]);
    assert!(begin.elapsed().as_secs() >= 9, "a second lies between two attempts");
    let document = finished.json();
    let steps = document["targets"][0]["steps"].as_array().unwrap();
    let of = |name: &str, what: &str| {
        steps.iter().find(|step| step["name"] == name).unwrap()[what].as_u64()
    };
    assert_eq!((of("login", "requests"), of("login", "errors")), (Some(20), Some(20)));
    assert_eq!(of("work", "requests"), Some(0));
}

/// docs/reference/command-line.md: "More users than open files or local ports allow are refused
/// before anything starts"
#[tokio::test(flavor = "multi_thread")]
async fn more_users_than_local_ports_are_refused() {
    let server = Counting::start().await;
    let project = Project::real().file("mine.toml", "[[step]]\nget = \"/\"\n");
    let refused = run(&project, &server.url, &["--users=65536"]);
    assert_eq!((refused.code, server.requests()), (Some(2), 0), "{}", refused.said());
    assert!(refused.stderr.contains("65536 users need as many local ports"), "{}", refused.said());
}

/// README: "`loadgen check`: what each scenario would do"
#[test]
fn a_check_without_a_name_checks_all_scenarios() {
    let project = Project::real();
    let checked = project.run(&["check"]);
    assert_eq!(checked.code, Some(0), "{}", checked.said());
    let scenarios = std::fs::read_dir(project.path("scenarios")).unwrap().flatten();
    let files = scenarios.map(|file| file.file_name().into_string().unwrap());
    let names: Vec<String> =
        files.filter_map(|file| Some(file.strip_suffix(".toml")?.to_owned())).collect();
    assert!(names.len() >= 5, "{names:?}");
    for name in names {
        assert!(checked.stdout.contains(&name), "{name}: {}", checked.said());
    }
}
