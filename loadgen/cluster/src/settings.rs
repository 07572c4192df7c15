//! Builds the network's settings, in the schema of Zenoh's configuration. Zenoh's defaults
//! listen on every interface, admit everyone, and look for peers by multicast; these settings do
//! none of that. Zenoh is built with support for Unix sockets only. Traffic to other hosts goes
//! through a [`tunnel`](super::tunnel).

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::join::Join;
use super::permissions::permissions;

/// Maximum size of a message in bytes that a peer accepts. A snapshot of ten steps is
/// under 8 MiB even if all of its histograms are full, and nearly all are a few KiB; 1,000 traced
/// requests add 400 KiB.
/// Larger data is sent in chunks (`blobs`).
pub(super) const LARGEST: usize = 24 << 20;

/// Size of the manager's buffers in bytes: for each worker one for reading, and up to two for each
/// priority of what is sent. Larger messages are sent in pieces.
const BUFFER: usize = 8 << 10;

/// Workers that a manager admits to its network session.
pub(super) struct Admits<'a> {
    /// Name of the run that the workers belong to.
    pub run: &'a str,
    /// Number of workers.
    pub workers: usize,
    /// File with one `user:password` on each line.
    pub passwords: &'a Path,
    /// Time without a message after which the manager treats a worker as lost.
    pub lease: Duration,
}

/// Returns Zenoh's settings for a manager that listens at `socket` for the workers of `admits`.
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
    settings["transport"]["link"]["tx"]["batch_size"] = json!(BUFFER);
    settings["transport"]["link"]["rx"]["buffer_size"] = json!(BUFFER);
    settings["access_control"] = permissions(admits.run, admits.workers);
    settings
}

/// Returns Zenoh's settings for a worker that tries for `limit` to reach its manager at
/// `socket`. A zero limit means one attempt.
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

/// Returns the socket's endpoint, which is an address for Zenoh. On Linux the path is always below
/// `/proc/self/fd`; other paths may contain characters with a meaning in endpoints.
fn endpoint(socket: &Path) -> String {
    format!("unixsock-stream/{}", socket.display())
}

/// Adds the settings that manager and worker have in common. Each peer announces its `lease`, the
/// time for which the peer may be silent, and the other peer waits that long.
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
