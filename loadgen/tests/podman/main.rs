//! Tests the lab in containers, with the real podman. `make test-podman` builds the images and
//! runs these tests one after another. The tests start and remove containers.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod ends;
mod hosts;
mod own;
mod runs;
mod support;
