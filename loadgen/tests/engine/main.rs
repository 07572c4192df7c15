//! The engine in the test's own process, against real servers: what is counted is what happened.
#![allow(clippy::unwrap_used, reason = "a failed helper is a failed test")]

#[path = "../common/mod.rs"]
mod common;

mod attack;
mod connecting;
mod once;
