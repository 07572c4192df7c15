//! Runs that are interrupted, and clients that are killed.

use rustix::process::{Pid, Signal, kill_process};
use tokio::task::block_in_place;

use crate::common::program::Finished;
use crate::support::{Changed, Run, kubectl, left, until};

fn signal(child: &std::process::Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_stops_the_run_and_fetches_what_there_is() {
    let run = Run::new("stopped").await;
    let words = [&run.url("/"), "-u", "4", "-d", "60s", "--workers", "2", "--out", "result"];
    let child = run.command("run", &words).spawn().unwrap();
    run.until_loaded();
    signal(&child, Signal::INT);
    let output = block_in_place(|| child.wait_with_output().unwrap());
    let finished = Finished::of(output, &run.project.path(""));
    assert_eq!(finished.code, Some(130), "{}", finished.stderr);
    assert_eq!(run.record("result")["interrupted"], true);
    assert!(finished.stdout.contains("saved in result"), "{}", finished.stdout);
    assert_eq!(left("stopped"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_before_the_pods_run_removes_all() {
    let run = Run::new("early").await;
    let cordoned = Changed::cordoned();
    let child = run.command("run", &[&run.url("/"), "-d", "60s"]).spawn().unwrap();
    until("no pods", || left("early").iter().any(|it| it.starts_with("pod/")));
    signal(&child, Signal::INT);
    let output = block_in_place(|| child.wait_with_output().unwrap());
    drop(cordoned);
    let finished = Finished::of(output, &run.project.path(""));
    assert_eq!(finished.code, Some(130), "{}", finished.stderr);
    assert!(finished.stderr.contains("interrupted before the run began"), "{}", finished.stderr);
    assert_eq!(left("early"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_killed_leaves_a_run_that_ends_by_itself() {
    let run = Run::new("killed").await;
    let words = [&run.url("/"), "-u", "4", "-d", "5s", "--workers", "2"];
    let mut child = run.command("run", &words).spawn().unwrap();
    run.until_loaded();
    let pod = run.pod(0);
    child.kill().unwrap();
    child.wait().unwrap();
    // The load ends as planned, and the manager waits for somebody who takes its result.
    until("the run goes on", || kubectl(&["logs", &pod]).contains("[1/1]"));
    let (mut before, mut now) = (0, run.server.requests());
    until("the load goes on", || {
        std::thread::sleep(std::time::Duration::from_secs(2));
        (before, now) = (now, run.server.requests());
        before == now
    });
    // All else belongs to the Job, and goes with it.
    kubectl(&["delete", "job", "killed", "--cascade=foreground"]);
    until("something is left", || left("killed").is_empty());
}
