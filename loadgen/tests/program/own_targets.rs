//! A user's own servers, which loadgen starts: from an empty folder with nothing but `loadgen.toml`.

use std::fs;

use serde_json::Value;

use crate::common::program::{Finished, Project, checkout};

/// A server whose answers show its environment, its port and its folder.
const SERVER: &str = r#"
import http.server, os, sys

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        text = f"{os.environ.get('WHAT')} {os.environ.get('MINE')} {os.path.basename(os.getcwd())}"
        self.send_response(200 if self.path in ("/", "/ready") else 404)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
"#;

const TARGETS: &str = r#"
[target.plain]
command = ["python3", "server.py", "{host}", "{port}"]

[target.other]
command = ["python3", "server.py", "{host}", "{port}"]
ready = "/ready"
env = { WHAT = "on {port}" }
"#;

fn project(targets: &str) -> Project {
    Project::bare().file("server.py", SERVER).file("loadgen.toml", targets)
}

fn run(project: &Project, arguments: &[&str]) -> Finished {
    let short = ["-u2", "-i20", "--warmup=0s", "--no-calibrate", "--json", "--out=result"];
    let mut command = project.command(&[arguments, &short].concat());
    Finished::of(command.env("MINE", "shown").output().unwrap(), &project.path(""))
}

#[test]
fn own_targets_are_compared_from_a_folder_below() {
    let project = project(TARGETS);
    fs::create_dir(project.path("src")).unwrap();
    let mut command = project.command(&["/", "-u2", "-i20", "-R1", "--warmup=0s", "--json"]);
    let output = command.current_dir(project.path("src")).output().unwrap();
    let finished = Finished::of(output, &project.path(""));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let counted = |index: usize| -> (&Value, &Value) {
        let target = &document["targets"][index];
        (&target["name"], &target["total"]["requests"])
    };
    assert_eq!(counted(0), (&"plain".into(), &20.into()), "{}", finished.said());
    assert_eq!(counted(1), (&"other".into(), &20.into()));
    assert!(finished.stderr.contains("2 rounds over plain, other"), "{}", finished.stderr);
    assert!(finished.stderr.contains("starting each contender once"), "{}", finished.stderr);
}

#[test]
fn own_targets_have_the_users_environment_and_their_own_variables() {
    let scenario = r#"
        [[step]]
        get = "/"
        expect.regex = '^on \d+ shown \.tmp'
    "#;
    let project = project(TARGETS).file("mine.toml", scenario);
    let finished = run(&project, &["-s=mine.toml", "-t=other", "-R1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
}

#[test]
fn a_missing_program_is_found_before_others_are_measured() {
    let missing =
        format!("{TARGETS}\n[target.last]\ncommand = [\"no-such-program\", \"{{port}}\"]\n");
    let project = project(&missing);
    let finished = run(&project, &["/", "-R1"]);
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    assert!(finished.stderr.contains("the command no-such-program is neither"));
    assert!(!project.path("result/run.json").exists(), "nothing was measured");
}

#[test]
fn a_target_that_is_wrong_is_found_before_others_are_measured() {
    let project = project(TARGETS);
    let finished = run(&project, &["/missing", "-R1"]);
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    assert!(finished.stderr.contains("does not respond as the scenario expects"));
    assert!(!project.path("result/run.json").exists(), "nothing was measured");
}

#[test]
fn a_build_runs_once_and_its_failure_is_shown() {
    let built = "[target.a]\nbuild = [\"python3\", \"-c\", \"open('built', 'a').write('x')\"]\n\
                 command = [\"python3\", \"server.py\", \"{host}\", \"{port}\"]\n";
    let project = project(built);
    let finished = run(&project, &["/", "-R2"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert_eq!(fs::read_to_string(project.path("built")).unwrap(), "x");
    let failing = built.replace("open('built', 'a').write('x')", "exit('no compiler')");
    fs::write(project.path("loadgen.toml"), failing).unwrap();
    fs::remove_dir_all(project.path("result")).unwrap();
    let failed = run(&project, &["/", "-R1"]);
    assert_eq!(failed.code, Some(4), "{}", failed.said());
    assert!(failed.stderr.contains("cannot build a") && failed.stderr.contains("no compiler"));
}

/// A program that sets a key in Redis, and counts its own runs in a file.
const SEED: &str = r#"
import os, socket, sys
from urllib.parse import urlsplit

url = urlsplit(os.environ["REDIS_URL"])
assert os.environ["SEED_URL"] == "at " + os.environ["REDIS_URL"]
if os.path.exists("broken"):
    sys.exit("no seed today")
with socket.create_connection((url.hostname, url.port)) as connection:
    connection.sendall(f"AUTH {url.password}\r\nSET seeded 1\r\n".encode())
    assert connection.makefile().readline() == "+OK\n"
open("fills", "a").write("x")
"#;

#[test]
fn a_command_fills_a_backend_and_its_failure_is_shown() {
    let targets = "[target.plain]\ncommand = [\"python3\", \"server.py\", \"{host}\", \"{port}\"]\n\
                   env = { REDIS_URL = \"{redis}\" }\n\
                   [backend.redis]\nfill = [\"python3\", \"seed.py\"]\nenv = { SEED_URL = \"at {redis}\" }\n";
    let project = project(targets).file("seed.py", SEED);
    let environment = checkout().join(".venv");
    let run = |arguments: &[&str]| {
        let mut command = project.command(arguments);
        let output = command.env("VIRTUAL_ENV", &environment).output().unwrap();
        Finished::of(output, &project.path(""))
    };
    let short = ["/", "-u1", "-i5", "-R2", "--warmup=0s", "--json", "--out=result"];
    let finished = run(&short);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    // Redis is filled before each round.
    assert!(fs::read_to_string(project.path("fills")).unwrap().len() >= 2);
    fs::write(project.path("broken"), "").unwrap();
    fs::remove_dir_all(project.path("result")).unwrap();
    let failed = run(&short);
    assert_eq!(failed.code, Some(4), "{}", failed.said());
    assert!(failed.stderr.contains("cannot fill redis"), "{}", failed.stderr);
    assert!(failed.stderr.contains("| no seed today"), "{}", failed.stderr);
    assert!(project.path("result/redis-fill.log").is_file());
}

#[test]
fn an_image_needs_containers() {
    let image = "[target.shop]\nimage = \"localhost/shop\"\ncommand = [\"serve\"]\ncpus = 1\n";
    let project = project(&format!("{TARGETS}\n{image}"));
    let finished = project.run(&["/", "-t=shop", "--out=result"]);
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    assert!(finished.stderr.contains("`cpus` and `memory` limit its container"));
    // Without a name, the others are measured.
    let finished = run(&project, &["/", "-R1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert!(finished.json()["left_out"]["shop"].is_string());
}

#[test]
fn faults_of_the_file_are_shown_at_their_line() {
    let project = project(&TARGETS.replace("ready =", "redy ="));
    let finished = project.run(&["/"]);
    assert_eq!(finished.code, Some(2), "{}", finished.said());
    assert!(finished.stderr.contains("loadgen.toml") && finished.stderr.contains("redy"));
}

#[test]
fn the_file_is_written_with_what_the_folder_contains() {
    let project = Project::bare().file("shop.py", "from flask import Flask\napp = Flask('shop')\n");
    let mut command = project.command(&["init", "--targets", "--no-try"]);
    // Without the servers of an environment, Flask's usual one is written.
    command.env_remove("VIRTUAL_ENV").env("PATH", "/nonexistent");
    let written = Finished::of(command.output().unwrap(), &project.path(""));
    insta::assert_snapshot!(written.said());
    insta::assert_snapshot!(fs::read_to_string(project.path("loadgen.toml")).unwrap());
    let listed = project.run(&["list"]);
    assert_eq!(
        listed.stdout,
        "targets\n  flask              flask on gunicorn\n",
        "{}",
        listed.said()
    );
    assert_eq!(project.run(&["init", "--targets"]).code, Some(2));
}
