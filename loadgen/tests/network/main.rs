//! Tests the cluster's promises when a network fails: over a proxy that fails on demand, and over
//! links between network namespaces that are really cut.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a failed helper is a failed test, and a test that can't be made here says so"
)]

#[path = "../common/mod.rs"]
mod common;

/// Returns what the test needs, or skips the test and prints why the machine cannot provide it.
macro_rules! or_skip {
    ($made:expr) => {
        match $made {
            Ok(made) => made,
            Err(why) => return println!("skipped: this machine can't make what it needs: {why}"),
        }
    };
}

mod attacker;
mod cuts;
mod host;
mod links;
mod local_user;
mod namespaces;
mod server;
mod setting;
mod slow;
mod ssh;
mod starts;
mod strangers;
mod wire;
