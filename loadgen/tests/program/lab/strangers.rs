//! Foreign servers on one of the lab's ports: the lab neither believes them nor writes to them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use loadgen::lab::backends::redis::Client;
use loadgen::lab::ready::{HealthCheck, Probe, Starting};
use loadgen::lab::service::ServiceSpec;
use loadgen::lab::{Home, Lab, Layout, Options, Runtime};
use loadgen::scenario::{Backend, Existing};
use rustix::process::Signal;

use super::support::{below, guards, project};
use crate::common::processes::signal;

/// A server that belongs to somebody else, and the lines that it was sent.
#[derive(Clone, Default)]
struct Stranger {
    told: Arc<Mutex<Vec<String>>>,
}

impl Stranger {
    /// Listens on this port, and answers each Redis command and each HTTP request with `answer`.
    fn listen(&self, port: u16, answer: fn(&str) -> &'static str) {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let told = Arc::clone(&self.told);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let told = Arc::clone(&told);
                thread::spawn(move || converse(stream.unwrap(), &told, answer));
            }
        });
    }

    fn was_told(&self, word: &str) -> bool {
        self.told.lock().unwrap().iter().any(|line| line.contains(word))
    }
}

fn converse(stream: TcpStream, told: &Mutex<Vec<String>>, answer: fn(&str) -> &'static str) {
    let mut reply = stream.try_clone().unwrap();
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let answer = answer(&line);
        told.lock().unwrap().push(line);
        let _ = reply.write_all(answer.as_bytes());
    }
}

/// Answers like a Redis without a password, which rejects any password.
fn as_redis(line: &str) -> &'static str {
    match line {
        "AUTH" => "-ERR AUTH <password> called without any password configured\r\n",
        "PING" => "+PONG\r\n",
        "FLUSHALL" | "SET" => "+OK\r\n",
        _ => "",
    }
}

/// Answers like a Redis that accepts any password.
fn as_trusting_redis(line: &str) -> &'static str {
    if line == "AUTH" { "+OK\r\n" } else { as_redis(line) }
}

/// Answers like a healthy target.
fn as_target(line: &str) -> &'static str {
    if line.is_empty() { "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n" } else { "" }
}

/// Starts a service that loses each of its ports to a stranger at the
/// moment of its start, and returns the error.
async fn said_of_lost_ports(probe: impl Probe, answer: fn(&str) -> &'static str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let spec = |port| {
        Stranger::default().listen(port, answer);
        ServiceSpec::new("mine", ["sleep", "60"], folder.path(), folder.path().join("log"))
    };
    let starting = Starting::on(None, spec, probe, Duration::from_secs(20)).unwrap();
    starting.ready().await.unwrap_err().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_without_its_port_is_not_ready() {
    guards();
    let me = format!("on which process {} (", std::process::id());
    let redis = Client::new(0, "secret");
    let (redis, target) = tokio::join!(
        said_of_lost_ports(redis, as_trusting_redis),
        said_of_lost_ports(HealthCheck::of_lab().unwrap(), as_target)
    );
    for said in [redis, target] {
        assert!(said.starts_with("mine did not get port ") && said.contains(&me), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_takes_no_password_is_not_ready() {
    let stranger = Stranger::default();
    let port = free_port();
    stranger.listen(port, as_redis);
    let said = Client::new(0, "secret").ask(port).await.unwrap_err();
    assert!(said.contains(&format!("the server on port {port} rejected the password")), "{said}");
    assert!(stranger.was_told("AUTH") && !stranger.was_told("PING"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_on_the_port_of_redis_is_not_emptied() {
    let project = project().await;
    let mut lab = lab(project.path()).await;
    lab.start_backends(&[Backend::Redis]).await.unwrap();
    lab.fill(Existing::default()).await.unwrap();
    let (_, url) = lab.backends().remove(0);
    let port: u16 = url.rsplit(':').next().unwrap().split('/').next().unwrap().parse().unwrap();
    let guard = lab.backend_services()[0].guard_pid();
    let pids: Vec<_> = below(guard);
    assert!(
        pids.iter().all(|process| !process.command_line().contains(password(&url))),
        "the password is for nobody to see"
    );
    signal(pids[0].pid.cast_unsigned(), Signal::KILL);
    while TcpStream::connect(("127.0.0.1", port)).is_ok() {
        thread::sleep(Duration::from_millis(10));
    }
    let stranger = Stranger::default();
    stranger.listen(port, as_redis);
    let said = lab.fill(Existing::default()).await.unwrap_err().to_string();
    assert!(said.contains(&format!("the server on port {port} rejected the password")), "{said}");
    assert!(!stranger.was_told("FLUSHALL"));
    lab.stop().await.unwrap();
}

async fn lab(project: &Path) -> Lab {
    let options = Options {
        logs: project.join("logs"),
        cpus: Layout::here(1),
        runtime: Runtime::Process,
        connections: 0,
    };
    let home = Home::at(project.to_owned()).unwrap();
    Lab::prepare(home, options, Arc::new(|_: &str| {})).await.unwrap()
}

fn password(url: &str) -> &str {
    url.split_once("://:").unwrap().1.split('@').next().unwrap()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
