//! A small server that records the requests of each user, and their times.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::host::Host;

/// Scenario in which each user requests the path that is the user's number. The think time keeps
/// the rate low enough for a machine with two cores.
pub const SCENARIO: &str = "\
[load]
think_time = \"10ms\"
[[step]]
get = \"/{{ user }}\"
timeout = \"3s\"
";

/// A server that ends when dropped.
pub struct Server {
    pub url: String,
    seen: Arc<Mutex<BTreeMap<u32, Seen>>>,
    /// Time at which each connection was opened.
    connections: Arc<Mutex<Vec<Instant>>>,
    _end: oneshot::Sender<()>,
}

/// Requests of one user.
#[derive(Clone, Copy)]
pub struct Seen {
    pub requests: u64,
    pub first: Instant,
    pub last: Instant,
}

impl Server {
    /// Starts the server in a separate thread, which enters this host's network.
    pub fn start(host: &Host) -> Self {
        let (ready, address) = std::sync::mpsc::channel();
        let (end, ended) = oneshot::channel::<()>();
        let seen = Arc::new(Mutex::new(BTreeMap::new()));
        let (host, app) = (host.clone(), app(seen.clone()));
        let connections = Arc::new(Mutex::new(Vec::new()));
        let opened = connections.clone();
        thread::spawn(move || {
            host.enter();
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind((host.address(), 0)).await.unwrap();
                ready.send(listener.local_addr().unwrap()).unwrap();
                let listener =
                    listener.tap_io(move |_| opened.lock().unwrap().push(Instant::now()));
                tokio::select! {
                    served = axum::serve(listener, app) => served.unwrap(),
                    _ = ended => {}
                }
            });
        });
        let address: SocketAddr = address.recv().unwrap();
        Self { url: format!("http://{address}"), seen, connections, _end: end }
    }

    /// Returns the number of connections that were opened before `then`.
    pub fn connections_before(&self, then: Instant) -> usize {
        self.connections.lock().unwrap().iter().filter(|opened| **opened < then).count()
    }

    /// Returns the number of requests from all users.
    pub fn requests(&self) -> u64 {
        self.seen.lock().unwrap().values().map(|seen| seen.requests).sum()
    }

    /// Returns what came from the users of one of `of` workers, in the order of the users. Users
    /// are dealt like cards: user `n` belongs to worker `n % of`.
    pub fn of_worker(&self, worker: u32, of: u32) -> Vec<Seen> {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|(user, _)| *user % of == worker).map(|(_, seen)| *seen).collect()
    }

    /// Returns the number of requests from this worker.
    pub fn requests_of(&self, worker: u32, of: u32) -> u64 {
        self.of_worker(worker, of).iter().map(|seen| seen.requests).sum()
    }

    /// Returns the time of the last request from this worker.
    pub fn last_of(&self, worker: u32, of: u32) -> Instant {
        self.of_worker(worker, of).iter().map(|seen| seen.last).max().unwrap()
    }

    /// Waits until each of this many workers has sent 20 requests.
    pub async fn until_loaded(&self, workers: u32) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while (0..workers).any(|worker| self.requests_of(worker, workers) < 20) {
            assert!(Instant::now() < deadline, "the load has not begun");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn app(seen: Arc<Mutex<BTreeMap<u32, Seen>>>) -> Router {
    Router::new().route("/{user}", get(answer)).with_state(seen)
}

async fn answer(
    State(all): State<Arc<Mutex<BTreeMap<u32, Seen>>>>,
    Path(user): Path<u32>,
) -> &'static str {
    let now = Instant::now();
    let mut all = all.lock().unwrap();
    let seen = all.entry(user).or_insert(Seen { requests: 0, first: now, last: now });
    (seen.requests, seen.last) = (seen.requests + 1, now);
    "hello"
}
