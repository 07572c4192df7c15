//! Tests that need the machine for themselves: loads and losses with known figures,
//! and services that are starved on purpose.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a failed helper is a failed test, and a test that can't be made here says so"
)]

#[path = "../common/mod.rs"]
mod common;

mod bottleneck;
mod capacity;
mod cluster;
mod open_model;
mod probe;
mod streams;
mod worker_loss;
