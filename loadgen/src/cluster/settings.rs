//! The network's settings, in the schema of Zenoh's configuration. Its defaults listen on every
//! interface, let everyone in, and look for peers by multicast: none of that here.

use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::authority::Identity;
use super::join::{Access, Join};
use super::permissions::permissions;

/// A peer that was silent for this long is lost, unless its manager says otherwise.
pub const LEASE: Duration = Duration::from_secs(3);

/// The largest message that a peer takes. A snapshot of ten steps is under 8 MiB even if each of
/// their histograms is full; nearly all are a few KiB.
pub const LARGEST: usize = 16 << 20;

/// Whom a manager lets in.
pub struct Admits<'a> {
    /// The run that they belong to.
    pub run: &'a str,
    /// How many workers there are.
    pub workers: usize,
    /// How they prove who they are.
    pub by: By<'a>,
    /// How long a manager that is silent is waited for.
    pub lease: Duration,
}

/// How workers prove who they are.
pub enum By<'a> {
    /// By a password in this file of lines `user:password`: on the loopback interface.
    Password(&'a Path),
    /// By a certificate of the authority that this identity of the manager's is of, too.
    Certificate(&'a Identity),
}

/// A manager at `endpoint`.
pub fn manager(endpoint: &str, admits: &Admits<'_>) -> Value {
    let mut settings = with_common(
        admits.lease,
        json!({
            "mode": "router",
            "listen": { "endpoints": [endpoint], "timeout_ms": 0, "exit_on_failure": true },
            "transport": { "unicast": { "max_sessions": 10_000, "accept_pending": 1_000 } },
        }),
    );
    let subjects = match admits.by {
        By::Password(dictionary) => {
            settings["transport"]["auth"]["usrpwd"] = json!({ "dictionary_file": dictionary });
            "usernames"
        }
        By::Certificate(identity) => {
            settings["transport"]["link"]["tls"] = json!({
                "enable_mtls": true,
                "root_ca_certificate_base64": encoded(&identity.authority),
                "listen_certificate_base64": encoded(&identity.certificate),
                "listen_private_key_base64": encoded(&identity.key),
            });
            "cert_common_names"
        }
    };
    settings["access_control"] = permissions(admits.run, admits.workers, subjects);
    settings
}

/// A worker that tries to reach its manager for as long as `limit`.
pub fn worker(join: &Join, limit: Duration) -> Value {
    let mut settings = with_common(
        join.lease,
        json!({
            "mode": "client",
            "listen": { "endpoints": [] },
            "connect": {
                "endpoints": [join.endpoint],
                "timeout_ms": limit.as_secs() * 1_000,
                "exit_on_failure": true,
                "retry": { "period_init_ms": 100, "period_max_ms": 1000, "period_increase_factor": 2 },
            },
            "transport": {},
        }),
    );
    match &join.access {
        Access::Password(password) => {
            settings["transport"]["auth"]["usrpwd"] =
                json!({ "user": join.user(), "password": password });
        }
        Access::Certificate(identity) => {
            settings["transport"]["link"]["tls"] = json!({
                "enable_mtls": true,
                "verify_name_on_connect": true,
                "root_ca_certificate_base64": encoded(&identity.authority),
                "connect_certificate_base64": encoded(&identity.certificate),
                "connect_private_key_base64": encoded(&identity.key),
            });
        }
    }
    settings
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

fn encoded(pem: &str) -> String {
    STANDARD.encode(pem)
}
