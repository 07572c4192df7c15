//! Connections that were really opened, and the HTTP versions spoken over them.

use std::collections::BTreeMap;
use std::process::Command;

use axum::Router;
use axum::routing::get;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::common::ill_behaved;
use crate::common::program::{Finished, Project};
use crate::common::tls::Tls;

const RUN: [&str; 4] = ["-s=s.toml", "--warmup=0s", "--format=json", "--out=run"];

/// Returns a scenario in which each of `users` users sends thirty requests, without a time limit.
fn scenario_of(users: u32, http: &str) -> String {
    format!(
        "{http}\nload = {{ users = {users}, iterations_per_user = 30 }}\n[[step]]\nget = \"/\"\n"
    )
}

/// Runs this scenario against a server behind TLS, and returns the document.
fn run(server: &Tls, scenario: &str, users: u32) -> Value {
    let project = Project::real()
        .file("s.toml", &scenario_of(users, scenario))
        .file("ca.pem", &server.certificate);
    let mut command = project.command(&[&RUN[..], &["--url", &server.url]].concat());
    command.env("SSL_CERT_FILE", project.path("ca.pem"));
    let output = tokio::task::block_in_place(|| command.output().unwrap());
    let finished = Finished::of(output, &project.path(""));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    finished.json()
}

fn of_kind(document: &Value, kind: &str) -> Vec<String> {
    let verdicts = document["verdicts"].as_array().unwrap().iter();
    let messages = verdicts.filter(|verdict| verdict["kind"] == *kind);
    messages.map(|verdict| verdict["message"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn users_over_tls_have_one_connection_each() {
    let server = Tls::start(&["http/1.1"]).await;
    let document = run(&server, "", 100);
    let connections = &document["targets"][0]["rounds"][0]["connections"];
    println!("{} accepted; {connections}", server.connections());
    // One more connection is the verification's.
    assert_eq!(server.connections(), 101);
    assert_eq!(connections["opened"], 100);
    assert_eq!(connections["versions"], json!({ "HTTP/1.1": 100 }));
    assert_eq!(of_kind(&document, "more_connections"), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_http_2_is_reported() {
    let http2 = "http = { version = \"2\" }";
    let server = Tls::start(&["h2", "http/1.1"]).await;
    let document = run(&server, http2, 5);
    let connections = &document["targets"][0]["rounds"][0]["connections"];
    assert_eq!(server.versions(), ["HTTP/2.0".to_owned()].into());
    assert_eq!(connections["versions"], json!({ "HTTP/2": 5 }));
    assert_eq!(of_kind(&document, "other_version"), [""; 0]);

    let server = Tls::start(&["http/1.1"]).await;
    let document = run(&server, http2, 5);
    assert_eq!(server.versions(), ["HTTP/1.1".to_owned()].into());
    assert_eq!(
        of_kind(&document, "other_version"),
        ["the scenario requests HTTP/2, but of 5 connections 5 used HTTP/1.1"]
    );
}

/// Starts a server at this address, and returns its port.
async fn listening(address: &str) -> u16 {
    let listener = TcpListener::bind(format!("{address}:0")).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let app = Router::new().route("/", get(async || "hello"));
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    port
}

/// Runs six users against `http://many.test:PORT`, where the name `many.test` has these
/// addresses. The run is in a mount namespace with a separate hosts file. Returns `None` if this
/// process may not create such a namespace.
fn by_name(addresses: &[&str], port: u16, transport: &str) -> Option<Value> {
    const HIDE: &str = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";
    let scenario = scenario_of(6, &format!("http = {{ transport = \"{transport}\" }}"));
    let hosts: Vec<String> = addresses.iter().map(|it| format!("{it} many.test\n")).collect();
    let project = Project::real().file("s.toml", &scenario).file("hosts", &hosts.concat());
    let try_it = ["--mount", "sh", "-c", "mount --bind /etc/hosts /etc/hosts"];
    let tried = Command::new("unshare").args(try_it).output();
    if !tried.is_ok_and(|output| output.status.success()) {
        println!("skipped: no mount namespace can be made here");
        return None;
    }
    let url = format!("http://many.test:{port}");
    let plain = project.command(&[&RUN[..], &["--url", &url]].concat());
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", HIDE]).arg(project.path("hosts"));
    command.arg(plain.get_program()).args(plain.get_args()).current_dir(project.path(""));
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = tokio::task::block_in_place(|| command.output().unwrap());
    let finished = Finished::of(output, &project.path(""));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    Some(finished.json())
}

/// Returns the number of connections that each address got.
fn shares(document: &Value) -> BTreeMap<String, u64> {
    let addresses = &document["targets"][0]["rounds"][0]["connections"]["addresses"];
    let each = addresses.as_array().unwrap().iter().map(|it| {
        let ip = it["address"].as_str().unwrap().rsplit_once(':').unwrap().0;
        (ip.to_owned(), it["connections"].as_u64().unwrap())
    });
    each.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn users_are_spread_over_all_addresses_of_a_name() {
    let port = listening("[::]").await;
    for transport in ["http1", "reqwest"] {
        let all = ["127.0.0.1", "127.0.0.2", "::1"];
        let Some(document) = by_name(&all, port, transport) else { return };
        let even = ["127.0.0.1", "127.0.0.2", "[::1]"].map(|ip| (ip.to_owned(), 2));
        assert_eq!(shares(&document), even.into(), "{transport}");
        assert_eq!(of_kind(&document, "uneven_addresses"), [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_address_is_reported_and_stalls_no_user() {
    let port = listening("127.0.0.1").await;
    for transport in ["http1", "reqwest"] {
        let Some(document) = by_name(&["::1", "127.0.0.1"], port, transport) else { return };
        let expected = [("127.0.0.1".to_owned(), 6), ("[::1]".to_owned(), 0)];
        assert_eq!(shares(&document), expected.into(), "{transport}");
        let total = &document["targets"][0]["total"];
        assert_eq!((&total["errors"], &total["requests"]), (&json!(0), &json!(180)), "{transport}");
        let told = of_kind(&document, "uneven_addresses");
        assert_eq!(told.len(), 1, "{transport}: {document:#}");
        assert!(told[0].contains("[::1]") && told[0].contains("refused"), "{told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_closes_each_connection_is_reported() {
    let answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";
    let address = ill_behaved(answer).await;
    let project = Project::real().file("s.toml", "[[step]]\nget = \"/\"\n");
    let url = format!("http://{address}");
    let finished = tokio::task::block_in_place(|| {
        project.run(&[
            "-s=s.toml",
            "--iterations=20",
            "--users=2",
            "--warmup=0s",
            "--format=json",
            "--out=run",
            "--url",
            &url,
        ])
    });
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let connections = &document["targets"][0]["rounds"][0]["connections"];
    assert_eq!(connections["opened"], 20);
    assert_eq!(connections["versions"], json!({ "HTTP/1.1": 20 }));
    assert_eq!(of_kind(&document, "more_connections"), ["20 connections were opened for 2 users"]);
}
