//! Connections to the manager that stall, for less than the lease or for more, that
//! are cut, or that are gone on one side only.

use std::time::{Duration, Instant};

use crate::common::machine;
use crate::common::proxy::{Line, Proxy};
use crate::setting::{Manager, Running, Setting};

/// Time limit for the manager to give up a worker that is cut off.
const SEEN: Duration = Duration::from_secs(4);
/// Time limit for a worker that is cut off to end its load.
const ENDED: Duration = Duration::from_secs(10);

/// A run in progress on two workers, the second of which is behind a proxy.
struct UnderWay {
    setting: Setting,
    proxy: Proxy,
    manager: Manager,
    direct: Running,
    behind: Running,
}

impl UnderWay {
    async fn start(seconds: u32, more: &[&str]) -> Self {
        let setting = Setting::here(2);
        let proxy = Proxy::before(&setting.address, Line::FREE).await;
        let manager = setting.manager(seconds, more);
        let (direct, behind) = (setting.worker(0), setting.worker_behind(&proxy, 1));
        setting.server.until_loaded(2).await;
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        Self { setting, proxy, manager, direct, behind }
    }

    /// Waits until the worker behind the proxy sends nothing more. Returns the time
    /// from `since` to that worker's last request.
    async fn load_ended(&self, since: Instant) -> Duration {
        let server = &self.setting.server;
        let last = loop {
            let last = server.last_of(1, 2);
            if last.elapsed() > Duration::from_secs(1) {
                break last;
            }
            assert!(since.elapsed() < 2 * ENDED, "it goes on");
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        last.saturating_duration_since(since)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stall_that_heals_within_the_lease_loses_nothing() {
    let _beside = machine::beside().await;
    let run = UnderWay::start(6, &[]).await;
    run.proxy.set(Line::Stalled);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    run.proxy.set(Line::FREE);
    let ended = run.manager.end();
    ended.assert_whole(&run.setting.server);
    assert_eq!((run.direct.leave(), run.behind.leave()), (Some(0), Some(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_stalled_beyond_the_lease_stops_and_stays_out() {
    let _alone = machine::alone().await;
    let run = UnderWay::start(14, &["--on-worker-loss=continue"]).await;
    let stalled = run.proxy.set(Line::Stalled);
    let seen = run.manager.running.says("worker 1 was lost", ENDED) - stalled;
    let load_ended = run.load_ended(stalled).await;
    println!("a stall: seen after {seen:?}, the load ended after {load_ended:?}");
    assert!(seen < SEEN, "{seen:?}");
    assert!(load_ended < ENDED, "{load_ended:?}");
    // The line works again. The worker finds its manager, and is turned away.
    let sent = run.setting.server.requests_of(1, 2);
    run.proxy.set(Line::FREE);
    run.behind.says("joined the manager", ENDED);
    run.behind.says("the manager released this worker", ENDED);
    let ended = run.manager.end();
    assert_eq!(ended.code, Some(5), "{:#?}", ended.said);
    assert_eq!(run.setting.server.requests_of(1, 2), sent, "a fenced worker sends nothing");
    // All requests of the other worker are counted, and of the lost
    // worker those that had been reported by then.
    let lost = &ended.document["degraded"]["lost"];
    assert_eq!((lost.as_array().unwrap().len(), &lost[0]["worker"]), (1, &1.into()), "{lost}");
    let round = &ended.document["targets"][0]["rounds"][0];
    assert_eq!((&round["users_planned"], &round["users_achieved"]), (&4.into(), &2.into()));
    let counted = |worker: usize| ended.of_worker(worker)["requests"].as_u64().unwrap();
    assert!((1..sent).contains(&counted(1)), "{} of {sent}", counted(1));
    assert!(run.setting.server.last_of(0, 2) > stalled + Duration::from_secs(8), "it went on");
    run.direct.leave();
    run.behind.leave();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_line_ends_the_run_unless_losses_are_allowed() {
    let _alone = machine::alone().await;
    let run = UnderWay::start(20, &[]).await;
    let cut = run.proxy.set(Line::Cut);
    let seen = run.manager.running.says("worker 1 was lost", ENDED) - cut;
    let load_ended = run.load_ended(cut).await;
    println!("a cut: seen after {seen:?}, the load ended after {load_ended:?}");
    assert!(seen < Duration::from_secs(1), "{seen:?}");
    assert!(load_ended < ENDED, "{load_ended:?}");
    let ended = run.manager.end();
    assert_eq!(ended.code, Some(5), "{:#?}", ended.said);
    assert!(cut.elapsed() < ENDED, "the others were told to end");
    let requests = run.setting.server.requests();
    assert!(ended.counted() < requests, "{} of {requests}", ended.counted());
    run.direct.leave();
    run.behind.leave();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silently_lost_manager_leaves_no_load_running() {
    let _alone = machine::alone().await;
    let run = UnderWay::start(20, &[]).await;
    let gone = run.proxy.set(Line::HalfOpen);
    let seen = run.manager.running.says("worker 1 was lost", ENDED) - gone;
    let load_ended = run.load_ended(gone).await;
    println!("half-open: seen after {seen:?}, the load ended after {load_ended:?}");
    assert!(seen < SEEN, "{seen:?}");
    assert!(load_ended < ENDED, "{load_ended:?}");
    assert_eq!(run.manager.end().code, Some(5));
    run.direct.leave();
    run.behind.leave();
}
