//! Runs of projects in containers, and a look at podman's own lists.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::program::{Finished, Project};

/// Runs podman, which must succeed, and returns its trimmed stdout.
#[track_caller]
pub fn podman(words: &[&str]) -> String {
    let output = Command::new("podman").args(words).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Returns the names of the containers, networks, volumes and pods of one loadgen process that
/// podman knows.
pub fn left_of(process: u32) -> Vec<String> {
    left(&project_of(process))
}

/// Returns the names like [`left_of`], for all projects of podman-compose whose names begin so.
pub fn left(project: &str) -> Vec<String> {
    let name = &format!("name=^{project}");
    let lists = [
        podman(&["ps", "--all", "--filter", name, "--format", "{{.Names}}"]),
        podman(&["network", "ls", "--filter", name, "--format", "{{.Name}}"]),
        podman(&["volume", "ls", "--filter", name, "--format", "{{.Name}}"]),
        podman(&["pod", "ls", "--filter", name, "--format", "{{.Name}}"]),
    ];
    lists.iter().flat_map(|list| list.lines()).map(str::to_owned).collect()
}

/// Beginning of the names of what belongs to one loadgen process.
fn project_of(process: u32) -> String {
    format!("loadgen-{process}-")
}

/// Waits until nothing of this process is left. Panics after the minute in which a busy podman must have removed all.
#[track_caller]
pub fn assert_nothing_left(process: u32) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !left_of(process).is_empty() {
        assert!(Instant::now() < deadline, "still there: {:?}", left_of(process));
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Longest wait for a container of a run that neither starts it nor ends. A busy machine may take a minute for a few.
const LONGEST: Duration = Duration::from_secs(300);

/// Waits until this service of a run has a running container, and returns the container's name.
/// Panics with what the run printed if the run ends first, or neither happens for five minutes.
#[track_caller]
pub fn container(run: &mut Child, service: &str) -> String {
    let (end, deadline) = (format!("_{service}_1"), Instant::now() + LONGEST);
    let name = format!("name=^{}", project_of(run.id()));
    loop {
        let names = podman(&["ps", "--filter", &name, "--format", "{{.Names}}"]);
        if let Some(name) = names.lines().find(|name| name.ends_with(&end)) {
            return name.to_owned();
        }
        if run.try_wait().unwrap().is_some() || Instant::now() > deadline {
            run.kill().unwrap();
            let mut said = String::new();
            run.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            panic!("no {service} came up beside {names:?}. The run said:\n{said}");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Starts a run of one round in containers, which prints its document.
pub fn start(project: &Project, words: &[&str]) -> Child {
    let always = ["run", "--runtime=podman", "--rounds=1", "--no-calibrate", "--format=json"];
    spawn(project.command(&[&always[..], words].concat()))
}

/// Starts loadgen, and keeps what it prints.
pub fn spawn(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for the end of loadgen, which may leave nothing in podman.
#[track_caller]
pub fn finish(project: &Project, run: Child) -> Finished {
    let process = run.id();
    let finished = Finished::of(run.wait_with_output().unwrap(), &project.path(""));
    assert_nothing_left(process);
    finished
}

/// Returns the resource usage of one service of the run's only target.
pub fn used<'a>(document: &'a Value, service: &str) -> &'a Value {
    &document["targets"][0]["resources"][service]
}
