//! Tests that loadgen ends connections after a number of requests, or a time.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{ConnectInfo, State};
use rcgen::CertificateParams;
use tokio::net::TcpListener;

use super::http2::run::run;
use super::server::{Server, Then};
use crate::common::tls;

/// For each connection, by its client's address, the times of its requests.
type Seen = Arc<Mutex<BTreeMap<SocketAddr, Vec<Instant>>>>;

async fn take(
    State(seen): State<Seen>,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
) -> &'static str {
    seen.lock().unwrap().entry(client).or_default().push(Instant::now());
    "ok"
}

async fn start(seen: &Seen) -> SocketAddr {
    let app = Router::new().fallback(take).with_state(seen.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await.unwrap() });
    address
}

/// Ways to a server, as keys of `[http]`, with the number of connections that ten users have at a time.
const WAYS: [(&str, usize); 4] = [
    ("version = \"1.1\"", 10),
    ("version = \"2\"", 10),
    ("version = \"2\", connections = 3", 3),
    ("version = \"2\", tls = { insecure = true }", 10),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_carries_exactly_as_many_requests() {
    for (way, at_once) in WAYS {
        let seen = Seen::default();
        let address = start(&seen).await;
        let url = match way.contains("tls") {
            // The server chooses HTTP/1.1.
            true => {
                let certificate = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
                tls::front_with(address, tls::config(certificate, &["http/1.1"]).0).await
            }
            false => format!("http://{address}"),
        };
        let keys = format!("{way}, connection = {{ requests = 7 }}");
        let came = run(&url, &keys, "users = 10, iterations = 1000", "post = \"/\"").await;
        assert_eq!((came.answered(), came.errors()), (1_000, vec![]), "{way}");
        assert_eq!(came.counts.resent, 0, "{way}: {:?}", came.counts);
        let seen = seen.lock().unwrap();
        let counts: Vec<usize> = seen.values().map(Vec::len).collect();
        assert_eq!(counts.iter().sum::<usize>(), 1_000, "{way}");
        assert!(counts.iter().all(|count| *count <= 7), "{way}: {counts:?}");
        let whole = counts.iter().filter(|count| **count == 7).count();
        assert!(counts.len() - whole <= at_once, "{way}: {counts:?}");
        let connections = &came.connections;
        assert_eq!(connections.opened, counts.len() as u64, "{way}");
        // The last connections may be shared ones that no request has followed.
        let renewed = usize::try_from(connections.renewed).unwrap();
        assert!(
            (whole.saturating_sub(at_once)..=whole).contains(&renewed),
            "{way}: {connections:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_begins_no_request_after_its_age() {
    const AGE: Duration = Duration::from_millis(300);
    for (way, at_once) in &WAYS[..3] {
        let seen = Seen::default();
        let url = format!("http://{}", start(&seen).await);
        let keys = format!("{way}, connection = {{ age = \"300ms\" }}");
        let load = "users = 10, duration = \"2s\", think_time = \"10ms\"";
        let came = run(&url, &keys, load, "post = \"/\"").await;
        assert_eq!(came.errors(), [], "{way}: {:?}", came.counts.examples);
        assert_eq!(came.counts.resent, 0, "{way}");
        let seen = seen.lock().unwrap();
        // A request that has begun in time may arrive later, on a busy machine.
        let ages = || seen.values().map(|times| *times.last().unwrap() - times[0]);
        assert!(ages().all(|age| age < 2 * AGE + AGE), "{way}: {:?}", ages().collect::<Vec<_>>());
        assert!(seen.len() >= 3 * at_once, "{way}: {} connections", seen.len());
        let connections = &came.connections;
        assert!(connections.renewed >= (seen.len() - at_once) as u64, "{way}: {connections:?}");
        assert!(connections.renewed <= connections.opened, "{way}: {connections:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_too_old_at_the_start_is_not_used() {
    for (way, _) in &WAYS[..3] {
        let seen = Seen::default();
        let url = format!("http://{}", start(&seen).await);
        let keys = format!("{way}, connection = {{ age = \"1us\", requests = 100 }}");
        let came = run(&url, &keys, "users = 2, iterations = 20", "get = \"/\"").await;
        assert_eq!((came.answered(), came.errors()), (20, vec![]), "{way}");
        assert!(seen.lock().unwrap().len() >= 18, "{way}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_by_the_server_is_not_taken_for_one_of_loadgen() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    let server = Server::always(answer, || Then::Close);
    let url = format!("http://{}", server.address);
    let load = "users = 2, iterations = 8, think_time = \"100ms\"";
    let came = run(&url, "connection = { age = \"50ms\" }", load, "get = \"/\"").await;
    assert_eq!((came.answered(), came.errors()), (8, vec![]));
    assert_eq!((came.connections.opened, came.connections.renewed), (8, 0));
}
