//! The network's settings, in the schema of Zenoh's configuration. Its defaults listen on every
//! interface, let everyone in, and look for peers by multicast: none of that here. It can speak at Unix
//! sockets only, for which it is built; what goes to other hosts goes through a [`tunnel`](super::tunnel).

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::join::Join;
use super::permissions::permissions;

/// The largest message that a peer takes. A snapshot of ten steps is under 8 MiB even if each of
/// their histograms is full; nearly all are a few KiB. What is larger goes in chunks (`blobs`).
pub const LARGEST: usize = 24 << 20;

/// Whom a manager lets in.
pub struct Admits<'a> {
    /// The run that they belong to.
    pub run: &'a str,
    /// How many workers there are.
    pub workers: usize,
    /// A file of lines `user:password`.
    pub passwords: &'a Path,
    /// How long a worker that is silent is waited for.
    pub lease: Duration,
}

/// A manager that listens at this socket.
pub fn manager(socket: &Path, admits: &Admits<'_>) -> Value {
    let mut settings = with_common(
        admits.lease,
        json!({
            "mode": "router",
            "listen": { "endpoints": [endpoint(socket)], "timeout_ms": 0, "exit_on_failure": true },
            "transport": {
                "unicast": { "max_sessions": 10_000, "accept_pending": 1_000 },
                "auth": { "usrpwd": { "dictionary_file": admits.passwords } },
            },
        }),
    );
    settings["access_control"] = permissions(admits.run, admits.workers);
    settings
}

/// A worker that tries for as long as `limit` to reach its manager at this socket; once, where that is zero.
pub fn worker(join: &Join, socket: &Path, limit: Duration) -> Value {
    let mut settings = with_common(
        join.lease,
        json!({
            "mode": "client",
            "listen": { "endpoints": [] },
            "connect": {
                "endpoints": [endpoint(socket)],
                "timeout_ms": limit.as_millis(),
                "exit_on_failure": true,
                "retry": { "period_init_ms": 100, "period_max_ms": 1000, "period_increase_factor": 2 },
            },
            "transport": {
                "auth": { "usrpwd": { "user": join.user(), "password": join.password } },
            },
        }),
    );
    // How often in a lease it shows that it is there. Under load its reports do, each second; a manager
    // of hundreds is spared the rest.
    settings["transport"]["link"]["tx"]["keep_alive"] = json!(2);
    settings
}

/// The path is always one of `/proc/self/fd` where there is that: others may have characters in them that mean
/// something here.
fn endpoint(socket: &Path) -> String {
    format!("unixsock-stream/{}", socket.display())
}

/// A peer says how long it may be silent, and the other one waits for as long.
fn with_common(lease: Duration, mut settings: Value) -> Value {
    settings["scouting"] = json!({
        // A router sleeps this long when it opens, half a second unless told.
        "delay": 0,
        "multicast": { "enabled": false },
        "gossip": { "enabled": false },
    });
    settings["transport"]["link"] = json!({
        "tx": { "lease": u64::try_from(lease.as_millis()).unwrap_or(u64::MAX) },
        "rx": { "max_message_size": LARGEST },
    });
    settings
}
