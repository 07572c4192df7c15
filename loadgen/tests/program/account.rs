//! The account of the planned requests of a round that lost a worker.

use std::time::Duration;

use crate::hosts::Setting;
use serde_json::Value;

/// Runs a load on two workers, kills one of them when the server has received this number of requests, and returns the
/// record's only round, the number of requests that the server received, and the reason of the degradation.
async fn lossy(more: &[&str], requests: u64) -> (Value, u64, String) {
    let setting = Setting::new().await;
    let listen = ["--expect-workers=2", "--listen", &setting.address];
    let fixed = ["--rate=200", "--users=8", "--no-progress", "--out=run"];
    let manager = setting.manager_at(&listen, &[&fixed[..], more].concat());
    let [stays, mut lost] = [0, 1].map(|number| setting.worker(number, &["--once"]));
    while setting.server.requests() < requests {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    lost.kill().unwrap();
    let finished = setting.finished(manager);
    assert_eq!(finished.code, Some(5), "{}", finished.said());
    assert_eq!(setting.finished(stays).code, Some(0));
    let record = finished.json();
    let reason = record["degraded"]["reason"].as_str().unwrap().to_owned();
    (record["targets"][0]["rounds"][0].clone(), setting.server.requests(), reason)
}

fn of(account: &Value, field: &str) -> u64 {
    account[field].as_u64().unwrap_or_else(|| panic!("{field}: {account}"))
}

fn check_sum(account: &Value, received: u64) {
    let ended = ["answered", "failed", "cancelled", "unsent"].map(|field| of(account, field));
    assert_eq!(
        of(account, "planned"),
        ended.iter().sum::<u64>() + of(account, "lost"),
        "{account}"
    );
    let [answered, failed, cancelled, unsent] = ended;
    assert_eq!((failed, unsent), (0, 0), "{account}");
    // One more request is the verification. The server received all that has an end, and nothing that was not planned.
    assert!(answered < received, "{received} {account}");
    assert!(received - 1 <= answered + cancelled + of(account, "lost"), "{received} {account}");
}

#[tokio::test(flavor = "multi_thread")]
async fn arrivals_of_a_lost_worker_are_lost_until_others_take_over() {
    let load = ["--duration=6s", "--warmup=1s", "--on-worker-loss=redistribute"];
    let (round, received, reason) = lossy(&load, 500).await;
    let account = &round["account"];
    check_sum(account, received);
    assert_eq!(of(account, "planned"), 7 * 200, "{account}");
    // The lost worker had 100 arrivals a second: those since its last report, which was at most some 1.2 s ago, and of half a
    // second, plus the time in which the manager notices the closed connection.
    let lost = of(account, "lost");
    assert!((50..=300).contains(&lost), "{lost}");
    let told = format!("{lost} of 1400 planned requests were never sent, or have no known end");
    assert!(reason.contains(&told), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn iterations_of_a_lost_worker_are_lost() {
    let load = ["--iterations=1000", "--warmup=0s", "--on-worker-loss=continue"];
    let (round, received, _) = lossy(&load, 500).await;
    let account = &round["account"];
    check_sum(account, received);
    assert_eq!(of(account, "planned"), 1_000, "{account}");
    // Half of them are the lost worker's, of which it had made half, and reported all but those of the last second or so.
    let lost = of(account, "lost");
    assert!((200..=400).contains(&lost), "{lost}");
}
