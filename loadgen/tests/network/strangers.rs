//! Burdens on a manager during a run: a message larger than it accepts, sent with a worker's join
//! document, and connections that say nothing.

use std::path::Path;
use std::time::Duration;

use loadgen::cluster::Join;
use loadgen::cluster::parts::connect;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::common::machine;
use crate::setting::{Running, Setting};

/// Number of connections to open, if the system lets a process have so many.
const CONNECTIONS: u64 = 10_000;
/// Number of files that the test has open in addition.
const OTHER_FILES: u64 = 500;

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_a_gigabyte_disturbs_no_worker() {
    let _alone = machine::alone().await;
    let setting = Setting::here(2);
    let manager = setting.manager(10, &[]);
    let workers = [setting.worker(0), setting.worker(1)];
    setting.server.until_loaded(2).await;
    let join = Join::parse(&setting.join(1).to_string()).unwrap();
    let (deadline, identity) = (Instant::now() + Duration::from_secs(5), join.identity.as_ref());
    let connected = connect(&join.address, identity.unwrap(), deadline).await;
    let (_tunnel, socket) = connected.unwrap();
    // Allocated outside of the time limit: a busy machine takes seconds for it.
    let message = vec![7_u8; 1 << 30];
    let sending = tokio::task::spawn_blocking(move || {
        use zenoh::Wait;
        let config =
            zenoh::Config::from_json5(&as_worker(&join, socket.path()).to_string()).unwrap();
        let session = zenoh::open(config).wait().unwrap();
        let key = format!("loadgen/{}/worker/1/report", join.run);
        let sent = session
            .put(key, message)
            .congestion_control(zenoh::qos::CongestionControl::Block)
            .wait();
        println!("a message of 1 GB: {sent:?}");
        let _ = session.close().wait();
    });
    tokio::time::timeout(Duration::from_secs(9), sending).await.unwrap().unwrap();
    let memory_mb = manager.running.peak_memory_mb();
    println!("the manager took {memory_mb} MB at most");
    assert!(memory_mb < 200, "{memory_mb} MB: it was taken in");
    manager.end().assert_whole(&setting.server);
    assert_eq!(workers.map(Running::leave), [Some(0); 2]);
}

/// Returns a worker's settings in Zenoh's terms, but without any limits.
fn as_worker(join: &Join, socket: &Path) -> Value {
    json!({
        "mode": "client",
        "listen": { "endpoints": [] },
        "connect": { "endpoints": [format!("unixsock-stream/{}", socket.display())], "timeout_ms": 5_000, "exit_on_failure": true },
        "scouting": { "multicast": { "enabled": false }, "gossip": { "enabled": false } },
        "transport": { "auth": { "usrpwd": { "user": join.user(), "password": join.password } } },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_silent_connections_disturb_no_worker() {
    let _alone = machine::alone().await;
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    let most =
        maximum.map_or(CONNECTIONS, |most| CONNECTIONS.min(most.saturating_sub(OTHER_FILES)));
    let setting = Setting::here(2);
    let manager = setting.manager(8, &[]);
    let workers = [setting.worker(0), setting.worker(1)];
    setting.server.until_loaded(2).await;
    // Connections that the manager has not accepted yet wait in
    // its queue, and are a burden as well.
    let mut connecting = JoinSet::new();
    for _ in 0..most {
        let address = setting.address.clone();
        connecting.spawn(async move { TcpStream::connect(address).await });
    }
    let mut open = Vec::new();
    let opening = async {
        while let Some(connected) = connecting.join_next().await {
            open.extend(connected.unwrap());
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(5), opening).await;
    println!("{} connections that say nothing, of {most}", open.len());
    assert!(open.len() > 100, "{}", open.len());
    manager.end().assert_whole(&setting.server);
    drop((open, connecting));
    assert_eq!(workers.map(Running::leave), [Some(0); 2]);
}
