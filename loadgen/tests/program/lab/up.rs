//! `loadgen lab up`, `status` and `down`, called as a user calls them.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use loadgen::lab::Home;
use loadgen::lab::home::lock::Lock;
use loadgen::lab::up::{State, Urls};
use rustix::process::Signal;

use super::support::{Process, assert_gone, below, http, loadgen, project};
use crate::common::processes::signal;

/// A lab in the foreground that has printed its URLs.
struct Up {
    process: Child,
    urls: Urls,
    services: Vec<Process>,
}

fn up(project: &Path, args: &[&str]) -> Up {
    let mut command = loadgen(project);
    command.args(["lab", "up", "--format=json"]).args(args);
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let urls = serde_json::from_str(&line).unwrap();
    let services = below(process.id());
    Up { process, urls, services }
}

fn lab(project: &Path, args: &[&str]) -> Output {
    loadgen(project).arg("lab").args(args).stdin(Stdio::null()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[tokio::test]
async fn a_lab_comes_up_healthy_and_ends_at_sigterm() {
    let project = project().await;
    let mut up = up(project.path(), &[]);
    assert_eq!(up.urls.targets.keys().collect::<Vec<_>>(), ["fastapi", "flask", "quart", "sanic"]);
    assert_eq!(up.urls.backends.keys().collect::<Vec<_>>(), ["postgres", "redis"]);
    for url in up.urls.targets.values() {
        assert_eq!(http(url, "GET /health", "").0, 200);
    }
    let status = said(&lab(project.path(), &["status"]));
    assert_eq!(
        status.lines().filter(|line| line.trim_end().ends_with("ok")).count(),
        6,
        "{status}"
    );
    assert!(!status.contains("loadgen:"), "it shows the password: {status}");
    let second = lab(project.path(), &["up"]);
    assert_eq!(second.status.code(), Some(4));
    assert!(said(&second).contains("`loadgen lab down` stops"), "{}", said(&second));

    signal(up.process.id(), Signal::TERM);
    assert_eq!(up.process.wait().unwrap().code(), Some(0));
    assert!(up.services.iter().all(|process| !process.is_alive()));
    assert_eq!(said(&lab(project.path(), &["status"])), "no lab is up\n");
}

#[tokio::test]
async fn the_health_service_of_grpc_says_whether_a_target_is_up() {
    let project = project().await;
    let mut up = up(project.path(), &["--target=grpc", "--backend=redis"]);
    let health = || {
        let status = said(&lab(project.path(), &["status"]));
        status.lines().find(|line| line.contains(" grpc ")).unwrap().to_owned()
    };
    assert!(health().trim_end().ends_with(" ok"), "{}", health());
    let name = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let redis = up.services.iter().find(|service| name(service.pid).starts_with("redis"));
    signal(redis.unwrap().pid.cast_unsigned(), Signal::KILL);
    assert!(health().contains("did not answer grpc.health.v1.Health/Check with SERVING"));
    drop(up.process.stdin.take());
    up.process.wait().unwrap();
    assert_gone(&up.services);
}

#[tokio::test]
async fn no_service_outlives_a_killed_lab() {
    let project = project().await;
    let mut up = up(project.path(), &["--server-workers=2"]);
    assert!(up.services.len() > 16, "{:?}", up.services);
    signal(up.process.id(), Signal::KILL);
    up.process.wait().unwrap();
    assert_gone(&up.services);
    assert_eq!(said(&lab(project.path(), &["status"])), "no lab is up\n");
}

#[tokio::test]
async fn a_closed_input_and_an_early_ctrl_c_end_the_lab() {
    let project = project().await;
    let mut ready = up(project.path(), &["--target=flask", "--backend=redis"]);
    drop(ready.process.stdin.take());
    assert_eq!(ready.process.wait().unwrap().code(), Some(0));
    assert!(ready.services.iter().all(|process| !process.is_alive()));

    let mut command = loadgen(project.path());
    let mut early = command.args(["lab", "up"]).stderr(Stdio::piped()).spawn().unwrap();
    let progress = BufReader::new(early.stderr.take().unwrap());
    assert!(progress.lines().any(|line| line.unwrap().starts_with("starting sanic")));
    let services = below(early.id());
    signal(early.id(), Signal::INT);
    assert_eq!(early.wait().unwrap().code(), Some(0));
    assert_gone(&services);
}

#[tokio::test]
async fn a_lab_in_the_background_stays_until_lab_down() {
    let project = project().await;
    let args = ["up", "--detach", "--format=json", "--target=sanic", "--backend=redis"];
    let output = lab(project.path(), &args);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let urls: Urls = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(http(&urls.targets["sanic"], "GET /redis3", "").0, 200);
    assert_eq!(said(&lab(project.path(), &["down"])), "the lab is down\n");
    assert!(
        std::net::TcpStream::connect(urls.targets["sanic"].trim_start_matches("http://")).is_err()
    );
    assert_eq!(said(&lab(project.path(), &["down"])), "no lab is up\n");
}

#[tokio::test]
async fn invalid_input_is_refused() {
    let project = project().await;
    let unknown = lab(project.path(), &["up", "--target=flsk"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(said(&unknown).contains("did you mean \"flask\"?"), "{}", said(&unknown));

    let elsewhere = tempfile::tempdir().unwrap();
    let nowhere = loadgen(elsewhere.path())
        .args(["lab", "status"])
        .env("LOADGEN_HOME", elsewhere.path())
        .output()
        .unwrap();
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(said(&nowhere).contains("LOADGEN_HOME"), "{}", said(&nowhere));

    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let args = ["up", "--detach", "--target=flask", "--backend=redis", &format!("--port={port}")];
    let in_use = lab(project.path(), &args);
    assert_eq!(in_use.status.code(), Some(4));
    assert!(said(&in_use).contains(&format!("port {port} is in use")), "{}", said(&in_use));
}

#[tokio::test]
async fn waiting_for_a_lab_to_end_has_a_limit() {
    let project = project().await;
    let cache = Home::at(project.path().to_owned()).unwrap().cache().unwrap();
    let mut stubborn = Command::new("sh");
    stubborn.args(["-c", "trap '' TERM; echo; read _"]);
    let mut stubborn = stubborn.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(stubborn.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let _lock = Lock::attempt(&cache.join("lab.lock")).unwrap().unwrap();
    let state = State { pid: stubborn.id(), urls: None };
    std::fs::write(cache.join("lab.json"), serde_json::to_string(&state).unwrap()).unwrap();
    let down = lab(project.path(), &["down"]);
    assert_eq!(down.status.code(), Some(4));
    let expected = format!("still up 1m 20s after the request to end (process {})", stubborn.id());
    assert!(said(&down).contains(&expected), "{}", said(&down));
    drop(stubborn.stdin.take());
    stubborn.wait().unwrap();
}

#[tokio::test]
async fn a_kill_during_initdb_leaves_no_data() {
    let project = project().await;
    let mut command = loadgen(project.path());
    command.args(["lab", "up", "--target=flask", "--backend=postgres"]);
    let mut early = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let initdb = loop {
        if let Some(found) = below(early.id()).into_iter().find(|p| p.name() == "initdb") {
            break found;
        }
        assert!(Instant::now() < deadline, "no initdb was seen");
        std::thread::sleep(Duration::from_millis(5));
    };
    let data = std::fs::read_link(format!("/proc/{}/cwd", initdb.pid)).unwrap();
    let services = below(early.id());
    signal(early.id(), Signal::KILL);
    early.wait().unwrap();
    assert_gone(&services);
    assert!(data.to_string_lossy().contains("loadgen-data-") && !data.exists(), "{data:?}");
}
