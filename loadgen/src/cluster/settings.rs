//! Builds the network's settings, in the schema of Zenoh's configuration. Zenoh's defaults
//! listen on every interface, admit everyone, and look for peers by multicast; these settings do
//! none of that. Zenoh is built with support for Unix sockets only. Traffic to other hosts goes
//! through a [`tunnel`](super::tunnel).

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::join::Join;
use super::permissions::permissions;

/// Maximum bytes of a message that a peer accepts. A snapshot of ten steps is under 8 MiB
/// even if all of its histograms are full; nearly all snapshots are a few KiB. Larger
/// data is sent in chunks (`blobs`).
pub(super) const LARGEST: usize = 24 << 20;

/// Workers that a manager admits.
pub(super) struct Admits<'a> {
    /// Run that the workers belong to.
    pub run: &'a str,
    /// Number of workers.
    pub workers: usize,
    /// File with one `user:password` on each line.
    pub passwords: &'a Path,
    /// Time for which the manager waits for a silent worker.
    pub lease: Duration,
}

/// Returns the settings of a manager that listens at this socket.
pub(super) fn manager(socket: &Path, admits: &Admits<'_>) -> Value {
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

/// Returns the settings of a worker that tries for `limit` to reach its manager at this socket.
/// A zero limit means one attempt.
pub(super) fn worker(join: &Join, socket: &Path, limit: Duration) -> Value {
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
    // Keep-alive messages in each lease. Under load a worker's reports, one each second, show that
    // the worker is alive. A low number spares a manager of hundreds of workers.
    settings["transport"]["link"]["tx"]["keep_alive"] = json!(2);
    settings
}

/// Returns the socket's endpoint. On systems with `/proc/self/fd` the path is always there; other
/// paths may contain characters with a meaning in endpoints.
fn endpoint(socket: &Path) -> String {
    format!("unixsock-stream/{}", socket.display())
}

/// Adds the settings common to both sides. Each peer announces how long it may be silent, and
/// the other peer waits that long.
fn with_common(lease: Duration, mut settings: Value) -> Value {
    settings["scouting"] = json!({
        // A router sleeps for this time when it opens, half a second by default.
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
