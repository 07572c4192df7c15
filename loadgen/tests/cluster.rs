//! Workers in real processes, a server that counts, and the promises of the cluster between them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a failing test panics, and the figures are printed"
)]

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use loadgen::cluster::{Cluster, ClusterError, LocalWorkers, Round};
use loadgen::engine::{Plan, Share};
use loadgen::measure::{Phase, Series};
use loadgen::scenario::{
    Arrivals, Expect, Http, Load, Method, Model, OnError, Open, Scenario, Step, Template, Until,
    When,
};
use rustix::process::{Pid, Signal, kill_process};
use tokio_util::sync::CancellationToken;

const PROGRAM: &str = env!("CARGO_BIN_EXE_loadgen");

/// One cluster at a time: each has several processes, and machines have few cores.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// A server that counts the requests it gets and takes a while to answer.
struct Server {
    url: String,
    count: Arc<AtomicU64>,
}

impl Server {
    async fn start(delay: Duration) -> Self {
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

    fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }
}

fn plan(url: &str, users: u32, until: Until) -> Plan {
    let step = Step {
        name: "root".to_owned(),
        when: When::default(),
        method: Method::Get,
        path: Template::literal("/"),
        headers: Vec::new(),
        body: None,
        weight: None,
        timeout: Duration::from_secs(3),
        expect: Expect::default(),
        counters: Vec::new(),
        captures: Vec::new(),
    };
    Plan {
        scenario: Scenario {
            name: "count".to_owned(),
            description: None,
            targets: Vec::new(),
            backends: Vec::new(),
            http: Http::default(),
            load: Load {
                model: Model::Closed,
                users,
                ramp_up: Duration::ZERO,
                think_time: None,
                until,
            },
            rows: Vec::new(),
            steps: vec![step],
            on_error: OnError::default(),
            thresholds: Vec::new(),
            proofs: Vec::new(),
        },
        base_url: url.to_owned(),
        warmup: Duration::ZERO,
        seed: 1,
        share: Share::WHOLE,
    }
}

fn seconds(seconds: u64) -> Until {
    Until::Duration(Duration::from_secs(seconds))
}

async fn cluster(count: u32) -> Cluster {
    let workers =
        LocalWorkers { program: PathBuf::from(PROGRAM), ..LocalWorkers::new(count).unwrap() };
    Cluster::start(&workers, |_| {}).await.unwrap()
}

async fn round(cluster: &mut Cluster, plan: &Plan) -> Round {
    let stop = CancellationToken::new();
    let result =
        tokio::time::timeout(Duration::from_secs(30), cluster.round(plan.clone(), stop, |_, _| {}));
    result.await.expect("a round must end").unwrap()
}

/// Answered and failed requests, and cancelled ones.
fn requests(round: &Round) -> (u64, u64) {
    let mut series = Series::default();
    round.workers.iter().for_each(|worker| series.merge(worker.series.clone()));
    let phases = [Phase::Warmup, Phase::RampUp, Phase::Hold, Phase::Tail];
    let steps = phases.iter().flat_map(|phase| series.phase(*phase));
    steps.fold((0, 0), |(ended, cancelled), counts| {
        assert_eq!(counts.failures(), 0, "{:?}", counts.examples);
        (ended + counts.requests(), cancelled + counts.cancelled)
    })
}

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Whether a process is there; one that only waits to be reaped is not.
fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// Waits until none of `pids` runs, at most `limit`, and tells how long it took.
async fn until_ended(pids: &[u32], limit: Duration) -> Duration {
    let start = Instant::now();
    while pids.iter().any(|pid| runs(*pid)) {
        assert!(start.elapsed() < limit, "{pids:?} still run");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    start.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn iterations_are_shared_out_exactly_in_every_round() {
    let _alone = ALONE.lock().await;
    let server = Server::start(Duration::ZERO).await;
    let mut cluster = cluster(4).await;
    let pids = cluster.pids();
    assert_eq!(pids.len(), 4);
    for (users, iterations) in [(8, 1_003), (3, 500), (5, 2)] {
        let before = server.count();
        let plan = plan(&server.url, users, Until::Iterations(iterations));
        let round = round(&mut cluster, &plan).await;
        assert_eq!(round.missing(), None);
        assert_eq!(requests(&round), (iterations, 0));
        assert_eq!(server.count() - before, iterations);
        assert_eq!(round.workers.len(), 4);
    }
    assert_eq!(cluster.pids(), pids, "the same workers all along");
    cluster.quit().await;
    until_ended(&pids, Duration::from_secs(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_share_the_arrivals_of_the_open_model() {
    let _alone = ALONE.lock().await;
    let server = Server::start(Duration::ZERO).await;
    let mut cluster = cluster(4).await;
    for (users, arrivals) in [(50, Arrivals::Even), (3, Arrivals::Poisson)] {
        let before = server.count();
        let mut plan = plan(&server.url, users, Until::Iterations(403));
        plan.scenario.load.model = Model::Open(Open { rate: 800.0, arrivals });
        let round = round(&mut cluster, &plan).await;
        assert_eq!((round.missing(), requests(&round)), (None, (403, 0)));
        assert_eq!(server.count() - before, 403);
    }
    cluster.quit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_of_a_timed_round_is_counted_once_and_seen_as_it_comes() {
    let _alone = ALONE.lock().await;
    let server = Server::start(Duration::from_millis(5)).await;
    let mut cluster = cluster(4).await;
    let plan = plan(&server.url, 10, seconds(3));
    let (stop, mut seen) = (CancellationToken::new(), Vec::new());
    let round = cluster.round(plan, stop, |worker, s| seen.push((worker, s.number))).await.unwrap();
    assert_eq!(round.missing(), None);
    let (ended, cancelled) = requests(&round);
    assert!(ended > 100, "{ended}");
    assert_eq!(ended + cancelled, server.count());
    for worker in &round.workers {
        assert_eq!(worker.held, Duration::from_secs(3));
        let mut numbers: Vec<u32> =
            seen.iter().filter(|(w, _)| *w == worker.share.index).map(|(_, n)| *n).collect();
        numbers.sort_unstable();
        assert!(worker.snapshots >= 2);
        assert_eq!(numbers, (0..worker.snapshots).collect::<Vec<_>>(), "each once");
    }
    cluster.quit().await;
}

/// Runs a round, sends `how` to a worker in the middle of it, and gives how long it took to see.
async fn lose_a_worker(how: Signal) -> (Duration, Round, ClusterError, u64) {
    let server = Server::start(Duration::from_millis(5)).await;
    let mut cluster = cluster(3).await;
    let pids = cluster.pids();
    let plan = plan(&server.url, 6, seconds(20));
    let stop = CancellationToken::new();
    let victim = pids[1];
    let killing = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        signal(victim, how);
        Instant::now()
    });
    let round = cluster.round(plan.clone(), stop.clone(), |_, _| {}).await.unwrap();
    let took = killing.await.unwrap().elapsed();
    until_ended(&[victim], Duration::from_secs(1)).await;
    let error = cluster.round(plan.clone(), stop.clone(), |_, _| {}).await.unwrap_err();
    cluster.quit().await;
    until_ended(&pids, Duration::from_secs(1)).await;
    (took, round, error, server.count())
}

fn check_loss(took: Duration, round: &Round, error: &ClusterError, count: u64) {
    assert!(took < Duration::from_secs(4), "{took:?}");
    let lost = &round.lost[0];
    assert_eq!((round.lost.len(), lost.worker), (1, 1), "{:?}", round.lost);
    assert_eq!(round.missing(), Some(lost.to_string()));
    assert!(matches!(error, ClusterError::Lost(lost) if lost.worker == 1), "{error}");
    // What it had reported is kept, and the others' results are whole.
    assert_eq!((round.workers[1].snapshots, round.workers[1].gaps.len()), (2, 0));
    assert_eq!(round.workers[1].held, Duration::from_secs(2));
    for other in [0, 2] {
        assert_eq!(round.workers[other].gaps, []);
        assert!(round.workers[other].held > Duration::from_secs(2));
    }
    let (ended, cancelled) = requests(round);
    assert!(ended > 500 && ended + cancelled <= count, "{ended} + {cancelled}, {count}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_worker_ends_the_round_and_what_came_is_kept() {
    let _alone = ALONE.lock().await;
    let (took, round, error, count) = lose_a_worker(Signal::KILL).await;
    println!("a killed worker: {took:?}");
    check_loss(took, &round, &error, count);
    assert_eq!(round.lost[0].second, Some(2));
    assert_eq!(
        round.lost[0].to_string(),
        "worker 1 was lost in second 2: its process ended (signal: 9 (SIGKILL))"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_worker_is_lost_within_the_lease_and_never_wakes_up() {
    let _alone = ALONE.lock().await;
    let (took, round, error, count) = lose_a_worker(Signal::STOP).await;
    println!("a paused worker: {took:?}");
    check_loss(took, &round, &error, count);
    assert_eq!(round.lost[0].why, "it no longer answers, though its process is there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_told_to_leave_is_lost_in_good_order() {
    let _alone = ALONE.lock().await;
    let server = Server::start(Duration::from_millis(5)).await;
    let mut cluster = cluster(2).await;
    let victim = cluster.pids()[0];
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        // The first is not for a worker to decide on.
        signal(victim, Signal::INT);
        tokio::time::sleep(Duration::from_millis(1_000)).await;
        signal(victim, Signal::TERM);
    });
    let round = round(&mut cluster, &plan(&server.url, 4, seconds(20))).await;
    assert_eq!(
        round.lost[0].to_string(),
        "worker 0 was lost in second 2: it was told to leave by a signal"
    );
    cluster.quit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_keeps_what_there_is_and_the_next_round_runs() {
    let _alone = ALONE.lock().await;
    let server = Server::start(Duration::from_millis(5)).await;
    let mut cluster = cluster(3).await;
    let timed = plan(&server.url, 6, seconds(60));
    let stop = CancellationToken::new();
    let stopper = stop.clone();
    let stopped = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(1_700)).await;
        stopper.cancel();
        Instant::now()
    });
    let first = cluster.round(timed, stop, |_, _| {}).await.unwrap();
    let took = stopped.await.unwrap().elapsed();
    println!("a stop: {took:?}");
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(first.missing(), None);
    let (ended, cancelled) = requests(&first);
    let count = server.count();
    // A request that was cut may or may not have reached the server.
    assert!(ended > 100 && ended <= count && count <= ended + cancelled);
    for worker in &first.workers {
        assert!(worker.held > Duration::from_secs(1) && worker.held < Duration::from_secs(3));
    }
    // Nothing of the stopped round disturbs the next.
    let before = server.count();
    let second = round(&mut cluster, &plan(&server.url, 6, Until::Iterations(100))).await;
    assert_eq!((requests(&second), server.count() - before), ((100, 0), 100));
    cluster.quit().await;
}

/// Not a test: the process that the next test kills. It runs a long round against `LOADGEN_URL`,
/// and prints the workers' process ids once the load has begun.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the manager of another test"]
async fn a_manager() {
    let Ok(url) = std::env::var("LOADGEN_URL") else {
        return;
    };
    let mut cluster = cluster(3).await;
    let pids: Vec<String> = cluster.pids().iter().map(u32::to_string).collect();
    let (stop, mut told) = (CancellationToken::new(), false);
    let plan = plan(&url, 6, seconds(60));
    let result = cluster.round(plan, stop, |_, snapshot| {
        if snapshot.number == 1 && !told {
            told = true;
            eprintln!("workers: {}", pids.join(" "));
        }
    });
    let _ = result.await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_end_with_a_manager_that_was_killed() {
    let _alone = ALONE.lock().await;
    let server = Server::start(Duration::from_millis(5)).await;
    let mut manager = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "a_manager", "--nocapture"])
        .env("LOADGEN_URL", &server.url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(manager.stderr.take().unwrap()).lines();
    let pids: Vec<u32> = lines
        .map_while(Result::ok)
        .find_map(|line| {
            let pids = line.strip_prefix("workers: ")?;
            Some(pids.split(' ').map(|pid| pid.parse().unwrap()).collect())
        })
        .unwrap();
    assert!(pids.iter().all(|pid| runs(*pid)) && pids.len() == 3);
    manager.kill().unwrap();
    manager.wait().unwrap();
    println!("the manager killed: {:?}", until_ended(&pids, Duration::from_secs(10)).await);
    let after = server.count();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(server.count(), after, "no load without a manager");
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_cluster_ends_its_workers() {
    let _alone = ALONE.lock().await;
    let cluster = cluster(2).await;
    let pids = cluster.pids();
    drop(cluster);
    until_ended(&pids, Duration::from_secs(3)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_ends_early_is_quoted() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("worker");
    std::fs::write(&program, "#!/bin/sh\necho out of luck >&2\nexit 3\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
    let workers = LocalWorkers { count: 2, program, logs: Some(folder.path().to_owned()) };
    let error = Cluster::start(&workers, |_| {}).await.err().unwrap();
    let message = error.to_string();
    assert!(message.starts_with("worker "), "{message}");
    assert!(
        message.ends_with(
            "ended before it had joined (exit status: 3); the last it said:\nout of luck"
        ),
        "{message}"
    );
    let nowhere = LocalWorkers { program: folder.path().join("nowhere"), ..workers };
    let error = Cluster::start(&nowhere, |_| {}).await.err().unwrap();
    assert!(matches!(error, ClusterError::Spawn { .. }), "{error}");
}

/// Runs `loadgen worker` with a join document, and gives what it wrote to stderr.
fn worker_with(document: &str) -> String {
    let mut worker = Command::new(PROGRAM)
        .args(["worker", "--join", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = worker.stdin.take().unwrap();
    writeln!(stdin, "{document}").unwrap();
    let output = worker.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_worker_refuses_a_join_document_that_is_not_for_it() {
    let version = env!("CARGO_PKG_VERSION");
    let said = worker_with(&format!(
        r#"{{"protocol":99,"version":"{version}","endpoint":"tcp/127.0.0.1:1","run":"a","worker":0,"user":"u","password":"hunter2"}}"#
    ));
    assert!(said.contains("this worker refused the manager"), "{said}");
    assert!(said.contains("protocol 99"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
    let said = worker_with("{}");
    assert!(said.contains("the join document cannot be used"), "{said}");
}

/// Not a test: prints what the cluster costs.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints figures"]
async fn figures() {
    let server = Server::start(Duration::from_millis(5)).await;
    for _ in 0..3 {
        let start = Instant::now();
        let mut cluster = cluster(4).await;
        println!("start to joined: {:?}", start.elapsed());
        for _ in 0..3 {
            let start = Instant::now();
            let round = round(&mut cluster, &plan(&server.url, 8, seconds(1))).await;
            let overhead = start.elapsed() - Duration::from_secs(1);
            println!("a round of 1 s: {overhead:?} more, {:?}", requests(&round));
        }
        let none = plan(&server.url, 4, Until::Iterations(4));
        let start = Instant::now();
        round(&mut cluster, &none).await;
        println!("a round of one iteration: {:?}", start.elapsed());
        let quit = Instant::now();
        cluster.quit().await;
        println!("quit: {:?}", quit.elapsed());
    }
    // No server in this process: each request fails, and nearly all of its time is the manager's.
    let mut cluster = cluster(4).await;
    let nobody = plan("http://127.0.0.1:1", 8, seconds(10));
    let before = cpu();
    round_of_failures(&mut cluster, &nobody).await;
    println!("manager, 10 s, 4 workers: {:?} of CPU", cpu() - before);
    cluster.quit().await;
}

async fn round_of_failures(cluster: &mut Cluster, plan: &Plan) {
    let stop = CancellationToken::new();
    let round = cluster.round(plan.clone(), stop, |_, _| {}).await.unwrap();
    assert_eq!(round.missing(), None);
}

/// CPU time of this process so far, from `/proc`; there are 100 ticks in a second.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let ticks: u64 = [11, 12].iter().map(|i| fields[*i].parse::<u64>().unwrap()).sum();
    Duration::from_millis(10 * ticks)
}
