//! Two loadgens on one machine: the second waits, or both say that they measured together.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::common::Counting;
use crate::common::processes::{Started, signal};
use crate::common::program::{Finished, Project};

/// Returns a command that loads the server for this time, beside or after others of the project.
fn load(project: &Project, server: &Counting, options: &[&str]) -> Command {
    let all = [&[server.url.as_str(), "-u1", "--warmup=0s", "--no-calibrate", "--json"], options];
    let mut command = project.command(&all.concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts a load, and waits until it has sent requests.
fn start(project: &Project, server: &Counting, options: &[&str]) -> Started {
    let before = server.requests();
    let started = Started::of(&mut load(project, server, options));
    let deadline = Instant::now() + Duration::from_secs(60);
    while server.requests() < before + 10 {
        assert!(Instant::now() < deadline, "the load has not begun");
        std::thread::sleep(Duration::from_millis(20));
    }
    started
}

/// Returns the next line on stderr, with the line end.
fn line(stderr: &mut impl BufRead) -> String {
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    line
}

fn has_verdict(finished: &Finished) -> bool {
    let document = finished.json();
    let verdicts = document["verdicts"].as_array().unwrap();
    verdicts.iter().any(|verdict| verdict["kind"] == "measured_together")
}

fn finish(project: &Project, started: Started) -> Finished {
    Finished::of(started.output(), &project.path(""))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_waits_until_the_first_is_gone() {
    let server = Counting::start().await;
    let project = Project::bare();
    tokio::task::block_in_place(|| {
        let mut first = start(&project, &server, &["-d=10m"]);
        let waits =
            format!("waiting for loadgen (pid {}) to end its run; --anyway measures", first.id());

        let mut stopped = Started::of(&mut load(&project, &server, &["-i1"]));
        let mut stderr = BufReader::new(stopped.stderr.take().unwrap());
        let told = line(&mut stderr);
        assert!(told.starts_with(&waits), "{told}");
        signal(stopped.id(), Signal::INT);
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).unwrap();
        assert_eq!(stopped.wait().unwrap().code(), Some(130), "{rest}");

        let mut second = Started::of(&mut load(&project, &server, &["-i5"]));
        let mut stderr = BufReader::new(second.stderr.take().unwrap());
        let told = line(&mut stderr);
        assert!(told.starts_with(&waits), "{told}");
        let before = server.requests();
        // Its lock ends with it, as after `kill -9`.
        first.kill().unwrap();
        first.wait().unwrap();
        let second = finish(&project, second);
        assert_eq!(second.code, Some(0));
        assert!(!has_verdict(&second), "{}", second.stdout);
        assert!(server.requests() >= before + 6);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn with_anyway_both_results_say_so() {
    let server = Counting::start().await;
    let project = Project::bare();
    tokio::task::block_in_place(|| {
        let first = start(&project, &server, &["-d=10s"]);
        let pid = first.id();
        let second = Started::of(&mut load(&project, &server, &["-d=1s", "--anyway"]));
        let second = finish(&project, second);
        let told = format!("loadgen (pid {pid}) measures on this machine at the same time");
        assert!(second.stderr.contains(&told), "{}", second.stderr);
        assert!(has_verdict(&second), "{}", second.stdout);
        let first = finish(&project, first);
        assert_eq!((first.code, second.code), (Some(0), Some(0)), "{}", first.stderr);
        assert!(has_verdict(&first), "{}", first.stdout);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_files_nobody_waits() {
    let server = Counting::start().await;
    let project = Project::bare().file("locks", "");
    let mut command = load(&project, &server, &["-i5"]);
    command.env("LOADGEN_LOCKS", project.path("locks"));
    let finished =
        tokio::task::block_in_place(|| Finished::of(command.output().unwrap(), &project.path("")));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stderr.contains("cannot see other loadgens on this machine: "));
    let _: Value = finished.json();
}
