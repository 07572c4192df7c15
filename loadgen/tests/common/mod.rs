//! Servers to put under load. The servers listen on loopback, in the
//! test's own process, and end with the process.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses its own part; a failed helper is a failed test"
)]

pub mod engine;
pub mod machine;
pub mod processes;
pub mod program;
pub mod proxy;
pub mod ssh;
pub mod streaming;
pub mod tls;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use axum::extract::{ConnectInfo, Path, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{any, get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep_until};

/// A well-behaved server that counts the requests it receives.
pub struct Counting {
    pub url: String,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    requests: AtomicU64,
    under_way: AtomicU64,
    most_under_way: AtomicU64,
    peers: Mutex<BTreeSet<SocketAddr>>,
    flaky: AtomicU64,
    bodies: Mutex<BTreeSet<String>>,
}

impl Counting {
    pub async fn start() -> Self {
        Self::start_at("127.0.0.1").await
    }

    /// Starts a server that listens at this address of the machine.
    pub async fn start_at(address: &str) -> Self {
        let seen = Arc::new(Seen::default());
        let app = Router::new()
            .route("/", get(hello))
            .route("/items", post(items))
            .route("/status/{code}", any(status))
            .route("/flaky", get(flaky))
            .route("/slow/{ms}", get(slow))
            .route("/slower/{ms}", get(slower))
            .route("/remember", post(remember))
            .layer(middleware::from_fn_with_state(seen.clone(), count))
            .with_state(seen.clone());
        let listener = TcpListener::bind((address, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = app.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, seen }
    }

    /// Returns the number of requests that the server has received.
    pub fn requests(&self) -> u64 {
        self.seen.requests.load(Ordering::SeqCst)
    }

    /// Returns the maximum number of requests that the server had
    /// at the same time since the last call.
    pub fn take_most_under_way(&self) -> u64 {
        self.seen.most_under_way.swap(0, Ordering::SeqCst)
    }

    /// Returns the number of connections over which requests came.
    pub fn connections(&self) -> usize {
        self.seen.peers.lock().unwrap().len()
    }

    /// Returns the bodies that `/remember` received since the last call.
    pub fn take_remembered(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.seen.bodies.lock().unwrap())
    }
}

async fn count(
    State(seen): State<Arc<Seen>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    seen.requests.fetch_add(1, Ordering::SeqCst);
    seen.peers.lock().unwrap().insert(peer);
    let under_way = seen.under_way.fetch_add(1, Ordering::SeqCst) + 1;
    seen.most_under_way.fetch_max(under_way, Ordering::SeqCst);
    let answer = next.run(request).await;
    seen.under_way.fetch_sub(1, Ordering::SeqCst);
    answer
}

async fn hello() -> Json<Value> {
    Json(json!({"message": "Hello world"}))
}

async fn items(Json(items): Json<Vec<Value>>) -> (StatusCode, Json<Value>) {
    (StatusCode::CREATED, Json(json!({"inserted": items.len()})))
}

async fn status(Path(code): Path<u16>) -> StatusCode {
    StatusCode::from_u16(code).unwrap()
}

/// Answers correctly once, for the verification, and with 500 from then on.
async fn flaky(State(seen): State<Arc<Seen>>) -> StatusCode {
    match seen.flaky.fetch_add(1, Ordering::SeqCst) {
        0 => StatusCode::OK,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

async fn slow(Path(ms): Path<u64>) -> &'static str {
    tokio::time::sleep(Duration::from_millis(ms)).await;
    "slow"
}

/// Takes twice as long as `slow`.
async fn slower(Path(ms): Path<u64>) -> &'static str {
    tokio::time::sleep(Duration::from_millis(2 * ms)).await;
    "slow"
}

async fn remember(State(seen): State<Arc<Seen>>, body: String) {
    seen.bodies.lock().unwrap().insert(body);
}

/// Starts a server that answers at once, except during one second that begins `after` its first
/// request: requests of that second are answered at the end of that second.
pub async fn stalling(after: Duration) -> SocketAddr {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let answer = async move || {
        let now = Instant::now();
        let stall = *FIRST.get_or_init(|| now) + after;
        let end = stall + Duration::from_secs(1);
        if (stall..end).contains(&now) {
            sleep_until(end).await;
        }
    };
    serve(Router::new().route("/", get(answer))).await
}

/// Serves an application of a test until the test's process ends.
pub async fn serve(app: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}

/// Starts a server that reads a request's head, answers with exactly these bytes, and closes the
/// connection. Without bytes, the server only closes the connection.
pub async fn ill_behaved(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = [0; 4096];
                let _ = stream.read(&mut head).await;
                let _ = stream.write_all(answer).await;
            });
        }
    });
    address
}

/// Starts a server whose answers to `GET /` are made by `answer`.
pub async fn answering<F, A>(answer: F) -> SocketAddr
where
    F: FnOnce() -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Response> + Send + 'static,
{
    serve(Router::new().route("/", get(answer))).await
}

/// Starts a server that answers the first `answered` requests, and none after them.
pub async fn silent(answered: usize) -> SocketAddr {
    let seen = Arc::new(AtomicUsize::new(0));
    let answer = async move || {
        if seen.fetch_add(1, Ordering::SeqCst) >= answered {
            std::future::pending::<()>().await;
        }
    };
    serve(Router::new().route("/", get(answer))).await
}

/// Returns an address on loopback at which nobody listens, and at which no other test can.
pub fn dead_address() -> SocketAddr {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = socket.local_addr().unwrap();
    // Stays bound until the tests end.
    std::mem::forget(socket);
    address
}
