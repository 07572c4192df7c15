//! The network's settings, in the schema of Zenoh's configuration. Its defaults listen on every
//! interface, let everyone in, and look for peers by multicast: none of that here.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::join::Join;

/// A peer that was silent for this long is lost.
pub const LEASE: Duration = Duration::from_secs(3);

/// The largest message that a peer takes. A snapshot of ten steps is under 8 MiB even if each of
/// their histograms is full; nearly all are a few KiB.
pub const LARGEST: usize = 16 << 20;

/// A manager at `endpoint` that lets in who is in `dictionary`, a file of lines `user:password`.
pub fn manager(endpoint: &str, dictionary: &Path) -> Value {
    with_common(json!({
        "mode": "router",
        "listen": { "endpoints": [endpoint], "timeout_ms": 0, "exit_on_failure": true },
        "transport": {
            "unicast": { "max_sessions": 10_000, "accept_pending": 1_000 },
            "auth": { "usrpwd": { "dictionary_file": dictionary } },
        },
    }))
}

/// A worker that tries to reach its manager for as long as `limit`.
pub fn worker(join: &Join, limit: Duration) -> Value {
    with_common(json!({
        "mode": "client",
        "listen": { "endpoints": [] },
        "connect": {
            "endpoints": [join.endpoint],
            "timeout_ms": limit.as_secs() * 1_000,
            "exit_on_failure": true,
            "retry": { "period_init_ms": 100, "period_max_ms": 1000, "period_increase_factor": 2 },
        },
        "transport": {
            "auth": { "usrpwd": { "user": join.user, "password": join.password } },
        },
    }))
}

fn with_common(mut settings: Value) -> Value {
    settings["scouting"] = json!({
        // A router sleeps this long when it opens, half a second unless told.
        "delay": 0,
        "multicast": { "enabled": false },
        "gossip": { "enabled": false },
    });
    settings["transport"]["link"] = json!({
        "tx": { "lease": LEASE.as_secs() * 1_000 },
        "rx": { "max_message_size": LARGEST },
    });
    settings
}
