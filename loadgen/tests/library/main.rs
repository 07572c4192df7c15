//! The library in the test's own process: everything that takes no other. One program for all of it,
//! since each takes long to link.
#![allow(clippy::unwrap_used, reason = "a failed helper is a failed test")]

#[path = "../common/mod.rs"]
mod common;

mod allocations;
mod circles;
mod engine;
mod layers;
mod paths;
mod report;
mod scenario;
mod transports;
