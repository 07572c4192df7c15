//! Workers end with their manager, no matter how the manager ends.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use loadgen::engine::Seen;
use tokio_util::sync::CancellationToken;

use super::support::*;
use crate::common::machine;

/// Not a test, but the process that the next test kills: runs a long round against `LOADGEN_URL`,
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
    let result = cluster.round(plan, stop, |seen, _| {
        if matches!(seen, Seen::Snapshot(_, snapshot) if snapshot.number == 1) && !told {
            told = true;
            eprintln!("workers: {}", pids.join(" "));
        }
    });
    let _ = result.await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_of_a_killed_manager_end() {
    let _alone = machine::alone().await;
    let server = Server::start(Duration::from_millis(5)).await;
    let mut manager = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "cluster::ends::a_manager", "--nocapture"])
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
    let _alone = machine::alone().await;
    let cluster = cluster(2).await;
    let pids = cluster.pids();
    drop(cluster);
    until_ended(&pids, Duration::from_secs(3)).await;
}
