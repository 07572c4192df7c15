//! `loadgen init --targets`: what it finds is tried before it is written.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::common::processes::{assert_gone, signal, tree};
use crate::common::program::{Finished, Project, checkout};

const STARLETTE: &str = "
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

app = Starlette(routes=[Route('/shop', lambda request: PlainTextResponse('open'))])
";

const COMPOSE: &str = "
services:
  database:
    image: postgres
    command: postgres
  admin:
    build: .
    command: python3 admin.py --port 8000
";

fn init(project: &Project, arguments: &[&str]) -> Finished {
    let mut command = project.command(&[&["init", "--targets"], arguments].concat());
    command.env("VIRTUAL_ENV", checkout().join(".venv"));
    Finished::of(command.output().unwrap(), &project.path(""))
}

fn written(project: &Project) -> String {
    fs::read_to_string(project.path("loadgen.toml")).unwrap()
}

#[test]
fn each_server_is_started_before_it_is_written() {
    let project = Project::bare().file("shop.py", STARLETTE).file("compose.yaml", COMPOSE);
    let project = project.file("admin.py", "raise RuntimeError('no database')\n");
    let finished = init(&project, &[]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    insta::assert_snapshot!(finished.said());
    insta::assert_snapshot!(written(&project));
    // The server that started can be measured.
    let mut command = project.command(&["list"]);
    let listed = Finished::of(command.output().unwrap(), &project.path(""));
    assert!(listed.stdout.contains("starlette"), "{}", listed.said());
}

#[test]
fn a_stated_command_that_fails_is_replaced_by_one_that_starts() {
    let procfile = "web: no-such-server shop:app --port $PORT\n";
    let project = Project::bare().file("shop.py", STARLETTE).file("Procfile", procfile);
    let finished = init(&project, &[]);
    let line = "starlette  Starlette, in shop.py  started, GET / answered 404";
    assert!(finished.stderr.contains(line), "{}", finished.said());
    let file = written(&project);
    let note = "# the command in Procfile failed here: the command no-such-server is neither";
    assert!(file.contains(note) && file.contains("\"uvicorn\", \"shop:app\""), "{file}");
}

#[test]
fn nothing_is_started_without_a_trial() {
    let project = Project::bare().file("Procfile", "web: touch started $PORT\n");
    let finished = init(&project, &["--no-try"]);
    assert!(finished.stderr.contains("a guess: not tried"), "{}", finished.said());
    assert!(written(&project).contains("# a guess: not tried\n[target.touch]"));
    assert!(!project.path("started").exists());
    // An existing file is left as it is, and nothing is tried.
    assert_eq!(init(&project, &[]).code, Some(2));
    assert!(!project.path("started").exists());
}

#[test]
fn ctrl_c_ends_what_was_started() {
    let code = "open('started', 'w'); import time; time.sleep(60)\n";
    let project = Project::bare().file("slow.py", code);
    let project = project.file("Procfile", "web: python3 slow.py $PORT\n");
    let mut command = project.command(&["init", "--targets"]);
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(15);
    while !project.path("started").exists() {
        assert!(Instant::now() < deadline, "the server was not started");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut pids = tree(child.id());
    pids.remove(&child.id());
    assert!(pids.len() >= 2, "a guard and its server: {pids:?}");
    signal(child.id(), Signal::INT);
    let finished = Finished::of(child.wait_with_output().unwrap(), &project.path(""));
    assert_eq!(finished.code, Some(130), "{}", finished.said());
    assert_gone(&pids, Duration::from_secs(1));
    assert!(written(&project).contains("# a guess: not tried\n[target.slow]"));
}
