//! Servers to put under load: on loopback, in the test's own process, gone with it.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{any, get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A well-behaved server that counts the requests it receives.
pub struct Counting {
    pub url: String,
    requests: Arc<AtomicU64>,
}

impl Counting {
    pub async fn start() -> Self {
        let requests = Arc::new(AtomicU64::new(0));
        let app = Router::new()
            .route("/", get(hello))
            .route("/items", post(items))
            .route("/status/{code}", any(status))
            .route("/slow/{ms}", get(slow))
            .with_state(requests.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, requests }
    }

    /// How many requests it has received.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }
}

async fn hello(State(requests): State<Arc<AtomicU64>>) -> Json<Value> {
    requests.fetch_add(1, Ordering::SeqCst);
    Json(json!({"message": "Hello world"}))
}

async fn items(
    State(requests): State<Arc<AtomicU64>>,
    Json(items): Json<Vec<Value>>,
) -> (StatusCode, Json<Value>) {
    requests.fetch_add(1, Ordering::SeqCst);
    (StatusCode::CREATED, Json(json!({"inserted": items.len()})))
}

async fn status(State(requests): State<Arc<AtomicU64>>, Path(code): Path<u16>) -> StatusCode {
    requests.fetch_add(1, Ordering::SeqCst);
    StatusCode::from_u16(code).unwrap()
}

async fn slow(State(requests): State<Arc<AtomicU64>>, Path(ms): Path<u64>) -> &'static str {
    requests.fetch_add(1, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(ms)).await;
    "slow"
}

/// A server that reads a request's head and answers with these bytes, whatever they are, and
/// closes the connection; without bytes it just closes.
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

/// An address on loopback at which nobody listens.
pub fn dead_address() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}
