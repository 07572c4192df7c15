//! The lab in containers, with the real podman: `make test-podman` makes the images and runs these tests
//! one after another. They start and remove containers, and look at all of loadgen's that there are.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod ends;
mod hosts;
mod runs;
mod support;
