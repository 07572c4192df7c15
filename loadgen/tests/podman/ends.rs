//! A run reports its end, no matter how it ends, and leaves nothing behind.

use std::io::Read;
use std::process::Child;

use rustix::process::Signal;

use crate::common::processes::signal;
use crate::common::program::Project;
use crate::support::{container, finish, left_of, podman, spawn, start};

const LONG: [&str; 4] = ["--scenario=redis3", "--target=sanic", "--duration=30s", "--out=run"];

/// Waits until the run says how its load goes on, and returns the name of the target's container.
fn under_load(run: &mut Child) -> String {
    let name = container(run, "sanic");
    let (stderr, mut said) = (run.stderr.as_mut().unwrap(), Vec::new());
    while !said.ends_with(b"s left\n") {
        let mut byte = [0];
        stderr.read_exact(&mut byte).unwrap();
        said.extend(byte);
    }
    name
}

#[test]
fn a_killed_container_ends_the_run_and_is_reported() {
    let project = Project::real();
    let mut run = start(&project, &LONG);
    podman(&["kill", &under_load(&mut run)]);
    let finished = finish(&project, run);
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    let said = "sanic was ended by signal 9";
    assert!(finished.stderr.contains(said), "{}", finished.said());
    let round = &finished.json()["targets"][0]["rounds"][0];
    assert_eq!(round["whole"], false);
    assert!(round["target_ended"].as_str().unwrap().starts_with(said), "{round}");
    assert!(round["total"]["requests"].as_u64().unwrap() > 0, "{round}");
}

#[test]
fn an_interrupt_saves_the_measurements_and_removes_all_containers() {
    let project = Project::real();
    let mut run = start(&project, &LONG);
    under_load(&mut run);
    signal(run.id(), Signal::INT);
    let status = run.wait().unwrap();
    let left = left_of(run.id());
    assert!(left.is_empty(), "{left:?}");
    let finished = finish(&project, run);
    assert_eq!(status.code(), Some(130), "{}", finished.said());
    assert!(project.path("run/run.json").is_file());
}

#[test]
fn no_container_outlives_a_killed_loadgen() {
    let project = Project::real();
    let mut run = start(&project, &LONG);
    container(&mut run, "redis");
    signal(run.id(), Signal::KILL);
    finish(&project, run);
}

#[test]
fn no_container_outlives_a_killed_experiment_with_replicas() {
    let file = "[[group]]\nname = \"one\"\nscenario = \"redis3\"\ntarget = \"fastapi\"\nreplicas = 2\n\
                load = { users = 4, duration = \"30s\" }\n[[group.arm]]\nname = \"two\"\n";
    let project = Project::real().file("one.toml", file);
    let words = ["experiment", "one.toml", "--runtime=podman", "--no-calibrate"];
    let mut run = spawn(project.command(&words));
    container(&mut run, "balancer");
    signal(run.id(), Signal::KILL);
    finish(&project, run);
}
