//! The main job on real targets and backends: comparisons, their
//! proofs, and losses of a worker or a target.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::Counting;
use crate::common::processes::{assert_gone, named, signal, sockets, tree};
use crate::common::program::{Finished, Project};
use rustix::process::Signal;
use serde_json::Value;

const SHORT: [&str; 4] = ["--warmup=300ms", "--duration=1s", "--format=json", "--out=run"];

#[test]
fn the_counted_rows_equal_those_in_postgresql() {
    let project = Project::real();
    let arguments = ["-s=insert_batch", "-t=fastapi", "--rounds=1", "--workers=2", "--users=4"];
    let finished = project.run(&[&arguments[..], &SHORT[..]].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let target = &finished.json()["targets"][0];
    let proofs = target["proofs"].as_array().unwrap();
    assert_eq!(proofs.len(), 2, "rows, and none with a NULL: {proofs:?}");
    assert!(proofs.iter().all(|proof| proof["agrees"] == true), "{proofs:?}");
    let proof = &proofs[0];
    let number = |name: &str| proof[name].as_u64().unwrap();
    assert_eq!(number("held"), number("counted") + number("uncounted"));
    assert_eq!(target["counters"]["inserted_items"], number("counted"));
    assert!(number("counted") > 0 && number("uncounted") >= 1_000, "{proof}");
}

#[test]
fn rounds_are_interleaved_and_each_starts_its_target_afresh() {
    let project = Project::real();
    let arguments = ["-s=redis3", "-t=fastapi,flask", "--rounds=2", "--workers=2", "--users=8"];
    // The seed decides which target comes first, and the orders are counterbalanced.
    let finished = project.run(&[&arguments[..], &SHORT[..], &["--seed=2"]].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let order: Vec<&str> = finished
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix('[')?.split_once("] "))
        .map(|(_, rest)| rest.split(':').next().unwrap())
        .collect();
    assert_eq!(order, ["flask", "fastapi", "fastapi", "flask"], "{}", finished.stderr);
    for log in ["fastapi-1", "fastapi-2", "flask-1", "flask-2", "redis"] {
        assert!(project.path(&format!("run/{log}.log")).is_file(), "{log}");
    }
    let document = finished.json();
    // On a busy machine the generator may limit a rate, so that a target is unranked.
    let comparison = &document["comparison"];
    let placed = ["ranking", "unranked"].map(|list| comparison[list].as_array().unwrap().len());
    assert_eq!(placed.iter().sum::<usize>(), 2, "{comparison}");
    for target in document["targets"].as_array().unwrap() {
        assert_eq!(target["total"]["errors"], 0);
        assert_eq!(target["rounds"].as_array().unwrap().len(), 2);
        assert!(target["resources"]["target"]["cpu_s"].as_f64().unwrap() > 0.0);
        assert!(target["server"]["packages"].as_object().unwrap().len() > 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_worker_degrades_the_result() {
    let server = Counting::start().await;
    let project = Project::real();
    let arguments = ["-s=direct", "--url", &server.url, "--workers=2", "--format=json"];
    let mut command = project.command(&[&arguments[..], &["--duration=60s"]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while server.requests() < 1_000 {
        assert!(Instant::now() < deadline, "the load has not begun");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Waits past the warm-up and a whole second, so that there is a result to keep.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    let pids = tree(child.id());
    let workers = named(&pids, "loadgen worker");
    assert_eq!(workers.len(), 2);
    signal(workers[0], Signal::KILL);
    let killed = Instant::now();
    let output = tokio::task::block_in_place(|| child.wait_with_output().unwrap());
    assert!(killed.elapsed() < Duration::from_secs(4), "{:?}", killed.elapsed());
    let finished = Finished::of(output, &project.path(""));
    assert_eq!(finished.code, Some(5), "{}", finished.said());
    let document = finished.json();
    let reason = document["degraded"]["reason"].as_str().unwrap();
    assert!(reason.contains("was lost"), "{reason}");
    assert!(document["targets"][0]["total"]["requests"].as_u64().unwrap() > 0);
    assert_gone(&pids, Duration::from_secs(2));
}

#[test]
fn a_killed_target_ends_the_run_and_is_reported() {
    let project = Project::real();
    let arguments = ["-s=direct", "-t=flask", "--rounds=1", "--users=40", "--out=run"];
    // Without warm-up, the load is held from the first second, so that there is a result to keep.
    // With calibration, the generator would have as many sockets before the target exists.
    let held = ["--warmup=0s", "--duration=60s", "--no-calibrate"];
    let mut command = project.command(&[&arguments[..], &held[..]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while sockets(child.id()) < 40 {
        assert!(Instant::now() < deadline, "the load has not begun");
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_secs(2));
    let targets = named(&tree(child.id()), "targets.flask_app:app");
    // The guard, gunicorn's arbiter, and the arbiter's worker.
    assert!(targets.len() > 2, "{targets:?}");
    let guarded = targets.iter().filter(|pid| named(&[**pid].into(), "loadgen guard").is_empty());
    guarded.for_each(|pid| signal(*pid, Signal::KILL));
    let killed = Instant::now();
    let finished = Finished::of(child.wait_with_output().unwrap(), &project.path(""));
    assert!(killed.elapsed() < Duration::from_secs(20), "a minute of load on nobody");
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    assert!(finished.stderr.contains("flask"), "{}", finished.said());
    let record: Value =
        serde_json::from_slice(&std::fs::read(project.path("run/run.json")).unwrap()).unwrap();
    assert_eq!(record["targets"][0]["rounds"][0]["whole"], false);
    assert!(record["targets"][0]["rounds"][0]["target_ended"].is_string());
}
