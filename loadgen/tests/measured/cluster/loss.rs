//! Workers that die, are paused, or leave.

use std::time::{Duration, Instant};

use loadgen::cluster::{Cluster, ClusterError, LocalWorkers, OnLoss};
use loadgen::engine::{Results, Seen};
use loadgen::measure::GrowingSeries;
use loadgen::scenario::Until;
use rustix::process::Signal;
use tokio_util::sync::CancellationToken;

use super::support::*;
use crate::common::machine;

/// Runs a round and sends `how` to a worker in the middle of it. Returns the time from the signal
/// to the end of the round, the results, the error of the next round, and the server's count.
async fn lose_a_worker(how: Signal) -> (Duration, Results, ClusterError, u64) {
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

fn check_loss(took: Duration, round: &Results, error: &ClusterError, count: u64) {
    assert!(took < Duration::from_secs(4), "{took:?}");
    let lost = &round.lost[0];
    assert_eq!((round.lost.len(), lost.worker), (1, 1), "{:?}", round.lost);
    assert_eq!(round.missing(), Some(lost.to_string()));
    assert!(matches!(error, ClusterError::Lost(lost) if lost.worker == 1), "{error}");
    // The lost worker's reports are kept, and the others' results are whole.
    assert_eq!((round.workers[1].snapshots, round.workers[1].gaps.len()), (2, 0));
    assert_eq!(round.workers[1].finished.held, Duration::from_secs(2));
    for other in [0, 2] {
        assert_eq!(round.workers[other].gaps, []);
        assert!(round.workers[other].finished.held > Duration::from_secs(2));
    }
    let (ended, cancelled) = requests(round);
    assert!(ended > 500 && ended + cancelled <= count, "{ended} + {cancelled}, {count}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_worker_ends_the_round_and_its_reports_are_kept() {
    let _alone = machine::alone().await;
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
async fn a_paused_worker_is_lost_within_the_lease_and_killed() {
    let _alone = machine::alone().await;
    let (took, round, error, count) = lose_a_worker(Signal::STOP).await;
    println!("a paused worker: {took:?}");
    check_loss(took, &round, &error, count);
    assert_eq!(round.lost[0].why, "it no longer answers, although its process runs");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_gets_sigterm_is_lost_without_delay() {
    let _alone = machine::alone().await;
    let server = Server::start(Duration::from_millis(5)).await;
    let mut cluster = cluster(2).await;
    let victim = cluster.pids()[0];
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        // A local worker ignores SIGINT: ending the run is up to the manager.
        signal(victim, Signal::INT);
        tokio::time::sleep(Duration::from_millis(1_000)).await;
        signal(victim, Signal::TERM);
    });
    let round = round(&mut cluster, &plan(&server.url, 4, seconds(20))).await;
    assert_eq!(round.lost[0].to_string(), "worker 0 was lost in second 2: it left on a signal");
    cluster.quit().await;
}

/// Runs a round of `length` seconds on workers that go on after a loss, and does `harm` 2.5 s after
/// its start. Returns the time from the harm until a loss was seen, if one was, and the results.
async fn go_on(
    cluster: &mut Cluster,
    url: &str,
    length: u64,
    harm: impl FnOnce() + Send + 'static,
) -> (Option<Duration>, Results) {
    let harming = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        harm();
        Instant::now()
    });
    let (stop, mut seen) = (CancellationToken::new(), None);
    let show = |news: Seen<'_>, _: &mut GrowingSeries| {
        if let Seen::Lost(_) = news {
            seen.get_or_insert(Instant::now());
        }
    };
    let round = cluster.round(plan(url, 6, seconds(length)), stop, show).await.unwrap();
    let harmed = harming.await.unwrap();
    (seen.map(|seen| seen - harmed), round)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_others_keep_their_shares_while_one_worker_remains() {
    let _alone = machine::alone().await;
    let server = Server::start(Duration::from_millis(5)).await;
    let mut cluster = cluster(3).await.on_loss(OnLoss::Continue);
    let pids = cluster.pids();
    let victim = pids[1];
    let (took, first) =
        go_on(&mut cluster, &server.url, 4, move || signal(victim, Signal::KILL)).await;
    println!("a killed worker: {took:?}");
    assert!(took.unwrap() < Duration::from_secs(1), "{took:?}");
    let why = "its process ended (signal: 9 (SIGKILL))";
    assert_eq!(first.missing(), Some(format!("worker 1 was lost in second 2: {why}")));
    let held = first.workers.iter().map(|worker| worker.finished.held.as_secs());
    assert_eq!(held.collect::<Vec<_>>(), [4, 2, 4], "what was complete is kept");
    assert_eq!(first.gaps(), Vec::<String>::new());
    // 30 iterations for each worker: nobody takes over those of the lost worker.
    let before = server.count();
    let second = round(&mut cluster, &plan(&server.url, 6, Until::Iterations(90))).await;
    assert_eq!((requests(&second), server.count() - before), ((60, 0), 60));
    assert_eq!(second.missing(), Some(format!("worker 1 was lost: {why}")));
    assert!(cluster.can_go_on());
    let others = [pids[0], pids[2]];
    let harm = move || others.into_iter().for_each(|pid| signal(pid, Signal::KILL));
    let (took, last) = go_on(&mut cluster, &server.url, 20, harm).await;
    assert!(took.unwrap() < Duration::from_secs(1), "{took:?}");
    assert_eq!(last.lost.len(), 3);
    assert!(!cluster.can_go_on());
    let stop = CancellationToken::new();
    let error = cluster.round(plan(&server.url, 6, seconds(1)), stop, |_, _| {}).await.unwrap_err();
    assert!(matches!(error, ClusterError::Lost(_)), "{error}");
    cluster.quit().await;
}

/// Returns a cluster whose workers take over from each other, and a task that kills two of them: one after 1.5 s and
/// another after 3 s.
async fn that_loses_two() -> (Cluster, tokio::task::JoinHandle<()>) {
    let cluster = cluster(3).await.on_loss(OnLoss::Redistribute);
    let pids = cluster.pids();
    let killing = tokio::spawn(async move {
        for victim in [pids[1], pids[0]] {
            tokio::time::sleep(Duration::from_millis(1_500)).await;
            signal(victim, Signal::KILL);
        }
    });
    (cluster, killing)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_others_take_over_the_users_of_the_lost() {
    let _alone = machine::alone().await;
    // Longer than the round: each user that has begun has one request under way.
    let server = Server::start(Duration::from_secs(20)).await;
    let (mut cluster, killing) = that_loses_two().await;
    let mut plan = plan(&server.url, 7, seconds(6));
    plan.scenario.steps[0].timeout = Duration::from_secs(15);
    let stop = CancellationToken::new();
    let first = cluster.round(plan, stop, |_, _| {}).await.unwrap();
    killing.await.unwrap();
    // Workers 0 and 1 had the users 0, 3, 6 and 1, 4. User 1 went to worker 0, user 4 to worker 2, and then all of worker
    // 0's to worker 2.
    assert_eq!(server.count(), 7 + 2 + 4);
    let lost: Vec<_> = first.lost.iter().map(|lost| (lost.worker, lost.taken_over)).collect();
    let [(1, Some(one)), (0, Some(other))] = lost[..] else { panic!("{lost:?}") };
    println!("taken over after {one:?} and {other:?}");
    // Killed after 1.5 and 3 s of the time before the start of the workers.
    assert!(one < Duration::from_millis(3_500) && other < Duration::from_millis(5_000), "{lost:?}");
    assert_eq!(first.users_lost, 0, "all were taken over");
    assert!(first.missing().is_some(), "the round is marked");
    assert!(cluster.can_go_on());
    cluster.quit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_others_take_over_the_rate_of_the_lost() {
    let _alone = machine::alone().await;
    let server = Server::start(Duration::from_millis(1)).await;
    let (mut cluster, killing) = that_loses_two().await;
    let text = "load = { model = \"open\", rate = 300, users = 30, duration = \"7s\" }\n[[step]]\nget = \"/\"";
    let plan = crate::common::engine::plan(&server.url, text);
    let stop = CancellationToken::new();
    let first = cluster.round(plan.clone(), stop.clone(), |_, _| {}).await.unwrap();
    killing.await.unwrap();
    let seconds: Vec<u64> = first.series.seconds().map(|told| told.all.answered).collect();
    // The first second is whole, and from the last takeover on each second is: at the edges, one may count in the next.
    let whole = |second: usize| seconds[second].abs_diff(300) <= 3;
    assert!(whole(0) && whole(5) && whole(6), "{seconds:?}");
    assert!(seconds[1..5].iter().any(|count| *count < 290), "nothing was lost: {seconds:?}");
    // What was planned for the worker that is left, of all.
    let of_all = requests(&first).0;
    assert!(of_all < 2_100 && of_all > 1_500, "{of_all}: {seconds:?}");
    let second = cluster.round(plan, stop, |_, _| {}).await.unwrap();
    assert_eq!((requests(&second).0, second.missing()), (2_100, None), "one worker has it all");
    cluster.quit().await;
}

/// Starts workers that nobody can kill: the manager starts a shell, which starts the
/// worker. The worker gets its own session, because the kernel would hang up a paused
/// process whose process group has lost its leader.
async fn out_of_reach(folder: &std::path::Path, count: u32) -> Cluster {
    use std::os::unix::fs::PermissionsExt;
    let program = folder.join("aside");
    let script = format!("#!/bin/sh\nexec 3<&0\nsetsid {PROGRAM} \"$@\" <&3 &\nexec 3<&-\nwait\n");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
    let logs = Some(folder.to_owned());
    let workers = LocalWorkers { program, logs, ..LocalWorkers::new(count).unwrap() };
    Cluster::start(&workers, |_| {}).await.unwrap()
}

/// Returns the only child of a process.
fn child_of(parent: u32) -> u32 {
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    children.unwrap().trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_worker_that_wakes_up_ends_its_load() {
    let _alone = machine::alone().await;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(Duration::from_millis(5)).await;
    let mut cluster = out_of_reach(folder.path(), 2).await.on_loss(OnLoss::Continue);
    let (sleeper, other) = (child_of(cluster.pids()[0]), child_of(cluster.pids()[1]));
    let woken = tokio::spawn(async move {
        // The manager gives up the worker after the lease of three seconds.
        tokio::time::sleep(Duration::from_millis(7_500)).await;
        assert!(runs(sleeper), "it is only paused, since nobody could kill it");
        signal(sleeper, Signal::CONT);
        until_ended(&[sleeper], Duration::from_secs(1)).await
    });
    let harm = move || signal(sleeper, Signal::STOP);
    let (took, round) = go_on(&mut cluster, &server.url, 10, harm).await;
    println!(
        "a paused worker: seen after {took:?}, ended {:?} after it woke",
        woken.await.unwrap()
    );
    assert!(took.unwrap() < Duration::from_secs(4), "{took:?}");
    let why = "it no longer answers, although its process runs";
    assert_eq!(round.lost.len(), 1, "{:?}", round.lost);
    assert_eq!((round.lost[0].worker, round.lost[0].why.as_str()), (0, why));
    assert_eq!(
        round.workers[0].finished.held,
        Duration::from_secs(2),
        "what it sent later is not taken"
    );
    assert_eq!(round.workers[1].finished.held, Duration::from_secs(10));
    cluster.quit().await;
    until_ended(&[other], Duration::from_secs(3)).await;
}
