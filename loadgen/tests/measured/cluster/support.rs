//! A server that counts, clusters of real processes, and the counts of both.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use loadgen::cluster::{Cluster, LocalWorkers};
use loadgen::engine::{Plan, Results};
use loadgen::measure::Phase;
use loadgen::scenario::Until;
use tokio_util::sync::CancellationToken;

pub use crate::common::processes::signal;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_loadgen");

/// A server that counts its requests and answers each after a delay.
pub struct Server {
    pub url: String,
    count: Arc<AtomicU64>,
}

impl Server {
    pub async fn start(delay: Duration) -> Self {
        let count = Arc::new(AtomicU64::new(0));
        let seen = count.clone();
        let app = axum::Router::new().route(
            "/",
            axum::routing::get(move || {
                seen.fetch_add(1, Ordering::SeqCst);
                async move {
                    tokio::time::sleep(delay).await;
                    "hello"
                }
            }),
        );
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, count }
    }

    pub fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }
}

pub fn plan(url: &str, users: u32, until: Until) -> Plan {
    let text = "load = { duration = \"1s\" }
[[step]]
name = \"root\"
get = \"/\"
timeout = \"3s\"";
    let mut plan = crate::common::engine::plan(url, text);
    (plan.scenario.load.users, plan.scenario.load.until) = (users, until);
    plan
}

pub fn seconds(seconds: u64) -> Until {
    Until::Duration(Duration::from_secs(seconds))
}

pub async fn cluster(count: u32) -> Cluster {
    let workers =
        LocalWorkers { program: PathBuf::from(PROGRAM), ..LocalWorkers::new(count).unwrap() };
    Cluster::start(&workers, |_| {}).await.unwrap()
}

pub async fn round(cluster: &mut Cluster, plan: &Plan) -> Results {
    let stop = CancellationToken::new();
    let result =
        tokio::time::timeout(Duration::from_secs(30), cluster.round(plan.clone(), stop, |_, _| {}));
    result.await.expect("a round must end").unwrap()
}

/// Returns the numbers of finished and of cancelled requests. Panics if a request failed.
pub fn requests(round: &Results) -> (u64, u64) {
    let phases = [Phase::Warmup, Phase::RampUp, Phase::Hold, Phase::Tail];
    let steps = phases.iter().flat_map(|phase| round.series.phase(*phase));
    steps.fold((0, 0), |(ended, cancelled), counts| {
        assert_eq!(counts.failures(), 0, "{:?}", counts.examples);
        (ended + counts.requests(), cancelled + counts.cancelled)
    })
}

/// Returns whether a process runs. A process that only waits to be reaped does not.
pub fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// Waits until none of `pids` runs, and returns the time waited. Panics after `limit`.
pub async fn until_ended(pids: &[u32], limit: Duration) -> Duration {
    let start = Instant::now();
    while pids.iter().any(|pid| runs(*pid)) {
        assert!(start.elapsed() < limit, "{pids:?} still run");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    start.elapsed()
}
