//! loadgen is stopped for a moment: the server is not blamed, and the round is in no comparison.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::common::Counting;
use crate::common::processes::{named, signal, tree};
use crate::common::program::Project;

const SCENARIO: &str = "[load]\nusers = 8\nduration = \"4s\"\n[[step]]\nget = \"/slow/20\"\n";

/// Runs a load, and stops a process for a second in it: loadgen or, with workers, the first of them. Returns the document.
async fn stopped(arguments: &[&str], is_worker: bool) -> Value {
    let server = Counting::start().await;
    let project = Project::real().file("s.toml", SCENARIO);
    let words =
        ["-s=s.toml", "--url", &server.url, "--format=json", "--warmup=0s", "--no-calibrate"];
    let mut command = project.command(&[&words[..], arguments].concat());
    let loadgen = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    tokio::time::sleep(Duration::from_millis(2_000)).await;
    let pid = match is_worker {
        false => loadgen.id(),
        true => *named(&tree(loadgen.id()), " worker ").iter().min().unwrap(),
    };
    signal(pid, Signal::STOP);
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    signal(pid, Signal::CONT);
    let output = tokio::task::spawn_blocking(|| loadgen.wait_with_output().unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

fn kinds(document: &Value) -> Vec<&str> {
    let verdicts = document["verdicts"].as_array().unwrap().iter();
    verdicts.map(|verdict| verdict["kind"].as_str().unwrap()).collect()
}

fn message<'a>(document: &'a Value, kind: &str) -> &'a str {
    let mut verdicts = document["verdicts"].as_array().unwrap().iter();
    verdicts.find(|verdict| verdict["kind"] == kind).unwrap()["message"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_in_which_loadgen_was_stopped_is_in_no_comparison() {
    let document = stopped(&[], false).await;
    let round = &document["targets"][0]["rounds"][0];
    assert_eq!(round["whole"], false, "{round}");
    let total_s = round["held_up"][0]["total_s"].as_f64().unwrap();
    assert!((0.8..2.5).contains(&total_s), "{total_s}");
    let said = message(&document, "held_up");
    assert!(
        said.starts_with("loadgen was stopped for ") && said.ends_with(" s in round 1"),
        "{said}"
    );
    assert!(!kinds(&document).contains(&"stall_hidden"), "{:?}", kinds(&document));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_was_stopped_is_named() {
    let document = stopped(&["--workers=2"], true).await;
    let round = &document["targets"][0]["rounds"][0];
    assert_eq!(round["whole"], false, "{round}");
    let held_up = round["held_up"].as_array().unwrap();
    assert_eq!(held_up.len(), 1, "{held_up:?}");
    assert!(message(&document, "held_up").starts_with("worker "), "{:?}", kinds(&document));
}
