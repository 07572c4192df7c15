//! Real nginx that renews connections: after some requests, and when it reloads its configuration. Nothing fails.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::common::processes::{Started, signal, tree};
use crate::common::program::Project;

const CONFIGURATION: &str = "
daemon off;
pid FOLDER/nginx.pid;
error_log FOLDER/error.log;
events { worker_connections 512; }
http {
    access_log off;
    keepalive_requests 1000;
    server { listen 127.0.0.1:PORT HTTP2; location / { return 200 \"ok\"; } }
}
";

/// A server that ends with this value.
struct Nginx {
    process: Started,
    url: String,
}

impl Nginx {
    /// Starts nginx; `None` if it is not installed.
    fn start(project: &Project, http2: &str) -> Option<Self> {
        let version = Command::new("nginx").arg("-v").stderr(Stdio::null()).status();
        if !version.is_ok_and(|status| status.success()) {
            println!("skipped: there is no nginx; on Debian as root, `make setup` installs it");
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = project.path("").display().to_string();
        let text = CONFIGURATION.replace("FOLDER", folder.trim_end_matches('/'));
        let text = text.replace("PORT", &port.to_string()).replace("HTTP2", http2);
        fs::write(project.path("nginx.conf"), text).unwrap();
        let mut command = Command::new("nginx");
        command.arg("-p").arg(project.path("")).arg("-c").arg(project.path("nginx.conf"));
        let process = Started::of(command.stdout(Stdio::null()).stderr(Stdio::null()));
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(10), "nginx does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(Self { process, url: format!("http://127.0.0.1:{port}") })
    }

    fn reload(&self) {
        signal(self.process.id(), Signal::HUP);
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let pid = self.process.id();
        // nginx ends its workers itself, also one that it starts at this moment for a reload.
        signal(pid, Signal::TERM);
        let begun = Instant::now();
        while tree(pid).len() > 1 && begun.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(20));
        }
        tree(pid).into_iter().for_each(|pid| signal(pid, Signal::KILL));
    }
}

/// Loads nginx, which reloads its configuration four times meanwhile. Returns the document.
fn run(http2: &str, http: &str) -> Option<Value> {
    let scenario = format!(
        "http = {{ {http} }}\nload = {{ users = 20, duration = \"3s\" }}\n[[step]]\nget = \"/\"\n"
    );
    let project = Project::real().file("s.toml", &scenario);
    let nginx = Nginx::start(&project, http2)?;
    let mut command = project.command(&[
        "-s=s.toml",
        "--url",
        &nginx.url,
        "--format=json",
        "--warmup=0s",
        "--no-calibrate",
    ]);
    let loadgen = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    for _ in 0..4 {
        nginx.reload();
        std::thread::sleep(Duration::from_millis(600));
    }
    let output = loadgen.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn no_request_fails_at_a_server_that_renews_its_connections() {
    for (http2, http) in [
        ("", ""),
        ("http2", "version = \"2\""),
        ("http2", "version = \"2\", connections = 2"),
        ("http2", "version = \"2\", transport = \"reqwest\""),
        ("", "transport = \"reqwest\""),
    ] {
        let Some(document) = run(http2, http) else { return };
        let total = &document["targets"][0]["total"];
        println!("{http}: {} requests, {} sent again", total["requests"], total["resent"]);
        assert!(total["requests"].as_u64().unwrap() > 2_000, "{http}: {total}");
        assert_eq!(total["errors"], 0, "{http}: {total}");
    }
}

#[test]
fn without_resending_such_requests_fail() {
    let http = "version = \"2\", connections = 2, resend = false";
    let Some(document) = run("http2", http) else { return };
    let total = &document["targets"][0]["total"];
    assert!(total["errors"].as_u64().unwrap() > 0 && total["resent"] == 0, "{total}");
    assert_eq!(total["errors"], total["errors_by_kind"]["reset"], "{total}");
}
