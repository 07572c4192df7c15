//! All workers together send exactly the planned requests, each once.

use std::time::{Duration, Instant};

use loadgen::engine::Seen;
use loadgen::measure::GrowingSeries;
use loadgen::scenario::{Arrivals, Model, Open, Until};
use tokio_util::sync::CancellationToken;

use super::support::*;
use crate::common::machine;

#[tokio::test(flavor = "multi_thread")]
async fn iterations_are_divided_exactly_in_every_round() {
    let _beside = machine::beside().await;
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
    let _beside = machine::beside().await;
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
async fn every_request_of_a_timed_round_is_counted_once_and_reported_live() {
    let _beside = machine::beside().await;
    let server = Server::start(Duration::from_millis(5)).await;
    let mut cluster = cluster(4).await;
    let plan = plan(&server.url, 10, seconds(3));
    let (stop, mut seen) = (CancellationToken::new(), Vec::new());
    let show = |news: Seen<'_>, _: &mut GrowingSeries| match news {
        Seen::Snapshot(worker, snapshot) => seen.push((worker, snapshot.number)),
        Seen::Started(_) | Seen::Tick | Seen::Complete => {}
        Seen::Lost(lost) => panic!("{lost}"),
    };
    let round = cluster.round(plan, stop, show).await.unwrap();
    assert_eq!(round.missing(), None);
    let (ended, cancelled) = requests(&round);
    assert!(ended > 100, "{ended}");
    assert_eq!(ended + cancelled, server.count());
    for worker in &round.workers {
        assert_eq!(worker.finished.held, Duration::from_secs(3));
        let mut numbers: Vec<u32> =
            seen.iter().filter(|(w, _)| *w == worker.worker).map(|(_, n)| *n).collect();
        numbers.sort_unstable();
        assert!(worker.snapshots >= 2);
        assert_eq!(numbers, (0..worker.snapshots).collect::<Vec<_>>(), "each once");
    }
    cluster.quit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_keeps_the_results_and_the_next_round_runs() {
    let _alone = machine::alone().await;
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
    // A request that was cancelled may or may not have reached the server.
    assert!(ended > 100 && ended <= count && count <= ended + cancelled);
    for worker in &first.workers {
        assert!(
            worker.finished.held > Duration::from_secs(1)
                && worker.finished.held < Duration::from_secs(3)
        );
    }
    // Nothing of the stopped round disturbs the next round.
    let before = server.count();
    let second = round(&mut cluster, &plan(&server.url, 6, Until::Iterations(100))).await;
    assert_eq!((requests(&second), server.count() - before), ((100, 0), 100));
    cluster.quit().await;
}
