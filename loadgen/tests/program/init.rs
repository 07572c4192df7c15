//! `loadgen init` and `loadgen schema`: a first scenario, and the schema of scenarios for editors.

use std::fs;
use std::path::PathBuf;

use crate::common::Counting;
use crate::common::program::{Project, checkout};

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
