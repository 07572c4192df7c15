//! `loadgen init` and `loadgen schema`: a first scenario, and the schema of scenarios for editors.

use std::fs;
use std::path::PathBuf;

use axum::Router;

use crate::common::program::{Project, checkout};
use crate::common::{Counting, serve};

#[tokio::test(flavor = "multi_thread")]
async fn the_first_scenario_runs_as_written() {
    let project = Project::real();
    let written = project.run(&["init"]);
    insta::assert_snapshot!("a_first_scenario_is_written", written.said());
    assert_eq!(written.stdout, "");
    let checked = project.run(&["check", "scenario.toml"]);
    assert_eq!(checked.code, Some(0), "{}", checked.said());
    let server = Counting::start().await;
    let arguments = ["-s", "scenario.toml", "--url", &server.url, "--duration=1s", "--format=json"];
    let ran = tokio::task::block_in_place(|| project.run(&arguments));
    assert_eq!(ran.code, Some(0), "{}", ran.said());
    let step = &ran.json()["targets"][0]["steps"][0];
    assert_eq!((step["name"].as_str(), step["errors"].as_u64()), (Some("front page"), Some(0)));
    assert!(step["requests"].as_u64() > Some(0));
}

#[test]
fn a_file_is_overwritten_only_by_force() {
    let project = Project::real().file("mine.toml", "mine");
    let read = |name: &str| fs::read_to_string(project.path(name)).unwrap();
    let refused = project.run(&["init", "mine"]);
    insta::assert_snapshot!("a_file_that_is_there_already", refused.said());
    assert_eq!(read("mine.toml"), "mine");
    assert!(!project.path("loadgen.schema.json").exists());
    assert_eq!(project.run(&["init", "mine", "--force"]).code, Some(0));
    assert!(read("mine.toml").starts_with("#:schema ./loadgen.schema.json\n# Measures "));
    assert_eq!(read("loadgen.schema.json"), project.run(&["schema"]).stdout);
}

#[test]
fn a_file_that_cannot_be_a_scenario_is_refused() {
    let project = Project::real();
    for (path, code) in [("scenarios/", 2), ("mine.yaml", 2), ("nowhere/mine.toml", 1)] {
        assert_eq!(project.run(&["init", path]).code, Some(code), "{path}");
    }
    assert!(!project.path("loadgen.schema.json").exists());
}

#[test]
fn the_schema_beside_the_scenarios_is_current() {
    let path: PathBuf = checkout().join("scenarios/loadgen.schema.json");
    let shown = Project::real().run(&["schema"]).stdout;
    let renew = "renew it: cargo run --release -- schema >scenarios/loadgen.schema.json";
    assert!(fs::read_to_string(path).unwrap() == shown, "{renew}");
}

/// Returns the access log of an hour, as nginx writes it.
fn access_log() -> String {
    let line = |second: u32| {
        let (minute, second_of) = (second / 60, second % 60);
        let (method, path) = match second % 10 {
            0 => ("POST", "/orders".to_owned()),
            1 => ("GET", "/static/shop.css".to_owned()),
            2..6 => ("GET", format!("/products/{}?session=secret-{second}", second * 7 % 500)),
            _ => ("GET", format!("/search?q=tea+{}&page=1", second % 90)),
        };
        format!(
            "10.0.0.7 - ada [28/Nov/2026:10:{minute:02}:{second_of:02} +0100] \
             \"{method} {path} HTTP/1.1\" 200 512 \"-\" \"Mozilla/5.0\"\n"
        )
    };
    (0..3_600).map(line).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_access_log_becomes_a_scenario_with_its_values() {
    let project = Project::real().file("access.log", &access_log());
    let written = project.run(&["init", "--access-log=access.log", "--speed=50", "-d", "2s"]);
    insta::assert_snapshot!("an_access_log_is_drafted", written.said());
    let scenario = fs::read_to_string(project.path("scenario.toml")).unwrap();
    let rows = fs::read_to_string(project.path("scenario-products.csv")).unwrap();
    for secret in ["secret-", "ada", "10.0.0.7", "Mozilla"] {
        assert!(!scenario.contains(secret) && !rows.contains(secret), "{secret}: {scenario}");
    }
    assert_eq!(project.run(&["check", "scenario.toml"]).code, Some(0));
    let url = format!("http://{}", serve(Router::new().fallback(async || "found")).await);
    let arguments = ["-s", "scenario.toml", "--url", &url, "--format=json"];
    let ran = tokio::task::block_in_place(|| project.run(&arguments));
    assert_eq!(ran.code, Some(0), "{}", ran.said());
    let document = ran.json();
    let requests = |step: usize| document["targets"][0]["steps"][step]["requests"].as_u64();
    assert!(requests(0) > Some(0) && requests(1) > Some(0), "{}", ran.said());
    // Its files are not overwritten either.
    fs::remove_file(project.path("scenario.toml")).unwrap();
    let refused = project.run(&["init", "--access-log=access.log"]);
    assert_eq!(refused.code, Some(2), "{}", refused.said());
    assert!(refused.stderr.contains("csv already exists"), "{}", refused.said());
    assert!(!project.path("scenario.toml").exists());
}

#[test]
fn what_is_no_access_log_is_refused() {
    let project = Project::real().file("notes.txt", "milk\nbread\n").file("empty.log", "");
    for path in ["notes.txt", "empty.log", "missing.log"] {
        let refused = project.run(&["init", "--access-log", path]);
        assert_eq!(refused.code, Some(2), "{}", refused.said());
        insta::assert_snapshot!(format!("no_access_log_{path}"), refused.said());
    }
}
