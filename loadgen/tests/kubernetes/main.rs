//! Runs loadgen in a real Kubernetes cluster of two nodes. `make test-kubernetes` starts the cluster, whose `kubectl` is
//! then first in the PATH, and runs these tests one after another.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod backends;
#[path = "../common/mod.rs"]
mod common;
mod ends;
mod experiment;
mod follow;
mod link;
mod live;
mod losses;
mod nodes;
mod rendered;
mod runs;
mod servers;
mod support;
