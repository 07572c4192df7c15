//! Simulates many workers without their load, for `make bench`. The workers join a manager by their
//! join documents, obey its commands, and report each second as busy workers do.
//!
//! `simulated_workers DIR FIRST COUNT` takes COUNT of the documents in DIR, from number FIRST on.

use std::error::Error;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use loadgen_cluster::Join;
use loadgen_cluster::parts::{Answer, Blobs, Command, Hello, News, Report, Request, WorkerBus};
use loadgen_engine::{Finished, Plan};
use loadgen_measure::{Counts, Interval, Phase, Snapshot, StrainSample};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{JoinSet, block_in_place};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Longest wait for a join document, and for a manager.
const JOIN_LIMIT: Duration = Duration::from_secs(20);
/// Time between two attempts to read a document.
const LOOK: Duration = Duration::from_millis(50);
/// Requests that each worker reports for each step and second.
const REQUESTS: u32 = 500;

#[tokio::main]
async fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("arguments are missing: DIR FIRST COUNT");
    let (folder, first, count) = (next()?, next()?.parse::<u32>()?, next()?.parse::<u32>()?);
    let mut workers = JoinSet::new();
    for number in first..first + count {
        let document = document(&Path::new(&folder).join(number.to_string())).await?;
        let (join, gone) = (Join::parse(&document)?, CancellationToken::new());
        let hello = Hello::from_worker(join.worker);
        let (bus, requests) = WorkerBus::join(&join, &hello, JOIN_LIMIT, &gone).await?;
        workers.spawn(serve(Arc::new(bus), requests));
    }
    while let Some(served) = workers.join_next().await {
        served??;
    }
    Ok(())
}

/// Reads a file that the manager has written, or waits until the manager has written it.
async fn document(path: &Path) -> Outcome<String> {
    let deadline = Instant::now() + JOIN_LIMIT;
    loop {
        match std::fs::read_to_string(path) {
            Err(_) if Instant::now() < deadline => tokio::time::sleep(LOOK).await,
            read => return Ok(read?),
        }
    }
}

/// Obeys one manager until it sends [`Command::Quit`].
async fn serve(bus: Arc<WorkerBus>, mut requests: UnboundedReceiver<Request>) -> Outcome<()> {
    let (mut prepared, mut blobs) = (None, Blobs::default());
    let mut rounds = JoinSet::new();
    while let Some(mut request) = requests.recv().await {
        let command = std::mem::replace(&mut request.command, Command::Quit);
        if let Command::Chunk(chunk) = command {
            block_in_place(|| blobs.take(chunk))?;
            request.answer(&Answer::Done).await;
            continue;
        }
        request.answer(&Answer::Done).await;
        match command {
            Command::Prepare { assignment, .. } => {
                let plan = block_in_place(|| blobs.plan(&assignment))?;
                prepared = Some((plan, assignment.plan));
            }
            Command::Start { epoch, after } => {
                let start = Instant::now() + after;
                let (plan, digest) = prepared.take().ok_or("the round was not prepared")?;
                rounds.spawn(run(bus.clone(), epoch, plan, digest, start));
            }
            Command::Quit => break,
            _ => {}
        }
    }
    while let Some(ran) = rounds.join_next().await {
        ran??;
    }
    bus.close().await;
    Ok(())
}

/// Reports each second of a round when the second is over, and then the end of the round.
async fn run(
    bus: Arc<WorkerBus>,
    epoch: u32,
    plan: Plan,
    digest: String,
    start: Instant,
) -> Outcome<()> {
    let held = plan.length().ok_or("the load has no duration")?;
    let seconds = u32::try_from(held.as_secs())?;
    let worker = bus.worker();
    for second in 0..seconds {
        sleep_until(start + Duration::from_secs(u64::from(second) + 1)).await;
        let steps = vec![busy_second(worker + second).clone(); plan.scenario.steps.len()];
        let interval = Interval { phase: Phase::Hold, second, steps, ..Interval::default() };
        let snapshot = Snapshot::new(second, vec![interval]);
        let news = News::Snapshot(snapshot, StrainSample::default());
        bus.publish(&Report { epoch, worker, news }).await?;
    }
    let news = News::Finished(Finished { snapshots: seconds, held, ..Finished::default() }, digest);
    Ok(bus.publish(&Report { epoch, worker, news }).await?)
}

/// Returns the counts of one of seven seconds, which are computed once.
fn busy_second(seed: u32) -> &'static Counts {
    static SECONDS: LazyLock<[Counts; 7]> = LazyLock::new(|| {
        [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6].map(|more| second(0.005 * (1.0 + more)))
    });
    &SECONDS[seed as usize % SECONDS.len()]
}

/// Returns the counts of a second whose latencies have this median, in s, and a tail: a log-logistic
/// distribution.
fn second(median: f64) -> Counts {
    let mut counts = Counts { bytes: 100 * u64::from(REQUESTS), ..Counts::default() };
    for i in 0..REQUESTS {
        let q = (f64::from(i) + 0.5) / f64::from(REQUESTS);
        counts.answered.record(Duration::from_secs_f64(median * (q / (1.0 - q)).powf(0.3)));
    }
    counts
}
