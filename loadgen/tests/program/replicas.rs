//! Replicas of a target behind a load balancer.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::processes::{assert_gone, signal, tree};
use crate::common::program::{Finished, Project, responses_of_replicas};
use rustix::process::Signal;
use serde_json::Value;

/// Variable that names the balancer.
const CHOICE: &str = "LOADGEN_BALANCER";

/// Returns the balancers that this machine has. loadgen installs Caddy, from PyPI.
pub fn balancers() -> &'static [&'static str] {
    let is_on_path = Command::new("haproxy").arg("-v").stdout(Stdio::null()).status().is_ok();
    if is_on_path || Path::new("/usr/sbin/haproxy").is_file() {
        return &["haproxy", "caddy"];
    }
    println!("skipped with HAProxy, which is not installed; run `make setup` as root on Debian");
    &["caddy"]
}

/// Returns the report of the run, in one line.
fn measured_text(project: &Project) -> String {
    let text = project.run(&["report", "run"]).stdout;
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn kinds(document: &Value) -> Vec<&str> {
    let verdicts = document["verdicts"].as_array().unwrap().iter();
    verdicts.map(|verdict| verdict["kind"].as_str().unwrap()).collect()
}

fn measured(project: &Project, more: &[&str]) -> Finished {
    measured_with(balancers()[0], project, more)
}

fn measured_with(balancer: &str, project: &Project, more: &[&str]) -> Finished {
    let fixed = [
        "-s=direct",
        "--rounds=1",
        "--warmup=200ms",
        "--no-calibrate",
        "--format=json",
        "--out=run",
    ];
    let mut command = project.command(&[&fixed, more].concat());
    Finished::of(command.env(CHOICE, balancer).output().unwrap(), &project.path(""))
}

#[test]
fn responses_to_a_probe_count() {
    let numbers = ["-t=fastapi", "--replicas=2", "--users=5", "--duration=1s", "--probe=50"];
    let finished = measured(&Project::real(), &numbers);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let round = &document["targets"][0]["rounds"][0];
    assert!(round["probe"]["requests"].as_u64().unwrap() > 10, "{}", round["probe"]);
    let sent: u64 = responses_of_replicas(round).iter().sum();
    let received = &round["replicas_received"];
    let [low, high] = ["least", "most"].map(|end| received[end].as_u64().unwrap());
    assert!((low..=high).contains(&sent), "{sent} of {received}");
    assert!(!kinds(&document).contains(&"replicas_miscounted"), "{:?}", document["verdicts"]);
}

#[test]
fn each_replica_sends_as_many_responses() {
    for balancer in balancers() {
        shares_of_replicas(balancer);
    }
}

fn shares_of_replicas(balancer: &str) {
    let project = Project::real();
    let numbers = ["-t=fastapi", "--replicas=1,2,3", "--users=7", "--duration=1s"];
    let finished = measured_with(balancer, &project, &numbers);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let targets = document["targets"].as_array().unwrap();
    for (target, replicas) in targets.iter().zip(1_u64..) {
        assert_eq!(target["server"]["replicas"], replicas);
        assert_eq!(target["total"]["errors"], 0, "{target}");
        let round = &target["rounds"][0];
        let responses = responses_of_replicas(round);
        assert_eq!(responses.len() as u64, replicas);
        let (least, most) = (responses.iter().min().unwrap(), responses.iter().max().unwrap());
        assert!(most - least <= 1, "round robin: {responses:?}");
        let sent: u64 = responses.iter().sum();
        let received = &round["replicas_received"];
        let [low, high] = ["least", "most"].map(|end| received[end].as_u64().unwrap());
        assert!((low..=high).contains(&sent), "{sent} of {received}");
        assert!(low > target["total"]["requests"].as_u64().unwrap(), "the warm-up counts");
        let memory = |replica: &Value| replica["memory_max_bytes"].as_u64().unwrap();
        assert!(round["replicas"].as_array().unwrap().iter().all(|one| memory(one) > 10_000_000));
        let used = &round["resources"];
        assert!(used["balancer"]["cpu_s"].as_f64().is_some(), "{used}");
        assert!(used["target"]["memory_idle_bytes"].as_u64().unwrap() > 10_000_000, "{used}");
        for log in ["replica-1", "balancer"] {
            let log = format!("run/fastapi-1w-{replicas}r-7u-1-{log}.log");
            assert!(project.path(&log).is_file(), "{log}");
        }
    }
    let kinds = kinds(&document);
    assert!(!kinds.contains(&"unequal_replicas"), "{kinds:?}");
    assert!(!kinds.contains(&"replicas_miscounted"), "{kinds:?}");
    let scaling = document["scaling"].as_array().unwrap();
    assert_eq!((scaling.len(), &scaling[0]["name"]), (1, &"fastapi".into()), "{scaling:?}");
    assert!(targets[0]["server"]["packages"][balancer].is_string(), "{}", targets[0]["server"]);
    let text = measured_text(&project);
    let name = if balancer == "caddy" { "Caddy" } else { "HAProxy" };
    assert!(text.contains(&format!("balanced by {name} ")), "{text}");
}

#[test]
fn replicas_that_cannot_be_served_are_refused() {
    let project = Project::real();
    let balancer = balancers()[0];
    let said = |more: &[&str]| measured(&project, &[&["-t=fastapi"], more].concat());
    let many = said(&["--replicas=64", "--server-workers=8"]);
    assert_eq!(many.code, Some(2), "{}", many.said());
    assert!(many.stderr.contains("bad_replicas"), "{}", many.stderr);
    assert!(many.stderr.contains("use fewer replicas or server workers"), "{}", many.stderr);
    let grpc = measured(&project, &["-t=grpc", "--replicas=2"]);
    assert_eq!(grpc.code, Some(2), "{}", grpc.said());
    assert!(grpc.stderr.contains("leave out the replicas: gRPC needs HTTP/2"), "{}", grpc.stderr);
    // Few open files leave the load balancer few connections.
    let loadgen = project.command(&["-s=direct", "-t=fastapi", "--replicas=2", "--users=400"]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 1000 && exec \"$0\" \"$@\""]);
    limited.arg(loadgen.get_program()).args(loadgen.get_args());
    limited.current_dir(loadgen.get_current_dir().unwrap()).env(CHOICE, balancer);
    for (name, value) in loadgen.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let output = limited.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let most = if balancer == "haproxy" { 308 } else { 205 };
    assert!(said.contains(&format!("serves at most {most} connections here")), "{said}");
}

#[test]
fn a_balancer_that_does_not_exist_is_refused() {
    let refused = measured_with("nginx", &Project::real(), &["-t=fastapi", "--replicas=2"]);
    assert_eq!(refused.code, Some(2), "{}", refused.said());
    assert!(refused.stderr.contains("bad_balancer"), "{}", refused.stderr);
}

#[test]
fn headers_that_caddy_would_remove_are_refused() {
    let scenario = "[[step]]\nget = \"/\"\nheaders = { x-forwarded-for = \"192.0.2.1\" }\n";
    let project = Project::real().file("mine.toml", scenario);
    let mut command = project.command(&["-s=mine.toml", "-t=fastapi", "--replicas=2", "--users=1"]);
    let refused = Finished::of(command.env(CHOICE, "caddy").output().unwrap(), &project.path(""));
    assert_eq!(refused.code, Some(2), "{}", refused.said());
    for words in ["bad_replicas", "x-forwarded-for", "install HAProxy"] {
        assert!(refused.stderr.contains(words), "{words}: {}", refused.stderr);
    }
}

/// A run whose load lasts longer than the test, with three replicas.
fn running(balancer: &str, project: &Project) -> std::process::Child {
    let words = ["-s=direct", "-t=fastapi", "--replicas=3", "--rounds=1", "--duration=60s"];
    let words = [&words[..], &["--no-calibrate", "--format=json", "--out=run"]].concat();
    let progress = project.path("progress");
    let mut command = project.command(&words);
    command.stdout(Stdio::piped()).stderr(File::create(&progress).unwrap());
    command.env(CHOICE, balancer);
    let child = command.spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(120);
    // The first line about the load comes some seconds after its start.
    while !fs::read_to_string(&progress).unwrap().contains("requests/s") {
        assert!(Instant::now() < deadline, "the load has not begun");
        std::thread::sleep(Duration::from_millis(50));
    }
    child
}

fn named(pids: impl IntoIterator<Item = u32>, word: &str) -> Vec<u32> {
    let is_it = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(word) && !line.contains(" guard ")
    };
    pids.into_iter().filter(is_it).collect()
}

#[test]
fn a_lost_replica_ends_the_round() {
    let project = Project::real();
    let child = running(balancers()[0], &project);
    let pids = tree(child.id());
    let replicas = named(pids.iter().copied(), "targets.fastapi_app:app");
    assert_eq!(replicas.len(), 3, "{pids:?}");
    signal(replicas[0], Signal::KILL);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "a target failed");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ended = document["targets"][0]["rounds"][0]["target_ended"].as_str().unwrap();
    assert!(ended.contains("fastapi-replica-") && ended.contains("signal 9"), "{ended}");
    assert!(kinds(&document).contains(&"target_ended"));
    assert_gone(&pids, Duration::from_secs(10));
}

#[test]
fn kill_9_leaves_neither_replicas_nor_a_balancer() {
    for balancer in balancers() {
        killed_with(balancer);
    }
}

fn killed_with(balancer: &str) {
    let file = if balancer == "caddy" { "caddy.json" } else { "haproxy.cfg" };
    let project = Project::real();
    let mut child = running(balancer, &project);
    let pids = tree(child.id());
    let balancer = named(pids.iter().copied(), file);
    assert!(!balancer.is_empty(), "{pids:?}");
    let line = fs::read_to_string(format!("/proc/{}/cmdline", balancer[0])).unwrap();
    let settings = line.split('\0').find(|word| word.ends_with(file)).unwrap().to_owned();
    assert!(Path::new(&settings).is_file());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_gone(&pids, Duration::from_secs(10));
    let deadline = Instant::now() + Duration::from_secs(5);
    while Path::new(&settings).exists() {
        assert!(Instant::now() < deadline, "{settings} is left");
        std::thread::sleep(Duration::from_millis(50));
    }
}
