//! Measures how much the workers of this host can send.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::cluster::{Cluster, LocalWorkers};
use crate::engine::{NullAnswer, NullServer, Plan, Results, Share};
use crate::experiment::measured::held;
use crate::lab::cpus::available;
use crate::lab::{Watched, Window};
use crate::measure::Counts;
use crate::scenario::{Scenario, parse_to_run, process_environment};

/// Load with which workers find their highest rate: one request from many users, to a server that does nothing else.
const REQUEST: &str = "[load]\nduration = \"1s\"\n[[step]]\nget = \"/\"\n";

/// Number of users of each worker: enough connections to keep its CPUs busy.
const USERS: u32 = 50;

const WARMUP: Duration = Duration::from_millis(200);

/// Highest rate of a host.
#[derive(Debug, Clone, Copy)]
pub struct HostRate {
    /// Requests/s of all its workers together.
    pub rate_per_s: f64,
    /// CPU time of other programs meanwhile, in % of one CPU; `None` if unknown.
    pub others_percent: Option<f64>,
}

/// Measures the highest rate of so many workers on this host, to a server in this process. More workers than CPUs add
/// nothing to the rate, and take long to start.
///
/// # Errors
/// Returns in words why it could not be measured.
pub async fn host_rate(workers: u32) -> Result<HostRate, String> {
    let cpus = available();
    let workers = workers.min(u32::try_from(cpus.len()).unwrap_or(u32::MAX)).max(1);
    let answer = NullAnswer { status: 200, ..NullAnswer::default() };
    // An answer costs less than its request, so that the server is not the limit.
    let server = NullServer::start(cpus.len().div_ceil(2).max(1), &[answer], || {});
    let server = server.map_err(|error| format!("no server could be started: {error}"))?;
    let mut scenario: Scenario = parse_to_run("check", "the check", REQUEST, &process_environment)
        .map_err(|error| error.to_string())?;
    scenario.load.users = USERS * workers;
    let plan = Plan {
        scenario,
        base_url: server.url.clone(),
        warmup: WARMUP,
        seed: 1,
        known: Vec::new(),
        first_user: 0,
        trace_one_in: None,
        share: Share::WHOLE,
    };
    let started = async { Cluster::start(&LocalWorkers::new(workers)?, |_| {}).await };
    let mut cluster = started.await.map_err(|error| error.to_string())?;
    let own = [std::process::id()].into_iter().chain(cluster.pids());
    let window = Window::open(own.map(|pid| Watched::process("own", pid)).collect());
    let results = cluster.round(plan, CancellationToken::new(), |_, _| {}).await;
    // Some systems do not tell how busy their CPUs are.
    let observed = window.map(Window::close).ok();
    let observed = observed.filter(|of| !of.machine.programs_percent.is_empty());
    cluster.quit().await;
    let others = observed.map(|observed| observed.others_percent(&cpus.into_iter().collect()));
    let results = results.map_err(|error| error.to_string())?;
    let rate_per_s = rate(&results).ok_or("a worker was lost, or a request failed")?;
    Ok(HostRate { rate_per_s, others_percent: others.map(|percent| percent.max(0.0)) })
}

/// Returns the rate of a round in which no worker was lost and no request failed.
fn rate(results: &Results) -> Option<f64> {
    let steps = held(&results.series);
    let failed = steps.iter().any(|counts: &Counts| counts.failures() > 0);
    let answered: u64 = steps.iter().map(|counts| counts.answered.len()).sum();
    let told = results.is_whole() && !failed && answered > 0;
    told.then(|| answered as f64 / results.held().as_secs_f64())
}
