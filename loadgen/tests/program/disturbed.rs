//! Programs beside a run of a server that runs already are noticed.

use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::processes::Started;
use crate::common::program::{Project, checkout};

/// Starts a server of its own on a free port, because children of this process would belong to a
/// server in this process.
fn server() -> (Started, String) {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let mut command = Command::new(checkout().join(".venv/bin/python"));
    command.args(["-m", "http.server", "--bind", "127.0.0.1", &port.to_string()]);
    command.current_dir(checkout().join("scenarios"));
    let server = Started::of(command.stdout(Stdio::null()).stderr(Stdio::null()));
    let deadline = Instant::now() + Duration::from_secs(60);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "the server does not listen");
        std::thread::sleep(Duration::from_millis(50));
    }
    (server, format!("http://127.0.0.1:{port}/"))
}

#[test]
#[cfg(target_os = "linux")]
fn a_busy_program_beside_a_run_is_named() {
    let (_server, url) = server();
    let _busy = Started::of(Command::new("sh").args(["-c", "while :; do :; done"]));
    let project = Project::bare();
    let finished = project.run(&[&url, "-u1", "-d3s", "--warmup=0s", "--no-calibrate", "--json"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let round = &document["targets"][0]["rounds"][0];
    assert!(round["others_percent"].as_f64().unwrap() >= 10.0, "{round}");
    assert!(!round["busiest_others"].as_object().unwrap().is_empty(), "{round}");
    let verdicts = document["verdicts"].as_array().unwrap();
    assert!(verdicts.iter().any(|verdict| verdict["kind"] == "disturbed"), "{verdicts:?}");
}
