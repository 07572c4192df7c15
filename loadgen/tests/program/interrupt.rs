//! Ctrl-C on a real terminal, SIGTERM, and `kill -9`: results are kept, and nothing is left behind.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::Counting;
use crate::common::processes::{assert_gone, manager_in, signal, tree};
use crate::common::program::Project;
use rexpect::process::WaitStatus;
use rexpect::session::spawn_command;
use rustix::process::Signal;
use serde_json::Value;

const LOAD: [&str; 6] = [
    "--scenario=redis3",
    "--target=fastapi",
    "--workers=2",
    "--rounds=1",
    "--duration=60s",
    "--out=run",
];

#[test]
fn ctrl_c_keeps_the_measurements_and_leaves_no_process() {
    let project = Project::real();
    let mut command = project.command(&LOAD);
    command.stdin(Stdio::inherit()).env("TERM", "xterm");
    let mut terminal = spawn_command(command, Some(60_000)).unwrap();
    terminal.exp_string("requests/s").unwrap();
    let pids = tree(manager_in(&project));
    assert!(pids.len() > 5, "workers, guards and services: {pids:?}");
    terminal.send_control('c').unwrap();
    let rest = terminal.exp_eof().unwrap();
    assert!(rest.contains("the run was interrupted"), "{rest}");
    let status = terminal.process().wait().unwrap();
    assert!(matches!(status, WaitStatus::Exited(_, 130)), "{status:?}\n{rest}");
    assert_gone(&pids, Duration::from_secs(1));
    let record: Value =
        serde_json::from_slice(&fs::read(project.path("run/run.json")).unwrap()).unwrap();
    assert_eq!(record["interrupted"], true);
    assert!(record["targets"][0]["total"]["requests"].as_u64().unwrap() > 0, "it is saved");
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_keeps_the_measurements_and_leaves_no_process() {
    let server = Counting::start().await;
    let project = Project::real();
    let arguments =
        ["-s=direct", "--url", &server.url, "--workers=2", "--duration=60s", "--out=run"];
    let child = project.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while server.requests() < 1_000 {
        assert!(Instant::now() < deadline, "the load has not begun");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Waits past the warm-up, so that there is a result to report.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let pids = tree(child.id());
    signal(child.id(), Signal::TERM);
    let output = tokio::task::block_in_place(|| child.wait_with_output().unwrap());
    assert_eq!(output.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&output.stdout).contains("interrupted"));
    assert_gone(&pids, Duration::from_secs(1));
}

#[test]
fn kill_9_leaves_neither_workers_nor_services() {
    let project = Project::real();
    let mut child = project.command(&LOAD).stderr(Stdio::null()).spawn().unwrap();
    let log = project.path("run/fastapi-1.log");
    let deadline = Instant::now() + Duration::from_secs(60);
    // The log exists once the target starts; then the load begins.
    while !log.exists() {
        assert!(Instant::now() < deadline, "the target has not been started");
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_secs(3));
    let pids = tree(child.id());
    assert!(pids.len() > 5, "workers, guards and services: {pids:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_gone(&pids, Duration::from_secs(10));
}
