//! Lines that are slow: far away, or narrow.

use std::time::Duration;

use crate::ALONE;
use crate::proxy::{Line, Proxy};
use crate::setting::Setting;

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_far_away_does_its_part() {
    let _alone = ALONE.lock().await;
    let setting = Setting::here(2);
    let far = Line::Open { delay: Duration::from_millis(200), bytes_per_s: None };
    let proxy = Proxy::before(&setting.address, far).await;
    let manager = setting.manager(4, &[]);
    let workers = [setting.worker(0), setting.worker_behind(&proxy, 1)];
    let ended = manager.end();
    ended.assert_whole(&setting.server);
    let first = |worker| setting.server.of_worker(worker, 2).iter().map(|s| s.first).min().unwrap();
    // The user of the verification has a number of its own, beyond those of the load.
    let near = setting.server.of_worker(0, 2)[0].first;
    println!("200 ms away: it started {:?} after the other", first(1).duration_since(near));
    for worker in workers {
        assert_eq!(worker.leave(), Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sending_metrics_delays_no_request() {
    let _alone = ALONE.lock().await;
    let setting = Setting::here(2);
    let proxy = Proxy::before(&setting.address, Line::FREE).await;
    let manager = setting.manager(6, &[]);
    let workers = [setting.worker(0), setting.worker_behind(&proxy, 1)];
    setting.server.until_loaded(2).await;
    // Enough for what a worker has to say, but no more than a trickle.
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
