//! Eavesdroppers on the connection between a worker and its manager.

use crate::common::machine;
use crate::common::proxy::{Line, Proxy};
use crate::setting::Setting;

#[tokio::test(flavor = "multi_thread")]
async fn an_eavesdropper_reads_no_secret() {
    let _beside = machine::beside().await;
    let setting = Setting::here(2);
    let proxy = Proxy::before(&setting.address, Line::FREE).await;
    let manager = setting.manager(2, &[]);
    let workers = [setting.worker(0), setting.worker_behind(&proxy, 1)];
    manager.end().assert_whole(&setting.server);
    let heard = proxy.heard();
    println!("{} bytes went over the wire", heard.len());
    // The plan, at least two snapshots, and the end.
    assert!(heard.len() > 2_000, "{}", heard.len());
    let join = setting.join(1);
    let [run, password] = ["run", "password"].map(|field| join[field].as_str().unwrap());
    for secret in [run, password, &setting.server.url, "worker-1", "think_time", "Finished"] {
        let is_heard = heard.windows(secret.len()).any(|bytes| bytes == secret.as_bytes());
        assert!(!is_heard, "{secret:?} went over the wire");
    }
    for worker in workers {
        assert_eq!(worker.leave(), Some(0));
    }
}
