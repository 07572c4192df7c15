//! A probe beside a load, on servers whose queues are known.
//!
//! Where a server works on one request at a time, each for S, the requests of N users take N × S: a
//! user finds the N − 1 others. A request at a random time finds all N, of which one is half done on
//! average: it takes (N + ½) × S.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use bytes::Bytes;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::common::machine;
use crate::common::program::Project;

/// Time for which a server works on a request, at least.
const SERVICE: Duration = Duration::from_millis(4);

/// Starts a server that works on one request at a time, in the order in which they came.
async fn one_at_a_time() -> SocketAddr {
    let turn = Arc::new(Mutex::new(()));
    let answer = async move || {
        let _turn = turn.lock().await;
        sleep(SERVICE).await;
    };
    let app = Router::new().route("/", get(answer));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}

/// Starts a server of HTTP/2 that works on one request of each connection at a time.
async fn one_of_each_connection() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve_one_stream(stream));
        }
    });
    address
}

async fn serve_one_stream(stream: TcpStream) {
    let mut server = h2::server::Builder::new();
    let Ok(mut connection) = server.max_concurrent_streams(1).handshake::<_, Bytes>(stream).await
    else {
        return;
    };
    while let Some(Ok((_, mut respond))) = connection.accept().await {
        tokio::spawn(async move {
            sleep(SERVICE).await;
            // A client that is gone needs no response.
            let _ = respond.send_response(axum::http::Response::new(()), true);
        });
    }
}

/// Measures five rounds with a probe, and returns the target, and the verdicts on the probe.
fn measured(scenario: &str, address: SocketAddr, probe: &str) -> (Value, Vec<Value>) {
    let project = Project::real().file("mine.toml", scenario);
    let url = format!("--url=http://{address}");
    let fixed = ["-s=mine.toml", "--format=json", "--no-calibrate", "--warmup=500ms"];
    let finished = project.run(&[&fixed[..], &["--duration=3s", &url, probe]].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let target = document["targets"][0].clone();
    assert_eq!(target["rounds"].as_array().unwrap().len(), 5, "enough for a verdict");
    let verdicts = document["verdicts"].as_array().unwrap().iter();
    let verdicts = verdicts.filter(|verdict| verdict["kind"] == "probe_differs").cloned();
    (target, verdicts.collect())
}

fn ratio(target: &Value) -> f64 {
    target["probe"]["ratios"]["p50"]["ratio"].as_f64().unwrap_or_else(|| panic!("{target}"))
}

/// Theory says 0.8 for two users, and less where the probe also meets itself.
#[tokio::test(flavor = "multi_thread")]
async fn two_users_do_not_see_what_another_client_waits() {
    let _alone = machine::alone().await;
    let address = one_at_a_time().await;
    let scenario = "load = { users = 2 }\n[[step]]\nget = \"/\"\n";
    let (target, verdicts) =
        tokio::task::block_in_place(|| measured(scenario, address, "--probe=20"));
    let ratio = ratio(&target);
    println!("two users: {ratio:.3}");
    assert!((0.55..0.9).contains(&ratio), "{}", target["probe"]);
    let [verdict] = &verdicts[..] else { panic!("{verdicts:?} {}", target["probe"]) };
    let message = verdict["message"].as_str().unwrap();
    assert!(message.ends_with("waits longer than the figures of the load say"), "{message}");
    assert!(verdict["advice"].as_str().unwrap().starts_with("in the closed model"), "{verdict}");
}

/// Theory says 20 / 20.5 for twenty users, or nearer to 1 with the requests of the probe.
#[tokio::test(flavor = "multi_thread")]
async fn twenty_users_see_what_another_client_waits() {
    let _alone = machine::alone().await;
    let address = one_at_a_time().await;
    let scenario = "load = { users = 20 }\n[[step]]\nget = \"/\"\n";
    let (target, verdicts) =
        tokio::task::block_in_place(|| measured(scenario, address, "--probe=20"));
    let ratio = ratio(&target);
    println!("twenty users: {ratio:.3}");
    assert!((0.91..1.1).contains(&ratio), "{}", target["probe"]);
    assert_eq!(verdicts, [] as [Value; 0]);
}

/// Eight users share a connection, on which their requests wait for each other. Theory says 8, and less
/// on a machine that delays all requests.
#[tokio::test(flavor = "multi_thread")]
async fn users_of_one_connection_wait_for_each_other() {
    let _alone = machine::alone().await;
    let address = one_of_each_connection().await;
    let scenario = "http = { version = \"2\", connections = 1 }\n\
                    load = { users = 8 }\n[[step]]\nget = \"/\"\n";
    let (target, verdicts) =
        tokio::task::block_in_place(|| measured(scenario, address, "--probe=10"));
    assert_eq!(target["total"]["errors"], 0, "{}", target["total"]);
    let ratio = ratio(&target);
    println!("eight users of one connection: {ratio:.3}");
    assert!((2.5..12.0).contains(&ratio), "{}", target["probe"]);
    let [verdict] = &verdicts[..] else { panic!("{verdicts:?} {}", target["probe"]) };
    let message = verdict["message"].as_str().unwrap();
    assert!(message.ends_with("waits less than the figures of the load say"), "{message}");
    assert!(verdict["advice"].as_str().unwrap().contains("on connections that its users share"));
}
