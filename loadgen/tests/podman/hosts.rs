//! A manager and two workers in containers, against a target in another container.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::program::checkout;
use crate::support::{left, podman};

const PROJECT: &str = "loadgen-test-hosts";
const PORT: u16 = 18_001;

/// Runs podman-compose: the copy that a run has installed, or else the one on the PATH.
fn compose(words: &[&str]) {
    compose_to("", words);
}

/// Like `compose`, but also sets the URL that the manager loads. An
/// empty `url` stands for the target's name.
fn compose_to(url: &str, words: &[&str]) {
    assert!(composed(url, words), "podman-compose {words:?}");
}

/// Like `compose_to`, but returns whether podman-compose succeeded.
fn composed(url: &str, words: &[&str]) -> bool {
    let ours = checkout().join(".loadgen/podman-compose/bin/python");
    let mut command = match ours.exists() {
        true => Command::new(ours),
        false => Command::new("podman-compose"),
    };
    if command.get_program() != "podman-compose" {
        command.args(["-m", "podman_compose"]);
    }
    let file: PathBuf = checkout().join("compose/compose.yaml");
    command.args(["-p", PROJECT, "-f"]).arg(file).args(["--profile", "hosts"]).args(words);
    command.env("SANIC_PORT", PORT.to_string()).env("REDIS_URL", "").env("DATABASE_URL", "");
    command.env("URL", url).env("SCENARIO", "direct").env("DURATION", "30s").env("FORMAT", "json");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Takes everything down when dropped, even if the test failed.
struct Down;

impl Drop for Down {
    fn drop(&mut self) {
        // A panic in a panic would end the other tests, too.
        let is_down = composed("", &["down", "--volumes", "--remove-orphans", "--timeout", "2"]);
        assert!(is_down || std::thread::panicking(), "podman-compose down failed");
    }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(90);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Returns whether sanic answers, from outside its container.
fn is_healthy() -> bool {
    let Ok(mut connection) = TcpStream::connect(("127.0.0.1", PORT)) else { return false };
    let mut answer = String::new();
    let asked =
        connection.write_all(b"GET /health HTTP/1.1\r\nhost: sanic\r\nconnection: close\r\n\r\n");
    asked.and_then(|()| connection.read_to_string(&mut answer)).is_ok()
        && answer.starts_with("HTTP/1.1 200")
}

/// Returns a container's standard output and standard error.
fn logs(container: &str) -> [String; 2] {
    let output = Command::new("podman").args(["logs", container]).output().unwrap();
    [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[test]
fn a_killed_worker_is_reported_as_lost() {
    let down = Down;
    compose(&["up", "--detach", "--no-deps", "sanic"]);
    wait_until("sanic's start", is_healthy);
    // The URL has the target's address, not its name: an older aardvark-dns may not answer for
    // half a minute after a container was added.
    let address = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}";
    let address = podman(&["inspect", "--format", address, &format!("{PROJECT}_sanic_1")]);
    let hosts = ["up", "--detach", "--no-deps", "--scale", "worker=2", "manager", "worker"];
    compose_to(&format!("http://{address}:8000"), &hosts);
    let manager = format!("{PROJECT}_manager_1");
    wait_until("both workers' joining", || logs(&manager)[1].contains(": 2 of 2"));
    // The run is saved as soon as the load has been held for a second.
    let saved = ["exec", &manager, "sh", "-c", "test -s /srv/runs/*/run.json"];
    wait_until("the load", || {
        let is_saved = Command::new("podman").args(saved).output().unwrap().status.success();
        let running = podman(&["inspect", "--format", "{{.State.Running}}", &manager]);
        assert!(is_saved || running == "true", "the manager has ended: {}", logs(&manager)[1]);
        is_saved
    });
    podman(&["kill", &format!("{PROJECT}_worker_2")]);

    let exit = podman(&["wait", &manager]);
    let [document, said] = logs(&manager);
    assert_eq!(exit, "5", "{said}");
    let document: Value = serde_json::from_str(&document).unwrap_or_else(|e| panic!("{e}: {said}"));
    let lost = document["degraded"]["lost"].as_array().unwrap();
    assert_eq!(lost.len(), 1, "{said}");
    assert!(document["targets"][0]["total"]["requests"].as_u64().unwrap() > 0, "{said}");
    // The other worker has left, as its manager told it to.
    let other = format!("{PROJECT}_worker_1");
    assert_eq!(podman(&["wait", &other]), "0", "{:?}", logs(&other));
    drop(down);
    let left = left(PROJECT);
    assert!(left.is_empty(), "{left:?}");
}
