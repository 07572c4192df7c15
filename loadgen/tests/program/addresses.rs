//! Addresses: the one at which a manager listens, and the one at which its workers find it.

use std::net::TcpListener;

use serde_json::Value;

use crate::common::program::Finished;
use crate::hosts::Setting;

fn port(setting: &Setting) -> &str {
    setting.address.rsplit_once(':').unwrap().1
}

/// Runs a manager that nobody joins, and returns its stderr with single spaces between words.
fn alone(setting: &Setting, listen: &[&str]) -> String {
    let words = [&["--expect-workers=1"], listen].concat();
    let manager = setting.manager_at(&words, &["--wait=300ms", "--duration=1s"]);
    let finished = setting.finished(manager);
    assert_eq!(finished.code, Some(1), "{}", finished.said());
    let lines = finished.stderr.lines().map(|line| line.trim_start_matches(['│', ' ']));
    lines.collect::<Vec<_>>().join(" ")
}

/// Runs one worker, which finds the manager by the join file that the manager has written.
fn with_a_worker(setting: &Setting, listen: &[&str], found_at: &str, out: &str) -> Finished {
    let words = [&["--expect-workers=1"], listen].concat();
    let _ = std::fs::remove_file(setting.project.path("join/0"));
    let load = ["--iterations=20", "--users=2", "--warmup=0s", out];
    let manager = setting.manager_at(&words, &load);
    let worker = setting.worker(0, &["--once"]);
    let finished = setting.finished(manager);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert_eq!(finished.json()["targets"][0]["total"]["requests"], 20);
    let worker = setting.finished(worker);
    assert_eq!(worker.code, Some(0), "{}", worker.said());
    assert!(
        worker.stderr.contains(&format!("joined the manager at {found_at} ")),
        "{}",
        worker.said()
    );
    finished
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_on_all_addresses_is_found_where_advertised() {
    let setting = Setting::new().await;
    let port = port(&setting);
    let listen = format!("--listen=0.0.0.0:{port}");
    // Advertises a host name, then an address, then nothing.
    let at = format!("localhost:{port}");
    with_a_worker(&setting, &[&listen, "--advertise=localhost"], &at, "--out=a");
    let at = format!("127.0.0.1:{port}");
    let said = with_a_worker(&setting, &[&listen, "--advertise", &at], &at, "--out=b").stderr;
    assert!(said.contains(&format!("at {at} (listening at 0.0.0.0:{port})")), "{said}");
    let before = format!("the files named localhost:{port} until now");
    assert!(!said.contains(&before), "there was no file any more: {said}");
    let host = rustix::system::uname();
    let said = alone(&setting, &[&listen]);
    let found_at = format!("{}:{port}", host.nodename().to_str().unwrap());
    assert!(said.contains(&format!("waiting for 1 workers at {found_at} (listening at")), "{said}");
    assert!(said.contains(&format!("the files named {at} until now")), "{said}");
    let join: Value =
        serde_json::from_slice(&std::fs::read(setting.project.path("join/0")).unwrap()).unwrap();
    assert_eq!(join["address"], found_at);
    // The message does not guess at a cause.
    assert!(
        said.contains("check that `loadgen worker` runs") && !said.contains("overload"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_listens_at_an_ipv6_address_with_a_certificate() {
    if let Err(why) = TcpListener::bind("[::1]:0") {
        return println!("skipped: this machine has no IPv6: {why}");
    }
    let setting = Setting::new().await;
    let at = format!("[::1]:{}", port(&setting));
    with_a_worker(&setting, &["--listen", &at], &at, "--out=a");
    let everywhere = format!("--listen=[::]:{}", port(&setting));
    with_a_worker(&setting, &[&everywhere, "--advertise=::1"], &at, "--out=b");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_that_no_other_host_reaches_warns_at_once() {
    let setting = Setting::new().await;
    let port = port(&setting);
    // Debian gives a host's own name this address.
    let said = alone(&setting, &["--listen", &format!("127.0.1.1:{port}")]);
    let warning = format!(
        "warning: the manager listens only at 127.0.1.1:{port}, on the loopback interface: workers on other \
         hosts cannot join. For workers on other hosts: --listen 0.0.0.0:{port} --advertise HOST"
    );
    assert!(said.contains(&warning), "{said}");
    // The warning comes at once, and again when nobody has joined.
    let why = "the manager listens only at 127.0.1.1";
    let (first, last) = (said.find(why), said.rfind(why));
    assert!(first < last && !said.contains("overload"), "{said}");
    let listen = format!("--listen=0.0.0.0:{port}");
    let said = alone(&setting, &[&listen, "--advertise=localhost"]);
    assert!(said.contains("warning: workers look for the manager at localhost"), "{said}");
    let said = alone(&setting, &[&listen, "--advertise=load-1.example"]);
    assert!(!said.contains("warning"), "{said}");
}
