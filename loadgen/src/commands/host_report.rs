//! `loadgen host-report` (hidden): answers `loadgen hosts check` on a host.

use std::io::{self, BufRead as _};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::cli::HostReportArgs;
use crate::cluster::{Cluster, HostReport, LocalWorkers, clock_line};
use crate::engine::{NullAnswer, NullServer, Plan, Share};
use crate::experiment::system_limits::limits;
use crate::failure::{Exit, Failure};
use crate::measure::{Counts, Phase};
use crate::process::{on_all_cpus, print};
use crate::scenario::{Scenario, parse_to_run, process_environment};

/// Load with which workers find their highest rate: one request from many users, to a server that does nothing else.
const REQUEST: &str = "[load]\nduration = \"1s\"\n[[step]]\nget = \"/\"\n";

/// Number of users of each worker: enough connections to keep its CPUs busy.
const USERS: u32 = 50;

const WARMUP: Duration = Duration::from_millis(200);

/// Says what this host has: a line with its clock for each line of standard input, and a report at the end.
pub(super) fn run(args: &HostReportArgs) -> Result<Exit, Failure> {
    // Fails if nobody listens any more.
    let tell = |line: String| print(&format!("{line}\n"));
    for _asked in io::stdin().lock().lines().map_while(Result::ok) {
        tell(clock_line())?;
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let report = HostReport {
        name: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        cpus,
        // Before the workers start, which inherit the limit.
        limits: limits(),
        rate_per_s: on_all_cpus()?.block_on(most(args.workers, cpus)),
    };
    tell(report.line())?;
    Ok(Exit::Done)
}

/// Returns the requests/s that the workers of this host send at most together; `None` if that could not be measured.
/// More workers than CPUs add nothing to the rate, and take long to start.
async fn most(workers: u32, cpus: usize) -> Option<f64> {
    let workers = workers.min(u32::try_from(cpus).unwrap_or(u32::MAX)).max(1);
    // An answer costs less than its request, so that the server is not the limit.
    let server = NullServer::start(
        cpus.div_ceil(2),
        &[NullAnswer { status: 200, ..Default::default() }],
        || {},
    )
    .ok()?;
    let mut scenario: Scenario =
        parse_to_run("check", "the check", REQUEST, &process_environment).ok()?;
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
    let mut cluster = Cluster::start(&LocalWorkers::new(workers).ok()?, |_| {}).await.ok()?;
    let results = cluster.round(plan, CancellationToken::new(), |_, _| {}).await;
    cluster.quit().await;
    let results = results.ok().filter(|results| results.is_whole())?;
    let hold = results.series.phase(Phase::Hold);
    let answered: u64 = hold.iter().map(|counts: &Counts| counts.answered.len()).sum();
    (answered > 0).then(|| answered as f64 / results.held().as_secs_f64())
}
