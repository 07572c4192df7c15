//! Links between hosts that are cut, and packets that are lost on the way. If the machine cannot
//! make such hosts, these tests say so and pass.

use std::time::{Duration, Instant};

use crate::common::machine;
use crate::host::Host;
use crate::namespaces::{Hosts, Link};
use crate::setting::{Manager, Running, Setting};

const PORT: u16 = 7447;

/// A manager, a server and two workers, each on a separate host. Both workers reach the server, and
/// so does the manager. The first worker reaches the manager; `link` connects the second.
struct Network {
    hosts: [Host; 4],
    _made: Hosts,
}

impl Network {
    fn new() -> Result<Self, String> {
        let (made, hosts) = Hosts::new(["manager", "server", "one", "two"])?;
        let network = Self { hosts, _made: made };
        let [manager, server, one, two] = &network.hosts;
        for (here, there) in [(manager, server), (server, one), (server, two), (manager, one)] {
            Link::between(here, there)?;
        }
        Ok(network)
    }

    /// Connects the second worker with the manager, by the link that a test disturbs.
    fn link(&self) -> Result<Link<'_>, String> {
        let [manager, _, _, two] = &self.hosts;
        Link::between(manager, two)
    }

    /// Starts a run, and waits until it is under load.
    async fn run(&self, seconds: u32, more: &[&str]) -> (Setting, Manager, [Running; 2]) {
        let [manager, server, one, two] = &self.hosts;
        let setting = Setting::on(manager, server, PORT, 2);
        let manager = setting.manager(seconds, more);
        let workers = [setting.worker_on(one, 0), setting.worker_on(two, 1)];
        setting.server.until_loaded(2).await;
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        (setting, manager, workers)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_link_failure_loses_nothing() {
    let _beside = machine::beside().await;
    let network = or_skip!(Network::new());
    let link = or_skip!(network.link());
    let (setting, manager, workers) = network.run(6, &[]).await;
    link.down().unwrap();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    link.up().unwrap();
    manager.end().assert_whole(&setting.server);
    assert_eq!(workers.map(Running::leave), [Some(0); 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_without_its_manager_ends_its_load() {
    let _alone = machine::alone().await;
    let network = or_skip!(Network::new());
    let link = or_skip!(network.link());
    let (setting, manager, workers) = network.run(14, &["--on-worker-loss=continue"]).await;
    let cut = Instant::now();
    link.down().unwrap();
    let limit = Duration::from_secs(10);
    let seen = manager.running.says("worker 1 was lost", limit) - cut;
    while setting.server.last_of(1, 2).elapsed() < Duration::from_secs(1) {
        assert!(cut.elapsed() < 2 * limit, "it goes on");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let ended = setting.server.last_of(1, 2).saturating_duration_since(cut);
    println!("a link that is down: seen after {seen:?}, the load ended after {ended:?}");
    assert!(seen < Duration::from_secs(4), "{seen:?}");
    assert!(ended < limit, "{ended:?}");
    let sent = setting.server.requests_of(1, 2);
    link.up().unwrap();
    let ended = manager.end();
    assert_eq!(ended.code, Some(5), "{:#?}", ended.said);
    assert_eq!(setting.server.requests_of(1, 2), sent, "it sends nothing more");
    assert_eq!(ended.document["degraded"]["lost"].as_array().unwrap().len(), 1);
    assert!(setting.server.last_of(0, 2) > cut + Duration::from_secs(8), "the other went on");
    assert_eq!(workers.map(Running::leave), [Some(0); 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_over_a_long_link_starts_with_the_others() {
    let _alone = machine::alone().await;
    let network = or_skip!(Network::new());
    let link = or_skip!(network.link());
    or_skip!(link.delays(Duration::from_millis(200)));
    // Other programs on this machine only add to the difference: the best of three runs counts.
    let mut closest = Duration::MAX;
    for _ in 0..3 {
        let (setting, manager, workers) = network.run(3, &[]).await;
        manager.end().assert_whole(&setting.server);
        assert_eq!(workers.map(Running::leave), [Some(0); 2]);
        let [near, far] = [0, 1].map(|worker| setting.server.of_worker(worker, 2)[0].first);
        closest = closest.min(near.max(far) - near.min(far));
    }
    println!("200 ms of link away: it started {closest:?} apart from the other");
    assert!(closest <= Duration::from_millis(10), "{closest:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_on_other_hosts_join_a_manager_on_all_addresses() {
    let _beside = machine::beside().await;
    let network = or_skip!(Network::new());
    let _link = or_skip!(network.link());
    let [manager, server, one, two] = &network.hosts;
    let mut setting = Setting::on(manager, server, PORT, 2);
    setting.advertised = Some(std::mem::replace(&mut setting.address, format!("0.0.0.0:{PORT}")));
    let manager = setting.manager(2, &[]);
    let workers = [setting.worker_on(one, 0), setting.worker_on(two, 1)];
    let ended = manager.end();
    ended.assert_whole(&setting.server);
    assert!(!ended.said.iter().any(|line| line.contains("warning")), "{:#?}", ended.said);
    assert_eq!(workers.map(Running::leave), [Some(0); 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_packets_lose_no_results() {
    let _beside = machine::beside().await;
    let network = or_skip!(Network::new());
    let link = or_skip!(network.link());
    or_skip!(link.loses(0.1));
    let (setting, manager, workers) = network.run(6, &[]).await;
    manager.end().assert_whole(&setting.server);
    assert_eq!(workers.map(Running::leave), [Some(0); 2]);
}
