//! Real servers over TLS and HTTP/2: each counts exactly as many requests as loadgen, and gets one
//! connection from each user.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, KeyPair};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::common::processes::{Started, signal, tree};
use crate::common::program::{Project, checkout};

const USERS: u64 = 20;
const EACH: u64 = 30;

/// A server and a way to speak to it.
struct Spoken {
    /// Name for messages.
    name: &'static str,
    /// `https`, `h2` or `h2c`.
    mode: &'static str,
    command: fn(&Project, u16, &str) -> Option<Command>,
}

fn program(name: &str) -> Command {
    Command::new(checkout().join(".venv/bin").join(name))
}

fn app(name: &str) -> String {
    checkout().join("loadgen/tests/apps/counting").join(name).display().to_string()
}

fn uvicorn(_: &Project, port: u16, _: &str) -> Option<Command> {
    let mut command = program("uvicorn");
    command.args(["app:app", "--log-level=warning", "--ssl-certfile=cert.pem"]);
    command.args(["--ssl-keyfile=key.pem", &format!("--port={port}")]);
    Some(command)
}

fn hypercorn(_: &Project, port: u16, mode: &str) -> Option<Command> {
    let mut command = program("hypercorn");
    command.args(["app:app", &format!("--bind=127.0.0.1:{port}")]);
    if mode != "h2c" {
        command.args(["--certfile=cert.pem", "--keyfile=key.pem"]);
    }
    Some(command)
}

fn granian(_: &Project, port: u16, mode: &str) -> Option<Command> {
    let mut command = program("granian");
    command.args(["app:app", "--interface=asgi", "--log-level=warning", "--host=127.0.0.1"]);
    command.args([
        format!("--port={port}"),
        format!("--http={}", if mode == "https" { 1 } else { 2 }),
    ]);
    if mode != "h2c" {
        command.args(["--ssl-certificate=cert.pem", "--ssl-keyfile=key.pem"]);
    }
    Some(command)
}

fn node(_: &Project, port: u16, mode: &str) -> Option<Command> {
    let mut command = Command::new("node");
    command.args([&app("server.js"), mode, &port.to_string(), "cert.pem", "key.pem"]);
    is_here("node", "--version").then_some(command)
}

fn go(project: &Project, port: u16, mode: &str) -> Option<Command> {
    if !is_here("go", "version") {
        return None;
    }
    let built = project.path("counting");
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&built).arg(".").current_dir(app(""));
    assert!(build.status().unwrap().success());
    let mut command = Command::new(built);
    command.args([mode, &port.to_string(), "cert.pem", "key.pem"]);
    Some(command)
}

fn nginx(project: &Project, port: u16, mode: &str) -> Option<Command> {
    let listen = match mode {
        "https" => "ssl",
        "h2" => "ssl http2",
        _ => "http2",
    };
    let folder = project.path("").display().to_string();
    let text = fs::read_to_string(app("nginx.conf")).unwrap();
    let text = text.replace("FOLDER", folder.trim_end_matches('/'));
    let text = text.replace("PORT", &port.to_string()).replace("LISTEN", listen);
    fs::write(project.path("nginx.conf"), text).unwrap();
    let mut command = Command::new("nginx");
    command.arg("-p").arg(project.path("")).arg("-c").arg(project.path("nginx.conf"));
    is_here("nginx", "-v").then_some(command)
}

fn is_here(program: &str, option: &str) -> bool {
    let quiet =
        Command::new(program).arg(option).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

/// Ends a server with all its processes.
struct Running(Started);

impl Drop for Running {
    fn drop(&mut self) {
        tree(self.0.id()).into_iter().for_each(|pid| signal(pid, Signal::KILL));
    }
}

/// Returns the number of requests to `/` that the server has counted.
fn counted(project: &Project, url: &str, mode: &str) -> u64 {
    if let Ok(log) = fs::read_to_string(project.path("access.log")) {
        return log.lines().filter(|line| *line == "/").count() as u64;
    }
    let mut client = reqwest::Client::builder().tls_danger_accept_invalid_certs(true);
    if mode == "h2c" {
        client = client.http2_prior_knowledge();
    }
    let count = async { client.build()?.get(format!("{url}/count")).send().await?.text().await };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(count).unwrap().parse().unwrap()
}

fn test(Spoken { name, mode, command }: &Spoken) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let version = if *mode == "https" { "1.1" } else { "2" };
    let scenario = format!(
        "http = {{ version = \"{version}\" }}\n\
         load = {{ users = {USERS}, iterations_per_user = {EACH} }}\n\
         [[step]]\nget = \"/\"\n"
    );
    let project = Project::bare()
        .file("s.toml", &scenario)
        .file("cert.pem", &certificate.self_signed(&key).unwrap().pem())
        .file("key.pem", &key.serialize_pem())
        .file("app.py", &fs::read_to_string(app("app.py")).unwrap());
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let Some(mut command) = command(&project, port, mode) else {
        return println!("skipped: {name} is not on this machine");
    };
    command.current_dir(project.path("")).stdout(Stdio::null());
    let _running = Running(Started::of(&mut command));
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(began.elapsed() < Duration::from_secs(60), "{name} does not start");
        std::thread::sleep(Duration::from_millis(50));
    }
    let scheme = if *mode == "h2c" { "http" } else { "https" };
    let url = format!("{scheme}://127.0.0.1:{port}");
    let mut run = vec!["-s=s.toml", "--warmup=0s", "--format=json", "--out=run", "--url", &url];
    if scheme == "https" {
        run.push("--insecure");
    }
    let finished = project.run(&run);
    assert_eq!(finished.code, Some(0), "{name}, {mode}: {}", finished.said());
    let document: Value = finished.json();
    let target = &document["targets"][0];
    assert_eq!(target["total"]["requests"], USERS * EACH, "{name}, {mode}");
    assert_eq!(target["total"]["errors"], 0, "{name}, {mode}");
    let spoken = if *mode == "https" { "HTTP/1.1" } else { "HTTP/2" };
    let connections = &target["rounds"][0]["connections"];
    assert_eq!(connections["versions"], json!({ spoken: USERS }), "{name}, {mode}");
    assert_eq!(connections["opened"], USERS, "{name}, {mode}");
    // One more request is the verification's.
    assert_eq!(counted(&project, &url, mode), USERS * EACH + 1, "{name}, {mode}");
}

#[test]
fn servers_count_as_many_requests_over_tls_and_http_2_as_loadgen() {
    for spoken in [
        Spoken { name: "nginx", mode: "https", command: nginx },
        Spoken { name: "nginx", mode: "h2", command: nginx },
        Spoken { name: "nginx", mode: "h2c", command: nginx },
        Spoken { name: "uvicorn", mode: "https", command: uvicorn },
        Spoken { name: "hypercorn", mode: "https", command: hypercorn },
        Spoken { name: "hypercorn", mode: "h2", command: hypercorn },
        Spoken { name: "hypercorn", mode: "h2c", command: hypercorn },
        Spoken { name: "granian", mode: "https", command: granian },
        Spoken { name: "granian", mode: "h2", command: granian },
        Spoken { name: "granian", mode: "h2c", command: granian },
        Spoken { name: "Go's net/http", mode: "https", command: go },
        Spoken { name: "Go's net/http", mode: "h2", command: go },
        Spoken { name: "Go's net/http", mode: "h2c", command: go },
        Spoken { name: "Node", mode: "https", command: node },
        Spoken { name: "Node", mode: "h2", command: node },
        Spoken { name: "Node", mode: "h2c", command: node },
    ] {
        test(&spoken);
    }
}
