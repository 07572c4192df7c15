//! Slow lines: with a long delay or a low bandwidth.

use std::time::Duration;

use crate::common::machine;
use crate::common::proxy::{Line, Proxy};
use crate::setting::Setting;

/// A line with a delay of 200 ms in each direction.
const FAR: Line = Line::Open { delay: Duration::from_millis(200), bytes_per_s: None };
/// Maximum time between the starts of two workers, wherever they are.
const TOGETHER: Duration = Duration::from_millis(10);

#[tokio::test(flavor = "multi_thread")]
async fn a_distant_worker_sends_its_share() {
    let _beside = machine::beside().await;
    let setting = Setting::here(2);
    let proxy = Proxy::before(&setting.address, FAR).await;
    let manager = setting.manager(4, &[]);
    let workers = [setting.worker(0), setting.worker_behind(&proxy, 1)];
    manager.end().assert_whole(&setting.server);
    for worker in workers {
        assert_eq!(worker.leave(), Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_distant_worker_starts_and_changes_load_with_the_others() {
    let _alone = machine::alone().await;
    // Other programs on this machine only add to the difference: the best of three runs counts.
    let mut closest = [Duration::MAX; 2];
    for _ in 0..3 {
        for (closest, apart) in closest.iter_mut().zip(far_run().await) {
            *closest = apart.min(*closest);
        }
        if closest.iter().all(|apart| *apart <= TOGETHER) {
            break;
        }
    }
    println!("200 ms away: it started and changed {closest:?} apart from the other");
    assert!(closest.iter().all(|apart| *apart <= TOGETHER), "{closest:?}");
}

/// Runs two workers, one of which is far away. Returns how far apart they started, and how
/// far apart they then began with more users.
async fn far_run() -> [Duration; 2] {
    let setting = Setting::here(2);
    let proxy = Proxy::before(&setting.address, FAR).await;
    let manager = setting.manager(5, &[]);
    let workers = [setting.worker(0), setting.worker_behind(&proxy, 1)];
    setting.server.until_loaded(2).await;
    let changed = setting.project.run(&["ctl", "--run=run", "users", "8"]);
    assert_eq!(changed.code, Some(0), "{}", changed.said());
    let ended = manager.end();
    ended.assert_whole(&setting.server);
    for worker in workers {
        assert_eq!(worker.leave(), Some(0));
    }
    // The document must describe the line as it was.
    let near = ended.of_worker(0)["rtt_ms"].as_f64().unwrap();
    let far = ended.of_worker(1)["rtt_ms"].as_f64().unwrap();
    println!("round trips of {near} and {far} ms");
    assert!(near < 100.0 && (400.0..500.0).contains(&far), "{near} and {far} ms");
    let round = &ended.document["targets"][0]["rounds"][0];
    let [skew, symmetric] = ["start_skew_ms", "start_skew_symmetric_ms"]
        .map(|field| round[field].as_f64().unwrap_or_else(|| panic!("{round}")));
    assert!(skew >= 200.0 && symmetric < skew, "{skew} and {symmetric} ms");
    // Users are dealt like cards. The verification's user has number 4, too.
    let first = |user: usize| setting.server.of_worker(user as u32 % 2, 2)[user / 2].first;
    [(0, 1), (6, 7)].map(|(near, far)| {
        let (near, far) = (first(near), first(far));
        far.max(near) - far.min(near)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn sending_metrics_delays_no_request() {
    let _alone = machine::alone().await;
    let setting = Setting::here(2);
    let proxy = Proxy::before(&setting.address, Line::FREE).await;
    let manager = setting.manager(6, &[]);
    let workers = [setting.worker(0), setting.worker_behind(&proxy, 1)];
    setting.server.until_loaded(2).await;
    // Enough for a worker's messages, but still very little.
    proxy.set(Line::Open { delay: Duration::ZERO, bytes_per_s: Some(20_000) });
    let ended = manager.end();
    ended.assert_whole(&setting.server);
    let [other, narrow] = [0, 1].map(|worker| setting.server.requests_of(worker, 2));
    println!("over 20 KB/s: {narrow} requests; of the other worker {other}");
    assert!((other / 2..other * 2).contains(&narrow), "{narrow} and {other}");
    for worker in workers {
        assert_eq!(worker.leave(), Some(0));
    }
}
