//! Tests whether figures can be trusted: compares measured figures with known
//! ones. `make trust` runs these tests, on a machine that does nothing else. On a
//! busy machine the tests' bounds say nothing.
#![allow(clippy::unwrap_used, reason = "a failed helper is a failed test")]
#![allow(clippy::print_stdout, reason = "figures are what it is run for")]

#[path = "../common/mod.rs"]
mod common;

mod busy;
mod duets;
mod equals;
mod handicap;
mod percentiles;
mod pools;
mod slowed;
