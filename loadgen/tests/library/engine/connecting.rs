//! Tests connections that are opened before the start.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use loadgen::engine::GooseRound;
use loadgen::measure::Series;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::common::dead_address;
use crate::common::engine::{finish, hold, plan};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

/// Starts a server that closes its first `rude` connections and serves the
/// others. Returns the server's address and the number of accepted connections.
async fn server(rude: usize) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = accepted.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if count.fetch_add(1, Ordering::SeqCst) >= rude {
                tokio::spawn(serve(stream));
            }
        }
    });
    (address, accepted)
}

async fn serve(mut stream: TcpStream) {
    let mut request = [0; 1_000];
    while stream.read(&mut request).await.is_ok_and(|bytes| bytes > 0) {
        stream.write_all(ANSWER).await.unwrap();
    }
}

fn load(load: &str) -> String {
    format!("load = {{ {load} }}\n[[step]]\nget = \"/\"")
}

/// Asserts that exactly `expected` connections are open before the start.
async fn opens(expected: usize, load_text: &str, warmup: Duration) {
    let (address, accepted) = server(0).await;
    let mut plan = plan(&format!("http://{address}"), &load(load_text));
    plan.warmup = warmup;
    let round = GooseRound::prepare(plan).unwrap();
    round.connect().await;
    // On a busy machine the server may accept a connection
    // long after the kernel has established it.
    let all = async {
        while accepted.load(Ordering::SeqCst) < expected {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(30), all).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(accepted.load(Ordering::SeqCst), expected, "{load_text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn users_that_send_at_the_start_connect_before_it() {
    opens(250, "users = 250, iterations = 250", Duration::ZERO).await;
    // In a warm-up all users send at the start; in a ramp-up they start one
    // after another. The open model opens connections when arrivals need them.
    let ramp = "users = 20, ramp_up = \"10s\", duration = \"1s\"";
    opens(20, ramp, Duration::from_secs(1)).await;
    opens(1, ramp, Duration::ZERO).await;
    let rate = "model = \"open\", rate = 100, users = 50, duration = \"1s\"";
    opens(0, rate, Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users_send_over_the_connections_opened_before() {
    let (address, accepted) = server(0).await;
    let load = load("users = 30, iterations_per_user = 20");
    let (series, _) = finish(plan(&format!("http://{address}"), &load)).await;
    assert_eq!((hold(&series).answered.len(), hold(&series).errors.len()), (600, 0));
    assert_eq!(accepted.load(Ordering::SeqCst), 30);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_closed_before_its_use_causes_no_failure() {
    let (address, accepted) = server(8).await;
    let load = load("users = 8, iterations_per_user = 5");
    let round = GooseRound::prepare(plan(&format!("http://{address}"), &load)).unwrap();
    round.connect().await;
    // Gives the ends of the closed connections time to arrive.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let (sender, mut snapshots) = mpsc::channel(64);
    round.run(Instant::now(), CancellationToken::new(), &sender).await.unwrap();
    drop(sender);
    let mut series = Series::default();
    while let Some(snapshot) = snapshots.recv().await {
        series.add(snapshot);
    }
    assert_eq!((hold(&series).answered.len(), hold(&series).errors.len()), (40, 0));
    assert_eq!(accepted.load(Ordering::SeqCst), 16);
}

#[tokio::test(flavor = "multi_thread")]
async fn connecting_ahead_gives_up_if_the_server_is_down() {
    let url = format!("http://{}", dead_address());
    let round = GooseRound::prepare(plan(&url, &load("users = 500, iterations = 500"))).unwrap();
    let began = Instant::now();
    round.connect().await;
    assert!(began.elapsed() < Duration::from_secs(3), "it stops at the first refusal");
    let (series, _) = finish(plan(&url, &load("users = 5, iterations = 5"))).await;
    assert_eq!(hold(&series).errors.values().sum::<u64>(), 5);
}
