//! Servers on Unix domain sockets: those that loadgen starts, and those that run already.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::common::processes::Started;
use crate::common::program::{Finished, Project, checkout};

/// An ASGI and a WSGI application.
const ASGI: &str = "\
async def app(scope, receive, send):
    if scope['type'] == 'http':
        await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'content-length', b'2')]})
        await send({'type': 'http.response.body', 'body': b'ok'})
";
const WSGI: &str = "\
def app(environ, start_response):
    start_response('200 OK', [('content-length', '2')])
    return [b'ok']
";

/// Returns a project with targets: name and words of a command.
fn project(targets: &[(&str, &[&str])]) -> Project {
    let table = |(name, words): &(&str, &[&str])| {
        let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        words[0] = checkout().join(".venv/bin").join(&words[0]).display().to_string();
        format!("[target.{name}]\ncommand = {words:?}\nready = \"/\"\n")
    };
    let targets: String = targets.iter().map(table).collect();
    Project::bare().file("loadgen.toml", &targets).file("app.py", ASGI).file("wsgi.py", WSGI)
}

fn run(project: &Project, words: &[&str]) -> Finished {
    project.run(&[words, &ALWAYS].concat())
}

const ALWAYS: [&str; 7] =
    ["-u4", "-i40", "-R1", "--warmup=0s", "--no-calibrate", "--json", "--out=result"];

fn run_with(project: &Project, words: &[&str], variables: &[(&str, &str)]) -> Finished {
    let mut command = project.command(&[words, &ALWAYS].concat());
    let output = command.envs(variables.iter().copied()).output().unwrap();
    Finished::of(output, &project.path(""))
}

const UVICORN: [&str; 4] = ["uvicorn", "app:app", "--log-level=warning", "--uds={socket}"];

#[test]
fn a_port_and_the_sockets_of_real_servers_are_compared() {
    let project = project(&[
        ("port", &["uvicorn", "app:app", "--log-level=warning", "--port={port}"]),
        ("uvicorn", &UVICORN),
        ("hypercorn", &["hypercorn", "app:app", "--bind=unix:{socket}"]),
        ("granian", &["granian", "app:app", "--interface=asgi", "--uds={socket}"]),
        ("gunicorn", &["gunicorn", "wsgi:app", "--bind=unix:{socket}"]),
    ]);
    let finished = run(&project, &["/"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    for target in document["targets"].as_array().unwrap() {
        assert_eq!(target["total"]["requests"], 40, "{target}");
        assert_eq!(target["total"]["errors"], 0, "{target}");
        let addresses = &target["rounds"][0]["connections"]["addresses"];
        let address = addresses[0]["address"].as_str().unwrap();
        let is_socket = address.starts_with("unix:/") && address.ends_with("/app.sock");
        assert_eq!(is_socket, target["name"] != "port", "{target}");
        // The folder of a target goes with it.
        assert!(!Path::new(address.trim_start_matches("unix:")).exists(), "{address}");
        assert!(target["resources"]["target"]["cpu_s"].as_f64().unwrap() > 0.0, "{target}");
    }
}

#[test]
fn a_lab_tells_the_health_of_a_socket() {
    let project = project(&[("shop", &UVICORN)]);
    let up = project.run(&["lab", "up", "--detach", "--format=json"]);
    assert_eq!(up.code, Some(0), "{}", up.said());
    let url = up.json()["targets"]["shop"].as_str().unwrap().to_owned();
    assert!(url.starts_with("unix:/"), "{url}");
    let status = project.run(&["lab", "status"]);
    let ran = run(&project, &["--url", &url, "/"]);
    let down = project.run(&["lab", "down"]);
    assert!(status.stdout.contains(" ok"), "{}", status.stdout);
    assert_eq!((ran.code, down.code), (Some(0), Some(0)), "{}", ran.said());
    assert!(!Path::new(url.trim_start_matches("unix:")).exists());
}

#[test]
fn replicas_on_sockets_share_the_requests() {
    for balancer in crate::replicas::balancers() {
        let project = project(&[("shop", &UVICORN)]);
        let finished =
            run_with(&project, &["/", "--replicas=2"], &[("LOADGEN_BALANCER", balancer)]);
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        let round = &finished.json()["targets"][0]["rounds"][0];
        let responses = crate::common::program::responses_of_replicas(round);
        assert_eq!(responses, [20, 20], "{balancer}: {round}");
    }
}

/// Ends nginx when dropped.
struct Nginx(Started);

impl Nginx {
    /// Starts nginx on the socket `app.sock` of a project; `None` without nginx. It answers with host and URI, and logs
    /// each URI.
    fn start(project: &Project, version: &str) -> Option<Self> {
        let is_here = Command::new("nginx").arg("-v").stderr(Stdio::null()).status().is_ok();
        if !is_here {
            println!("skipped: nginx is not installed; run `make setup` as root on Debian");
            return None;
        }
        let folder = project.path("").display().to_string();
        let folder = folder.trim_end_matches('/');
        let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {folder}/{name};"));
        let text = format!(
            "daemon off; master_process off; pid {folder}/pid; error_log {folder}/error;\n\
             events {{ }}\n\
             http {{ {} log_format uri $request_uri; access_log {folder}/access uri;\n\
             server {{ listen unix:{folder}/app.sock {version}; return 200 \"$host $request_uri\"; }} }}",
            places.concat()
        );
        fs::write(project.path("nginx.conf"), text).unwrap();
        let mut command = Command::new("nginx");
        command.arg("-p").arg(project.path("")).arg("-c").arg(project.path("nginx.conf"));
        let started = Started::of(command.stderr(Stdio::null()));
        let began = Instant::now();
        while !project.path("app.sock").exists() {
            assert!(began.elapsed() < Duration::from_secs(20), "nginx does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(Self(started))
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        crate::common::processes::signal(self.0.id(), rustix::process::Signal::KILL);
    }
}

#[test]
fn a_running_server_is_reached_in_each_form_of_its_url() {
    let project = Project::bare()
        .file("s.toml", "[[step]]\nget = \"/a?b\"\nexpect.body = \"localhost /a?b\"\n");
    let Some(_nginx) = Nginx::start(&project, "") else { return };
    let socket = project.path("app.sock").display().to_string();
    let encoded = format!("http+unix://{}", socket.replace('/', "%2F"));
    let url = "unix:[project]/app.sock";
    for words in [
        vec!["-s=s.toml", "--url=unix:app.sock"],
        vec!["-s=s.toml", "--url", &encoded],
        vec!["-s=s.toml", "--url=unix:app.sock", "--workers=2"],
        vec![&*format!("unix:{socket}:/a?b")],
        vec![&*format!("shop={encoded}/a?b")],
    ] {
        let finished = run(&project, &words);
        assert_eq!(finished.code, Some(0), "{words:?}: {}", finished.said());
        let document = finished.json();
        let target = &document["targets"][0];
        let name = if words[0].starts_with("shop") { "shop" } else { url };
        assert_eq!((&target["name"], &target["total"]["requests"]), (&json!(name), &json!(40)));
        let addresses = &target["rounds"][0]["connections"]["addresses"];
        let connections = addresses[0]["connections"].as_u64().unwrap();
        assert_eq!(addresses[0]["address"], json!(url));
        assert_eq!(connections, 4, "{addresses}");
        fs::remove_dir_all(project.path("result")).unwrap();
    }
    let log = fs::read_to_string(project.path("access")).unwrap();
    // Each run begins with a request that verifies the server.
    assert_eq!(log.lines().filter(|line| *line == "/a?b").count(), 5 * 41);
}

#[test]
fn a_server_on_a_socket_is_known_by_its_processes() {
    let project = Project::bare();
    let Some(_nginx) = Nginx::start(&project, "") else { return };
    let always = ["-u2", "-d2s", "--warmup=0s", "--no-calibrate", "--json", "--out=result"];
    let finished = project.run(&[&["unix:app.sock:/"][..], &always].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let round = &finished.json()["targets"][0]["rounds"][0];
    // Unless the server is known, what others used is not.
    assert!(round["others_percent"].is_number(), "{round}");
    assert!(round["busiest_others"].get("nginx").is_none(), "{round}");
}

#[test]
fn http2_is_spoken_over_a_socket() {
    let project =
        Project::bare().file("s.toml", "http = { version = \"2\" }\n[[step]]\nget = \"/\"\n");
    let Some(_nginx) = Nginx::start(&project, "http2") else { return };
    let finished = run(&project, &["-s=s.toml", "--url=unix:app.sock"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let round = &finished.json()["targets"][0]["rounds"][0];
    assert_eq!(round["connections"]["versions"], json!({ "HTTP/2": 4 }));
}

#[test]
fn a_socket_without_a_server_is_said() {
    let project = Project::bare()
        .file("s.toml", "http = { proxy = \"http://127.0.0.1:1\" }\n[[step]]\nget = \"/\"\n");
    fs::write(project.path("file"), "").unwrap();
    let said: Vec<String> = [
        vec!["unix:missing.sock:/"],
        vec!["unix:file:/"],
        vec!["unix:"],
        vec!["-s=s.toml", "--url=unix:app.sock"],
    ]
    .iter()
    .map(|words| run(&project, words).said())
    .collect();
    insta::assert_snapshot!(said.join("\n"));
}
