//! The common start of all workers.

use std::time::Duration;

use crate::common::machine;
use crate::setting::Setting;

/// Maximum time between the starts of two workers of one host, however busy the host.
const TOGETHER: Duration = Duration::from_millis(500);
/// Minimum time between the opening of a connection and its first request. A worker opens its
/// connections when it makes ready, and the common start is further away than this.
const READY: Duration = Duration::from_millis(20);

#[tokio::test(flavor = "multi_thread")]
async fn workers_start_together_when_all_their_connections_are_open() {
    let _alone = machine::alone().await;
    let setting = Setting::here(2);
    let manager = setting.manager(2, &[]);
    let workers = [setting.worker(0), setting.worker(1)];
    let ended = manager.end();
    ended.assert_whole(&setting.server);
    // Leaves out the verification's user, whose number follows those of the load.
    let users = |worker| setting.server.of_worker(worker, 2).into_iter().take(2);
    let first = |worker| users(worker).map(|seen| seen.first).min().unwrap();
    let [one, other] = [0, 1].map(first);
    let apart = one.max(other) - one.min(other);
    assert!(apart < TOGETHER, "{apart:?}");
    let open = setting.server.connections_before(one.min(other) - READY);
    assert!(open >= 4, "{open} connections for 4 users");
    let skew_ms = ended.document["targets"][0]["rounds"][0]["start_skew_ms"].as_f64().unwrap();
    println!("they started {apart:?} apart, {skew_ms} ms at most, with {open} connections open");
    assert!(skew_ms > 0.0 && skew_ms < 1_000.0, "{skew_ms}");
    for worker in workers {
        assert_eq!(worker.leave(), Some(0));
    }
}
