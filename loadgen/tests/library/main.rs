//! Tests the library in the test's own process; only `engine/once.rs` and `report/foreign.rs` also
//! run the `loadgen` program. All tests are one program, since each program takes long to link.
#![allow(clippy::unwrap_used, reason = "a failed helper is a failed test")]

#[path = "../common/mod.rs"]
mod common;

mod allocations;
mod circles;
mod codes;
mod dashboard;
mod engine;
mod experiment;
mod layers;
mod paths;
mod report;
mod sources;
mod transports;
