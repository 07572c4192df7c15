//! A small server that tells who sent it what, and when.

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

/// What each user sends, `{{ user }}` times a second or so: the machine has two cores.
pub const SCENARIO: &str = "\
[load]
think_time = \"10ms\"
[[step]]
get = \"/{{ user }}\"
timeout = \"3s\"
";

/// It ends with this value.
pub struct Server {
    pub url: String,
    seen: Arc<Mutex<BTreeMap<u32, Seen>>>,
    /// When each connection was opened.
    connections: Arc<Mutex<Vec<Instant>>>,
    _end: oneshot::Sender<()>,
}

/// What came from one user.
#[derive(Clone, Copy)]
pub struct Seen {
    pub requests: u64,
    pub first: Instant,
    pub last: Instant,
}

impl Server {
    /// On this host, in a thread of its own: there it is in that host's network.
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

    /// How many connections had been opened by then.
    pub fn connections_before(&self, then: Instant) -> usize {
        self.connections.lock().unwrap().iter().filter(|opened| **opened < then).count()
    }

    /// How many requests came from anybody.
    pub fn requests(&self) -> u64 {
        self.seen.lock().unwrap().values().map(|seen| seen.requests).sum()
    }

    /// What came from the users of one of `of` workers, which are dealt like cards.
    pub fn of_worker(&self, worker: u32, of: u32) -> Vec<Seen> {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|(user, _)| *user % of == worker).map(|(_, seen)| *seen).collect()
    }

    /// How many requests came from this worker.
    pub fn requests_of(&self, worker: u32, of: u32) -> u64 {
        self.of_worker(worker, of).iter().map(|seen| seen.requests).sum()
    }

    /// When this worker was heard of for the last time.
    pub fn last_of(&self, worker: u32, of: u32) -> Instant {
        self.of_worker(worker, of).iter().map(|seen| seen.last).max().unwrap()
    }

    /// Waits until all users of so many workers have sent some.
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
