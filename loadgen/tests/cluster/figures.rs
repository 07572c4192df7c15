//! What the cluster costs; run by hand.

use std::time::{Duration, Instant};

use loadgen::cluster::Cluster;
use loadgen::engine::Plan;
use loadgen::scenario::Until;
use tokio_util::sync::CancellationToken;

use crate::support::*;

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
