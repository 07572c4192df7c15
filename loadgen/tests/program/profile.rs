//! `--profile`: to which functions the CPU time of a request goes.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::common::processes::{named, signal, tree};
use crate::common::program::{Finished, Project};

const BRIEF: [&str; 6] = [
    "--scenario=direct",
    "--duration=1s",
    "--warmup=200ms",
    "--no-calibrate",
    "--format=json",
    "--out=result",
];

fn run(more: &[&str]) -> (Project, Finished) {
    let project = Project::real();
    let finished = project.run(&[&BRIEF[..], more].concat());
    (project, finished)
}

/// Returns the own CPU time of all functions that are listed, in µs per request, and that of the target.
fn own_and_whole(profile: &Value) -> (f64, f64) {
    let functions = profile["functions"].as_array().unwrap();
    let own = functions.iter().map(|of| of["own"]["us_per_request"].as_f64().unwrap()).sum();
    (own, profile["cpu_us_per_request"].as_f64().unwrap())
}

#[track_caller]
fn function<'a>(profile: &'a Value, file: &str) -> &'a Value {
    let mut functions = profile["functions"].as_array().unwrap().iter();
    let found = functions.find(|of| of["file"].as_str().unwrap().contains(file));
    found.unwrap_or_else(|| panic!("no function of {file} in {profile:#}"))
}

#[test]
fn functions_share_the_cpu_time_of_a_request() {
    let (project, finished) = run(&["--target=fastapi,sanic", "--rounds=2", "--profile=2"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let record = finished.json();
    for (target, file) in [("fastapi", "starlette"), ("sanic", "sanic")] {
        let targets = record["targets"].as_array().unwrap();
        let of = targets.iter().find(|of| of["name"] == target).unwrap();
        assert_eq!(of["rounds"].as_array().unwrap().len(), 2, "profiling rounds are no rounds");
        let profile = &of["profile"];
        assert_eq!((&profile["rounds"], &profile["failure"]), (&json!(2), &Value::Null));
        assert!(profile["samples"].as_u64().unwrap() > 50, "{profile}");
        let (own, whole) = own_and_whole(profile);
        assert!(own > 0.9 * whole && own < 1.001 * whole, "{own} of {whole}: {profile:#}");
        let [low, high] = [0, 1].map(|end| {
            function(profile, file)["with_calls"]["confidence_95"][end].as_f64().unwrap()
        });
        assert!(low <= high, "{low} {high}");
        let stacks = project.path(&format!("result/profile-{target}.collapsed"));
        assert!(std::fs::read_to_string(stacks).unwrap().contains(file), "{target}");
        let speedscope = project.path(&format!("result/profile-{target}.speedscope.json"));
        let file: Value = serde_json::from_slice(&std::fs::read(speedscope).unwrap()).unwrap();
        assert_eq!(file["profiles"][0]["type"], "sampled");
    }
    let logs = std::fs::read_dir(project.path("result")).unwrap();
    let logs = logs
        .filter(|log| log.as_ref().unwrap().file_name().to_str().unwrap().starts_with("fastapi-"));
    // The start before the first round, two rounds, and two profiling rounds.
    assert_eq!(logs.count(), 5, "each round has a start of its own");
}

#[test]
fn worker_processes_and_threads_are_sampled_together() {
    for (target, file) in [("django-gunicorn", "django"), ("flask", "flask")] {
        let words =
            [&format!("--target={target}"), "--server-workers=2", "--rounds=1", "--profile=2"];
        let (_, finished) = run(&words);
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        let record = finished.json();
        let profile = &record["targets"][0]["profile"];
        assert_eq!(profile["failure"], Value::Null);
        function(profile, file);
        let (own, whole) = own_and_whole(profile);
        assert!(own > 0.9 * whole, "{own} of {whole}: {profile:#}");
        assert_eq!(
            profile["functions"][0]["own"]["confidence_95"],
            Value::Null,
            "one measured round"
        );
    }
}

#[test]
fn threads_that_wait_are_not_on_a_cpu() {
    let words = ["--target=flask", "--rate=100", "--rounds=1", "--profile=2", "--duration=2s"];
    let project = Project::real();
    let finished = project.run(&[&BRIEF[..1], &BRIEF[2..], &words].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let record = finished.json();
    let profile = &record["targets"][0]["profile"];
    let samples = profile["samples"].as_u64().unwrap();
    // 800 moments at which ten threads wait, of which one has a request for about a millisecond of each ten. Were all
    // of them stopped at each moment, there would be more than a thousand samples.
    assert!(samples < 400, "{samples} samples of a server that mostly waits: {profile:#}");
}

#[test]
fn a_server_that_is_not_python_keeps_its_result() {
    let (_, finished) = run(&["--target=express", "--rounds=1", "--profile=2"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let record = finished.json();
    let why = record["targets"][0]["profile"]["failure"].as_str().unwrap();
    assert!(why.contains("none of its processes can be read as Python"), "{why}");
    assert!(finished.stderr.contains("express is not profiled: "), "{}", finished.said());
    assert!(record["targets"][0]["total"]["rate_per_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_profiler_that_dies_costs_no_result() {
    let project = Project::real();
    let words = ["--target=fastapi", "--rounds=1", "--profile=3", "--duration=3s"];
    let mut command = project.command(&[&BRIEF[..1], &BRIEF[2..], &words].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let launcher = loop {
        // The guard has the launcher's command line in its own, too, and is the older process.
        let found = named(&tree(child.id()), "launcher --socket");
        if let [_, _] = found[..] {
            break found.into_iter().max().unwrap();
        }
        assert!(Instant::now() < deadline, "no launcher");
        std::thread::sleep(Duration::from_millis(20));
    };
    std::thread::sleep(Duration::from_millis(1500));
    signal(launcher, Signal::KILL);
    let finished = Finished::of(child.wait_with_output().unwrap(), &project.path(""));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let target = &finished.json()["targets"][0];
    assert!(target["profile"]["failure"].as_str().unwrap().contains("signal 9"), "{target:#}");
    assert!(target["total"]["rate_per_s"].as_f64().unwrap() > 0.0);
}
