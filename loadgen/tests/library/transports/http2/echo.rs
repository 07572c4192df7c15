//! A gRPC server inside the test, which sends each message back and keeps what it has received.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Response};
use bytes::Bytes;
use h2::server::{self, SendResponse};
use tokio::net::TcpListener;

/// The `.proto` file of the service, as seen from the folder in which tests run.
pub const PROTO: &str = "engine/src/grpc/everything.proto";

/// The head and the body of a request.
pub type Received = (Parts, Vec<u8>);

/// A server that runs until the test's runtime ends. Its answers to calls have the trailer `x-cost: 7`; to
/// any other request it answers `hello`.
pub struct Echo {
    pub url: String,
    requests: Arc<Mutex<Vec<Received>>>,
    connections: Arc<AtomicUsize>,
}

impl Echo {
    pub async fn start() -> Self {
        Self::start_with(4_096).await
    }

    /// Starts a server whose decoder has a table of this size for the headers of requests.
    pub async fn start_with(table: u32) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address: SocketAddr = listener.local_addr().unwrap();
        let echo = Self {
            url: format!("http://{address}"),
            requests: Arc::default(),
            connections: Arc::default(),
        };
        let (requests, connections) = (echo.requests.clone(), echo.connections.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                let requests = requests.clone();
                tokio::spawn(async move {
                    let mut builder = server::Builder::new();
                    builder.header_table_size(table).max_header_list_size(1 << 20);
                    let mut connection = builder.handshake(stream).await.unwrap();
                    while let Some(Ok((request, respond))) = connection.accept().await {
                        tokio::spawn(answer(request.into_parts(), respond, requests.clone()));
                    }
                });
            }
        });
        echo
    }

    /// Returns the head and the body of each request, in the order of their ends.
    pub fn requests(&self) -> Vec<Received> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn answer(
    (head, mut body): (Parts, h2::RecvStream),
    mut respond: SendResponse<Bytes>,
    requests: Arc<Mutex<Vec<Received>>>,
) {
    let mut came = Vec::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk.unwrap();
        body.flow_control().release_capacity(chunk.len()).unwrap();
        came.extend_from_slice(&chunk);
    }
    let is_call = head.headers.get("content-type").is_some_and(|it| it == "application/grpc");
    requests.lock().unwrap().push((head, came.clone()));
    let kind = if is_call { "application/grpc+proto" } else { "text/plain" };
    let response = Response::builder().header("content-type", kind).body(()).unwrap();
    let mut stream = respond.send_response(response, false).unwrap();
    if !is_call {
        return stream.send_data("hello".into(), true).unwrap();
    }
    stream.send_data(came.into(), false).unwrap();
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    trailers.insert("x-cost", HeaderValue::from_static("7"));
    stream.send_trailers(trailers).unwrap();
}
